"""DescribeGroups (key 15), v0-v6: shows classic groups with their members.

Errors per group: GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS. A group that does not
exist, or is of another type, has the state Dead, and from v6 on the error GROUP_ID_NOT_FOUND.
"""

from attrs import evolve

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.authorized_operations import group_operations
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import BrokerError, GroupIdNotFoundError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_groups import (
    FIRST_WITH_GROUP_ID_NOT_FOUND,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeGroupsResponseGroup,
)

__all__ = ["handle"]

_DEAD = "Dead"


async def handle(request: DescribeGroupsRequest, context: RequestContext) -> DescribeGroupsResponse:
    """Return one result for each group."""
    groups = [await _described(group_id, request, context) async for group_id in context.turns.each(request.groups)]
    return DescribeGroupsResponse(groups=tuple(groups))


async def _described(
    group_id: str, request: DescribeGroupsRequest, context: RequestContext
) -> DescribeGroupsResponseGroup:
    group = await _group(group_id, context)
    has_operations = request.include_authorized_operations and group.error_code is ErrorCode.NONE
    return evolve(group, authorized_operations=group_operations(context, group_id)) if has_operations else group


async def _group(group_id: str, context: RequestContext) -> DescribeGroupsResponseGroup:
    try:
        context.require(AclOperation.DESCRIBE, AclResourceType.GROUP, group_id)
        return await context.services.coordinators.groups.describe_group(group_id)
    except GroupIdNotFoundError as error:
        # Older clients take the state Dead as the answer that there is no such group.
        if context.version < FIRST_WITH_GROUP_ID_NOT_FOUND:
            return DescribeGroupsResponseGroup(group_id=group_id, group_state=_DEAD)
        return DescribeGroupsResponseGroup(
            group_id=group_id, group_state=_DEAD, error_code=code_of(error), error_message=str(error)
        )
    except BrokerError as error:
        return DescribeGroupsResponseGroup(group_id=group_id, error_code=code_of(error))
