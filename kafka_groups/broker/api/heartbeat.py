"""Heartbeat (key 12), v0-v4: keeps the session of a member of a classic group.

Errors: GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR, INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS (the member has to join again).
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import BrokerError, CoordinatorLoadInProgressError
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

__all__ = ["handle"]


async def handle(request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse:
    """Return whether the member is still part of the generation."""
    try:
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        return await context.services.coordinators.groups.heartbeat(request)
    except CoordinatorLoadInProgressError:
        return HeartbeatResponse()  # as in Kafka: the sessions of all members begin when the group is loaded
    except BrokerError as error:
        return HeartbeatResponse(error_code=code_of(error))
