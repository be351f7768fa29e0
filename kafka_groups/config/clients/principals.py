"""The user that brokers know a client as, for messages about missing rights."""

from kafka_groups.config.clients.connection import ClientConfig

__all__ = ["principal_of"]


def principal_of(config: ClientConfig) -> str | None:
    """Return the user that brokers know, or None if only they know it, as with certificates and tokens."""
    # Brokers have a name for clients that show none (KafkaPrincipal.ANONYMOUS in Kafka).
    if config.security_protocol == "PLAINTEXT":
        return "User:ANONYMOUS"
    return f"User:{config.sasl_username}" if config.sasl_username else None
