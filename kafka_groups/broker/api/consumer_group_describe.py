"""ConsumerGroupDescribe (key 69), v0-v1: returns members, assignments, epochs and state of consumer groups (KIP-848).

Errors per group: UNSUPPORTED_VERSION (group.version=0, or consumer is not among group.coordinator.rebalance.protocols),
NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_GROUP_ID (empty), GROUP_ID_NOT_FOUND.
"""

from attrs import evolve

from kafka_groups.broker.requests.authorized_operations import GROUP_OPERATIONS
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.group_coordination import check_consumer_groups_enabled
from kafka_groups.errors import BrokerError, InvalidGroupIdError
from kafka_groups.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupDescribeResponseGroup,
)

__all__ = ["handle"]


async def handle(request: ConsumerGroupDescribeRequest, context: RequestContext) -> ConsumerGroupDescribeResponse:
    """Return one description for each requested group, even if the request lists a group twice."""
    each = context.turns.each(request.group_ids)
    groups = [await _described(group_id, request, context) async for group_id in each]
    return ConsumerGroupDescribeResponse(groups=tuple(groups))


async def _described(
    group_id: str, request: ConsumerGroupDescribeRequest, context: RequestContext
) -> ConsumerGroupDescribeResponseGroup:
    try:
        group = await _describe(group_id, context)
    except BrokerError as error:
        return ConsumerGroupDescribeResponseGroup(
            group_id=group_id, error_code=code_of(error), error_message=str(error)
        )
    return evolve(group, authorized_operations=GROUP_OPERATIONS) if request.include_authorized_operations else group


async def _describe(group_id: str, context: RequestContext) -> ConsumerGroupDescribeResponseGroup:
    check_consumer_groups_enabled(context.services)
    if not group_id:
        raise InvalidGroupIdError
    return await context.services.coordinators.groups.consumer_group_describe(group_id)
