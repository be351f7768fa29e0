"""TLS contexts from the configuration of a client or an embedded broker."""

import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import field, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import sentences

__all__ = ["ServerTls", "TlsSettings", "client_tls_context", "server_tls_context"]


@frozen(kw_only=True)
class TlsSettings:
    """TLS settings of a client: certificates and keys in PEM, as files or as text.

    Attributes:
        ca_location: A file with the certificates to trust.
        ca_pem: The certificates to trust. If neither is set, the client trusts the system's certificates.
        certificate_location: A file with the client's own certificate chain.
        certificate_pem: The client's own certificate chain.
        key_location: A file with the private key of that certificate.
        key_pem: The private key.
        key_password: Password of the private key, or None.
        verify_hostname: Whether the broker's certificate must match its host name.
    """

    ca_location: str | None = None
    ca_pem: str | None = None
    certificate_location: str | None = None
    certificate_pem: str | None = None
    key_location: str | None = None
    key_pem: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    verify_hostname: bool = True


def client_tls_context(settings: TlsSettings) -> ssl.SSLContext:
    """Create a client's TLS context. Reads the files.

    Raises:
        ConfigurationError: A file cannot be read or is not valid. The message shows no secrets.
    """
    try:
        context = ssl.create_default_context(cafile=settings.ca_location, cadata=settings.ca_pem)
        if settings.certificate_location is not None or settings.certificate_pem is not None:
            _load_certificate(context, settings)
    except (OSError, ValueError) as error:
        raise ConfigurationError(_explained(error, settings)) from error
    context.check_hostname = settings.verify_hostname
    return context


def _load_certificate(context: ssl.SSLContext, settings: TlsSettings) -> None:
    with (
        _as_file(settings.certificate_location, settings.certificate_pem) as certificate,
        _as_file(settings.key_location, settings.key_pem) as key,
    ):
        # Without a function, OpenSSL would prompt for a missing password on the terminal.
        context.load_cert_chain(certificate, key, lambda: settings.key_password or "")


@contextmanager
def _as_file(location: str | None, text: str | None) -> Iterator[str]:
    """Write text to a file that only this user can read: Python reads certificate chains only from files."""
    if location is not None:
        yield location
        return
    with tempfile.TemporaryDirectory(prefix="kafka-groups-") as directory:
        path = Path(directory, "pem")
        path.touch(mode=0o600)
        path.write_text(text or "", encoding="utf-8")
        yield str(path)


def _explained(error: OSError | ValueError, settings: TlsSettings) -> str:
    """Return what is wrong. OpenSSL itself says little more than 'PEM lib'."""
    files = _sources(settings)
    if isinstance(error, FileNotFoundError):
        return f"Could not read the TLS files {files}: one of them does not exist."
    if not isinstance(error, ssl.SSLError):
        return sentences(f"Could not read the TLS files {files}: {getattr(error, 'strerror', None) or error}")
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"The private key does not match the certificate ({files}). Check ssl.key.location or ssl.key.pem."
    if b"ENCRYPTED" in _key_of(settings):
        given = "is wrong" if settings.key_password else "is not set"
        return f"Could not decrypt the private key {settings.key_location or 'ssl.key.pem'}: ssl.key.password {given}."
    return sentences(f"Could not use the TLS files {files}: {error.reason or error}", "All of them must be PEM")


def _key_of(settings: TlsSettings) -> bytes:
    if settings.key_pem is not None:
        return settings.key_pem.encode()
    location = settings.key_location or settings.certificate_location
    return b"" if location is None else Path(location).read_bytes()


def _sources(settings: TlsSettings) -> str:
    given = {
        settings.ca_location or (settings.ca_pem and "ssl.ca.pem"): None,
        settings.certificate_location or (settings.certificate_pem and "ssl.certificate.pem"): None,
        settings.key_location or (settings.key_pem and "ssl.key.pem"): None,
    }
    return ", ".join(source for source in given if source) or "the system"


@frozen(kw_only=True)
class ServerTls:
    """TLS settings of an embedded broker. All files are PEM.

    Attributes:
        certificate_location: A file with the broker's certificate chain.
        key_location: A file with the private key. By default, the key is in the file of the certificate.
        key_password: Password of the private key, or None.
        client_ca_location: A file with the authorities that sign client certificates. If set, every client needs a
            certificate (mutual TLS).
    """

    certificate_location: str
    key_location: str | None = None
    key_password: str | None = field(default=None, repr=False)
    client_ca_location: str | None = None


def server_tls_context(settings: ServerTls) -> ssl.SSLContext:
    """Create an embedded broker's TLS context. Reads the files.

    Raises:
        ConfigurationError: A file cannot be read or is not valid.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        password = settings.key_password or ""
        context.load_cert_chain(settings.certificate_location, settings.key_location, lambda: password)
        if settings.client_ca_location is not None:
            context.load_verify_locations(settings.client_ca_location)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"Could not use the broker's TLS files ({settings!r}): {error}") from error
    return context
