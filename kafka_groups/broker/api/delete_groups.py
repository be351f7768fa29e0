"""DeleteGroups (key 42), v0-v3: deletes groups without members, and the state of their share-partitions.

Errors per group: GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP. As in Kafka 4.4,
they have no message.
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

__all__ = ["handle"]


async def handle(request: DeleteGroupsRequest, context: RequestContext) -> DeleteGroupsResponse:
    """Return one result for each group. A group that is listed twice is deleted once."""
    group_ids = context.turns.each(dict.fromkeys(request.groups_names))
    results = [await _delete(group_id, context) async for group_id in group_ids]
    return DeleteGroupsResponse(results=tuple(results))


async def _delete(group_id: str, context: RequestContext) -> DeletableGroupResult:
    try:
        context.require(AclOperation.DELETE, AclResourceType.GROUP, group_id)
        await context.services.coordinators.groups.delete_group(group_id)
    except BrokerError as error:
        return DeletableGroupResult(group_id=group_id, error_code=code_of(error))
    return DeletableGroupResult(group_id=group_id)
