"""ConsumerGroupDescribe (key 69), v0-v1: returns members, assignments, epochs and state of consumer groups (KIP-848).

Errors per group: UNSUPPORTED_VERSION (group.version=0, or consumer is not among group.coordinator.rebalance.protocols),
GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED (the client may not describe a topic of the group),
NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_GROUP_ID (empty), GROUP_ID_NOT_FOUND.
"""

from attrs import evolve

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.authorized_operations import group_operations
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import HIDDEN_TOPICS, code_of, message_unless_refused
from kafka_groups.broker.requests.group_coordination import check_consumer_groups_enabled, may_describe_all
from kafka_groups.errors import BrokerError, InvalidGroupIdError
from kafka_groups.protocol.error_codes import ErrorCode
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
            group_id=group_id, error_code=code_of(error), error_message=message_unless_refused(error)
        )
    # As in Kafka, the operations are asked about before the topics of the group.
    if request.include_authorized_operations:
        group = evolve(group, authorized_operations=group_operations(context, group_id))
    return group if _may_see(group, context) else _hidden(group_id)


def _may_see(group: ConsumerGroupDescribeResponseGroup, context: RequestContext) -> bool:
    """Return whether the client may describe all topics of a group."""
    assignments = (each for member in group.members for each in (member.assignment, member.target_assignment))
    return may_describe_all((part.topic_name for each in assignments for part in each.topic_partitions), context)


def _hidden(group_id: str) -> ConsumerGroupDescribeResponseGroup:
    return ConsumerGroupDescribeResponseGroup(
        group_id=group_id, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=HIDDEN_TOPICS
    )


async def _describe(group_id: str, context: RequestContext) -> ConsumerGroupDescribeResponseGroup:
    check_consumer_groups_enabled(context.services)
    context.require(AclOperation.DESCRIBE, AclResourceType.GROUP, group_id)
    if not group_id:
        raise InvalidGroupIdError
    return await context.services.coordinators.groups.consumer_group_describe(group_id)
