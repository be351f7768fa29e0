"""ShareGroupDescribe (key 77), v1: returns members, assignments, epochs and state of share groups (KIP-932).

Errors per group: UNSUPPORTED_VERSION (share.version=0), NOT_COORDINATOR, INVALID_GROUP_ID (empty),
GROUP_ID_NOT_FOUND.
"""

from attrs import evolve

from kafka_groups.broker.requests.authorized_operations import GROUP_OPERATIONS
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.group_coordination import check_share_groups_enabled
from kafka_groups.errors import BrokerError, InvalidGroupIdError
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
    if request.include_authorized_operations:
        groups = [_with_operations(group) async for group in context.turns.each(groups)]
    return ShareGroupDescribeResponse(groups=tuple(groups))


async def _describe_or_refuse(group_id: str, context: RequestContext) -> DescribedGroup:
    try:
        return await _describe(group_id, context)
    except BrokerError as error:
        return DescribedGroup(
            error_code=code_of(error),
            error_message=str(error),
            group_id=group_id,
            group_state="",
            group_epoch=0,
            assignment_epoch=0,
            assignor_name="",
        )


async def _describe(group_id: str, context: RequestContext) -> DescribedGroup:
    check_share_groups_enabled(context.services)
    if not group_id:
        raise InvalidGroupIdError
    return await context.services.coordinators.groups.share_group_describe(group_id)


def _with_operations(group: DescribedGroup) -> DescribedGroup:
    return group if group.error_code else evolve(group, authorized_operations=GROUP_OPERATIONS)
