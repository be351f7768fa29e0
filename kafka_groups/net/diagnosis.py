"""Explains why a client cannot talk to a server, and which setting to change.

Bytes from the server give certainty: a TLS alert, a line of HTTP, an untrusted certificate. If the server closes the
connection without a response, the error only names likely reasons.
"""

import ssl
import struct

from kafka_groups.errors import (
    DisconnectedError,
    KafkaGroupsError,
    NetworkError,
    OperationTimeoutError,
    TlsError,
    WrongProtocolError,
)
from kafka_groups.errors.texts import sentences

__all__ = [
    "closed_after_handshake",
    "during_handshake",
    "of_frame_length",
    "of_tls_error",
    "reset_during_tls",
    "silence",
]

_SPEAKERS = {
    b"HTTP": "HTTP",
    b"SSH-": "SSH",
    b"220 ": "SMTP or FTP",
    b"-ERR": "Redis",
    b"<htm": "HTML",
    b"<!DO": "HTML",
}
_TLS_RECORDS = (0x15, 0x16)
_HOSTNAME_MISMATCH = frozenset({62, 64})
_OUT_OF_DATE = frozenset({9, 10})
_NOT_TLS = (
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
    "UNKNOWN_PROTOCOL",
)
_CERTIFICATE_WANTED = ("CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE", "BAD_CERTIFICATE")


def of_frame_length(length: int, peer: str) -> WrongProtocolError:
    """Explain a response whose first four bytes are not a length that Kafka sends."""
    first = struct.pack(">i", length)
    if first[0] in _TLS_RECORDS and first[1] == 3:
        return WrongProtocolError(
            f"{peer} is a TLS listener, but this client uses plaintext. Set security.protocol to SSL (or SASL_SSL), or"
            " use the address of a plaintext listener."
        )
    speaks = _SPEAKERS.get(first)
    what = f"answered in {speaks}" if speaks else f"answered with the bytes {first!r}, which are not Kafka's protocol"
    return WrongProtocolError(f"{peer} is not a Kafka broker: it {what}. Check host and port in bootstrap.servers.")


def of_tls_error(error: ssl.SSLError, address: str) -> NetworkError:
    """Explain a TLS handshake that failed with a reason."""
    reason = error.reason or ""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _of_certificate(error, address)
    if isinstance(error, ssl.SSLEOFError):
        return reset_during_tls(address)
    if any(part in reason for part in _NOT_TLS):
        return WrongProtocolError(
            f"{address} does not use TLS: its response to the TLS handshake is not TLS. Set security.protocol to"
            " PLAINTEXT (or SASL_PLAINTEXT), or use the address of a TLS listener."
        )
    if any(part in reason for part in _CERTIFICATE_WANTED):
        return TlsError(
            f"{address} refused the TLS handshake ({_words(reason)}). It probably requires a client certificate that"
            " it trusts: set ssl.certificate.location and ssl.key.location."
        )
    return TlsError(sentences(f"The TLS handshake with {address} failed: {_words(reason) or error}"))


def _of_certificate(error: ssl.SSLCertVerificationError, address: str) -> TlsError:
    if error.verify_code in _HOSTNAME_MISMATCH:
        remedy = (
            "Connect to a host name that is in the certificate, or set ssl.endpoint.identification.algorithm to"
            " 'none' to skip this check."
        )
    elif error.verify_code in _OUT_OF_DATE:
        remedy = "Renew the broker's certificate. Also check the clock of this machine."
    else:
        remedy = "Set ssl.ca.location to the certificate of the authority that signed it."
    return TlsError(sentences(f"The certificate of {address} is not trusted: {error.verify_message}", remedy))


def reset_during_tls(address: str) -> WrongProtocolError:
    """Explain why a server closed the connection instead of answering the TLS handshake."""
    return WrongProtocolError(
        f"{address} closed the connection during the TLS handshake. It is probably a plaintext listener: set"
        " security.protocol to PLAINTEXT (or SASL_PLAINTEXT), or use the address of a TLS listener.",
        is_certain=False,
    )


def during_handshake(error: KafkaGroupsError, address: str, *, uses_tls: bool) -> KafkaGroupsError:
    """Explain why a server accepted the connection but did not answer the first request (ApiVersions)."""
    cause = error.__cause__
    if isinstance(cause, (WrongProtocolError, TlsError)):
        return cause
    if isinstance(error, DisconnectedError) and uses_tls:
        return WrongProtocolError(
            f"{address} closed the connection right after the TLS handshake. It probably requires a client certificate"
            " that it trusts: set ssl.certificate.location and ssl.key.location.",
            is_certain=False,
        )
    if isinstance(error, DisconnectedError):
        return WrongProtocolError(
            f"{address} closed the connection without a response. If it is a TLS listener, set security.protocol to SSL"
            " (or SASL_SSL). If it is not a Kafka broker, correct host and port in bootstrap.servers.",
            is_certain=False,
        )
    if isinstance(error, OperationTimeoutError):
        return WrongProtocolError(silence(address, uses_tls=uses_tls), is_certain=False)
    return error


def silence(address: str, *, uses_tls: bool) -> str:
    """Say what is probably wrong with a server that accepts the connection and does not answer."""
    likely = "not a Kafka broker" if uses_tls else "a TLS listener or not a Kafka broker"  # TLS has been agreed on
    return (
        f"{address} accepted the connection but did not answer. Unless it is overloaded, it is probably {likely}: check"
        " security.protocol and bootstrap.servers."
    )


def closed_after_handshake(address: str, reason: KafkaGroupsError | None, *, uses_sasl: bool) -> KafkaGroupsError:
    """Explain why a server answered ApiVersions but closed the connection at the next request."""
    if isinstance(reason, (WrongProtocolError, TlsError, OperationTimeoutError)):
        return reason
    if uses_sasl:
        return DisconnectedError(f"{address} closed the connection at the first request after authentication.")
    return WrongProtocolError(
        f"{address} is a Kafka broker, but it closed the connection at the first request. It probably requires SASL:"
        " set security.protocol to SASL_PLAINTEXT or SASL_SSL, and set sasl.mechanism and the credentials.",
        is_certain=False,
    )


def _words(reason: str) -> str:
    return reason.lower().replace("_", " ")
