"""StreamsGroupDescribe (key 89), v0-v1: returns members, tasks, topology and state of streams groups (KIP-1071).

A topology has the numbers of partitions once it works with the existing topics. Its description (v1, KIP-1331) is
included if the request asks for it, and a member has sent it to this coordinator.

Errors per group: UNSUPPORTED_VERSION (streams.version=0, or group.coordinator.rebalance.protocols lacks streams),
NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_GROUP_ID (empty), GROUP_ID_NOT_FOUND.
"""

from attrs import evolve

from kafka_groups.broker.requests.authorized_operations import GROUP_OPERATIONS
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.group_coordination import check_streams_groups_enabled
from kafka_groups.errors import BrokerError, InvalidGroupIdError
from kafka_groups.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupDescribeResponseGroup,
)

__all__ = ["handle"]


async def handle(request: StreamsGroupDescribeRequest, context: RequestContext) -> StreamsGroupDescribeResponse:
    """Return one description for each requested group, even if the request lists a group twice."""
    each = context.turns.each(request.group_ids)
    groups = [await _described(group_id, request, context) async for group_id in each]
    return StreamsGroupDescribeResponse(groups=tuple(groups))


async def _described(
    group_id: str, request: StreamsGroupDescribeRequest, context: RequestContext
) -> StreamsGroupDescribeResponseGroup:
    try:
        group = await _describe(group_id, request, context)
    except BrokerError as error:
        return StreamsGroupDescribeResponseGroup(group_id=group_id, error_code=code_of(error), error_message=str(error))
    return evolve(group, authorized_operations=GROUP_OPERATIONS) if request.include_authorized_operations else group


async def _describe(
    group_id: str, request: StreamsGroupDescribeRequest, context: RequestContext
) -> StreamsGroupDescribeResponseGroup:
    check_streams_groups_enabled(context.services)
    if not group_id:
        raise InvalidGroupIdError
    groups, wanted = context.services.coordinators.groups, request.include_topology_description
    return await groups.streams_group_describe(group_id, with_description=wanted)
