"""SaslAuthenticate (key 36), v0-v2: one message of a SASL exchange; tells how long the session lasts (KIP-368).

Errors: SASL_AUTHENTICATION_FAILED, after `connection.failed.authentication.delay.ms`, and the connection is closed;
ILLEGAL_SASL_STATE if no exchange is under way.
"""

from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

__all__ = ["handle"]


async def handle(request: SaslAuthenticateRequest, context: RequestContext) -> SaslAuthenticateResponse:
    """Return the broker's next message."""
    authentication = context.connection.authentication
    if authentication is None:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message="The broker does not use SASL on this port"
        )
    return authentication.authenticate(request.auth_bytes, context.now_ms, context.wall_ms)
