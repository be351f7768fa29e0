"""ShareGroupHeartbeat (key 76), v1: lets a member of a share group join, stay or leave (KIP-932).

Errors: UNSUPPORTED_VERSION (share.version=0), GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED, NOT_COORDINATOR,
INVALID_REQUEST (member id empty or longer than 36 characters, group id or rack empty, epoch below -1, join without
topics), GROUP_ID_NOT_FOUND (no such group, and the member is not joining), UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH,
GROUP_MAX_SIZE_REACHED.
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.share.members import validate
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of, message_unless_refused
from kafka_groups.broker.requests.group_coordination import check_share_groups_enabled, require_described
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

__all__ = ["handle"]


async def handle(request: ShareGroupHeartbeatRequest, context: RequestContext) -> ShareGroupHeartbeatResponse:
    """Return the member's epoch and, if it changed or the member may have lost it, its assignment."""
    try:
        return await _heartbeat(request, context)
    except BrokerError as error:
        return ShareGroupHeartbeatResponse(
            error_code=code_of(error),
            error_message=message_unless_refused(error),
            member_epoch=0,
            heartbeat_interval_ms=0,
        )


async def _heartbeat(request: ShareGroupHeartbeatRequest, context: RequestContext) -> ShareGroupHeartbeatResponse:
    check_share_groups_enabled(context.services)
    context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
    require_described(request.subscribed_topic_names or (), context)
    validate(request)
    client = MemberClient(context.header.client_id or "", context.connection.host)
    return await context.services.coordinators.groups.share_group_heartbeat(request, client)
