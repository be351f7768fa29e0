"""The configuration of the data plane of an application's workers."""

from kafka_groups.client.principals import principal_of
from kafka_groups.config.clients.streams import StreamsConfig
from kafka_groups.config.records.application_keys import log_aliases_of, producer_of, restorer_of, sources_of
from kafka_groups.errors import ConfigurationError
from kafka_groups.records.engine_plane import EnginePlaneConfig

__all__ = ["check_transaction_timeout", "engine_plane_config"]


def engine_plane_config(config: StreamsConfig) -> EnginePlaneConfig:
    """Return the configuration of a plane, without a transactional id.

    Raises:
        ConfigurationError: A key of the producer or of a consumer is unknown or invalid.
    """
    log_aliases_of(config)
    return EnginePlaneConfig(
        connection=config,
        sources=sources_of(config),
        restorer=restorer_of(config),
        producer=producer_of(config),
        principal=principal_of(config),
    )


def check_transaction_timeout(plane: EnginePlaneConfig, commit_interval_ms: int) -> None:
    """Check that a transaction may last until its commit.

    Raises:
        ConfigurationError: The interval of commits is longer than the timeout of transactions.
    """
    timeout_ms = plane.producer.transaction_timeout_ms
    # As StreamsConfig.verifyEOSTransactionTimeoutCompatibility does, which lets both be equal.
    if commit_interval_ms > timeout_ms:
        raise ConfigurationError(
            f"commit.interval.ms={commit_interval_ms} is longer than producer.transaction.timeout.ms={timeout_ms}, so"
            " the brokers would abort transactions before their commit. Use a smaller commit.interval.ms or a larger"
            " producer.transaction.timeout.ms."
        )
