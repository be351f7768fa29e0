"""SaslHandshake (key 17), v1: the client chooses a SASL mechanism (KIP-43, KIP-152)."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class SaslHandshakeRequest:
    """With v1 the exchange follows in SaslAuthenticate requests."""

    mechanism: str


@frozen(kw_only=True)
class SaslHandshakeResponse:
    """The mechanisms that the broker has enabled, whether it took the client's or not."""

    error_code: ErrorCode = ErrorCode.NONE
    mechanisms: tuple[str, ...] = ()
