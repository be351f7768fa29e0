"""LeaveGroup (key 13), v0-v5: removes members from a classic group or a consumer group.

From v3 on it can be several, and static ones by instance id. The reason (v5, KIP-800) is not used.
Errors: GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_GROUP_ID.
Errors per member, or of the only one before v3: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse

__all__ = ["handle"]


async def handle(request: LeaveGroupRequest, context: RequestContext) -> LeaveGroupResponse:
    """Return one result for each member."""
    try:
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        return await context.services.coordinators.groups.leave_group(request, context.version)
    except BrokerError as error:
        return LeaveGroupResponse(error_code=code_of(error))
