"""The user that brokers know a client as, for texts about missing rights."""

import ssl
from collections.abc import Mapping
from pathlib import Path

from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.config.security.sasl import Password, UnsecuredToken, sasl_settings
from kafka_groups.net.certificate_subject import certificate_subject

__all__ = ["principal_in", "principal_of"]

_ANONYMOUS = "User:ANONYMOUS"
"""The name that brokers have for clients that show none (KafkaPrincipal.ANONYMOUS in Kafka)."""

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


def principal_of(config: ClientConfig) -> str | None:
    """Return the user, or None if only the brokers know it, as with tokens.

    For a certificate it is the subject, which is the user unless the brokers have `ssl.principal.mapping.rules`. Reads
    the file of the certificate.
    """
    settings = sasl_settings(config)
    if settings is None:
        return _of_certificate(config) if config.security_protocol == "SSL" else _ANONYMOUS
    if isinstance(settings.credentials, Password):
        return f"User:{settings.credentials.username}"
    if isinstance(settings.credentials, UnsecuredToken):
        return f"User:{settings.credentials.subject}"
    return None


def principal_in(keys: Mapping[str, object]) -> str | None:
    """Return the user that keys name for a client of librdkafka, or None if they do not say."""
    name = keys.get("sasl.username")
    if name is not None:
        return f"User:{name}"
    return _ANONYMOUS if str(keys.get("security.protocol", "PLAINTEXT")).upper() == "PLAINTEXT" else None


def _of_certificate(config: ClientConfig) -> str:
    pem = config.ssl_certificate_pem
    if pem is None and config.ssl_certificate_location is not None:
        pem = Path(config.ssl_certificate_location).read_text(encoding="utf-8")
    if pem is None:
        return _ANONYMOUS
    # A file may have the certificates of its issuers behind that of the client, and text around them.
    first = _BEGIN + pem.partition(_BEGIN)[2].partition(_END)[0] + _END
    return f"User:{certificate_subject(ssl.PEM_cert_to_DER_cert(first))}"
