"""StreamsGroupHeartbeat (key 88), v0-v1: lets a member of a streams group join, stay or leave (KIP-1071).

Errors: UNSUPPORTED_VERSION (streams.version=0, or streams is not among group.coordinator.rebalance.protocols),
NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_REQUEST (an id is empty, an epoch below -2, something is missing
when joining, a task or topology that is not the group's), STREAMS_INVALID_TOPOLOGY, GROUP_ID_NOT_FOUND (no such group,
and the member is not joining; or the group is of another type), UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH,
UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED, UNKNOWN_SERVER_ERROR (the task assignor failed).
"""

from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.streams.requests import validate
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.group_coordination import check_streams_groups_enabled
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

__all__ = ["handle"]


async def handle(request: StreamsGroupHeartbeatRequest, context: RequestContext) -> StreamsGroupHeartbeatResponse:
    """Return the member's epoch, what keeps the group from working, and the member's tasks if they changed."""
    try:
        return await _heartbeat(request, context)
    except BrokerError as error:
        return StreamsGroupHeartbeatResponse(error_code=code_of(error), error_message=str(error), status=())


async def _heartbeat(request: StreamsGroupHeartbeatRequest, context: RequestContext) -> StreamsGroupHeartbeatResponse:
    services = context.services
    check_streams_groups_enabled(services)
    validate(request, is_4_4=services.configs.profile.has_static_streams_members)
    client = MemberClient(context.header.client_id or "", context.connection.host)
    return await services.coordinators.groups.streams_group_heartbeat(request, client, context.version)
