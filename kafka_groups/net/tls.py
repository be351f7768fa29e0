"""TLS contexts from a client's configuration."""

import ssl
from pathlib import Path

from attrs import frozen

from kafka_groups.errors import ConfigurationError

__all__ = ["TlsSettings", "client_tls_context"]


@frozen
class TlsSettings:
    """What a client's TLS needs; paths are of PEM files.

    Attributes:
        ca_location: Certificates to trust; None for those of the system.
        certificate_location: The client's own certificate chain, or None.
        key_location: The private key of that certificate.
        key_password: Password of the private key, or None.
        verify_hostname: Whether the broker's certificate must be for its host name.
    """

    ca_location: str | None = None
    certificate_location: str | None = None
    key_location: str | None = None
    key_password: str | None = None
    verify_hostname: bool = True


def client_tls_context(settings: TlsSettings) -> ssl.SSLContext:
    """The context; reads the files.

    Raises:
        ConfigurationError: A file cannot be read, or is not what it should be.
    """
    try:
        context = ssl.create_default_context(cafile=settings.ca_location)
        if settings.certificate_location is not None:
            context.load_cert_chain(
                settings.certificate_location, settings.key_location, lambda: settings.key_password or ""
            )
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(_explained(error, settings)) from error
    context.check_hostname = settings.verify_hostname
    return context


def _explained(error: OSError, settings: TlsSettings) -> str:
    """What is wrong with the files; OpenSSL itself says little more than 'PEM lib'."""
    files = _locations(settings)
    if isinstance(error, FileNotFoundError):
        return f"Could not read the TLS files {files}: one of them does not exist."
    if not isinstance(error, ssl.SSLError):
        return f"Could not read the TLS files {files}: {error.strerror or error}."
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"The private key does not belong to the certificate ({files}): check ssl.key.location."
    key_location = settings.key_location or settings.certificate_location
    if key_location is not None and b"ENCRYPTED" in Path(key_location).read_bytes():
        given = "is wrong" if settings.key_password else "is not set"
        return f"Could not decrypt the private key {key_location}: ssl.key.password {given}."
    return f"Could not use the TLS files {files}: {error.reason or error}. All of them must be PEM."


def _locations(settings: TlsSettings) -> str:
    given = (settings.ca_location, settings.certificate_location, settings.key_location)
    return ", ".join(location for location in given if location is not None) or "the system"
