"""SyncGroup (key 14), v0-v5: gives a member of a classic group its assignment. The leader sends those of all members.

Errors: GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_GROUP_ID, UNKNOWN_MEMBER_ID,
FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, INCONSISTENT_GROUP_PROTOCOL (from v5 on, also if type or
name are missing).
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

__all__ = ["handle"]

_FIRST_WITH_PROTOCOL = 5


async def handle(request: SyncGroupRequest, context: RequestContext) -> SyncGroupResponse:
    """Return the member's assignment, once the leader has sent it."""
    if context.version >= _FIRST_WITH_PROTOCOL and None in (request.protocol_type, request.protocol_name):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    try:
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        return await context.services.coordinators.groups.sync_group(request)
    except BrokerError as error:
        return SyncGroupResponse(error_code=code_of(error))
