"""ShareGroupDescribe (key 77), v1: returns members, assignments, epochs and state of share groups (KIP-932).

Errors per group: UNSUPPORTED_VERSION (share.version=0), GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED (the
client may not describe a topic of the group), NOT_COORDINATOR, INVALID_GROUP_ID (empty), GROUP_ID_NOT_FOUND.
"""

from attrs import evolve

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.authorized_operations import group_operations
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import HIDDEN_TOPICS, code_of, message_unless_refused
from kafka_groups.broker.requests.group_coordination import check_share_groups_enabled, may_describe_all
from kafka_groups.errors import BrokerError, InvalidGroupIdError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)

__all__ = ["handle"]


async def handle(request: ShareGroupDescribeRequest, context: RequestContext) -> ShareGroupDescribeResponse:
    """Return one description for each requested group, even if the request lists a group twice."""
    group_ids = context.turns.each(request.group_ids)
    groups = [await _describe_or_refuse(group_id, context) async for group_id in group_ids]
    # As in Kafka, the operations are asked about before the topics of the groups.
    if request.include_authorized_operations:
        groups = [_with_operations(group, context) async for group in context.turns.each(groups)]
    each = context.turns.each(groups)
    told = [group if _may_see(group, context) else _hidden(group.group_id) async for group in each]
    return ShareGroupDescribeResponse(groups=tuple(told))


async def _describe_or_refuse(group_id: str, context: RequestContext) -> DescribedGroup:
    try:
        return await _describe(group_id, context)
    except BrokerError as error:
        return _refusal(group_id, code_of(error), message_unless_refused(error))


def _refusal(group_id: str, code: ErrorCode, message: str | None) -> DescribedGroup:
    return DescribedGroup(
        error_code=code,
        error_message=message,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
    )


def _may_see(group: DescribedGroup, context: RequestContext) -> bool:
    """Return whether the client may describe all topics of a group."""
    return may_describe_all(
        (part.topic_name for each in group.members for part in each.assignment.topic_partitions), context
    )


def _hidden(group_id: str) -> DescribedGroup:
    return _refusal(group_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED, HIDDEN_TOPICS)


async def _describe(group_id: str, context: RequestContext) -> DescribedGroup:
    check_share_groups_enabled(context.services)
    context.require(AclOperation.DESCRIBE, AclResourceType.GROUP, group_id)
    if not group_id:
        raise InvalidGroupIdError
    return await context.services.coordinators.groups.share_group_describe(group_id)


def _with_operations(group: DescribedGroup, context: RequestContext) -> DescribedGroup:
    if group.error_code:
        return group
    return evolve(group, authorized_operations=group_operations(context, group.group_id))
