"""SaslHandshake (key 17), v1: the client chooses a SASL mechanism, or begins to authenticate again (KIP-152, KIP-368).

Errors: UNSUPPORTED_SASL_MECHANISM, with the mechanisms that are enabled, and the connection is closed;
ILLEGAL_SASL_STATE if the broker does not use SASL, or within a second after the client authenticated.
"""

from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

__all__ = ["handle"]


async def handle(request: SaslHandshakeRequest, context: RequestContext) -> SaslHandshakeResponse:
    """Return the mechanisms, and an error if the client's is not one of them."""
    authentication = context.connection.authentication
    if authentication is None:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    return authentication.handshake(request.mechanism, context.now_ms)
