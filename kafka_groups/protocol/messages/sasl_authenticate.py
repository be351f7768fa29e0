"""SaslAuthenticate (key 36), v0-v2: one message of a SASL exchange (KIP-152, KIP-368)."""

from attrs import field, frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class SaslAuthenticateRequest:
    """The client's message; never shown, as it may hold a password."""

    auth_bytes: bytes = field(repr=False)


@frozen(kw_only=True)
class SaslAuthenticateResponse:
    """The broker's message; `session_lifetime_ms` is 0 if the client need not authenticate again."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    auth_bytes: bytes = field(default=b"", repr=False)
    session_lifetime_ms: int = 0  # v1+
