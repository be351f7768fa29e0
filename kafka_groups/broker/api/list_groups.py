"""ListGroups (key 16), v0-v5: lists the groups that this broker coordinates, filtered by state (v4) and type (v5).

Filters ignore case. An unknown state or type matches no group. As in Kafka, the state NotReady is called `not_ready`
in filters. Groups that the client may not describe are left out.
Error: COORDINATOR_LOAD_IN_PROGRESS (some groups are still being read).
"""

from collections.abc import Iterable

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

__all__ = ["handle"]

_NAMES_IN_FILTERS = {"notready": "not_ready"}


async def handle(request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    """Return the groups that match both filters. An empty filter matches all groups."""
    try:
        known = sorted(context.services.coordinators.groups.listed(), key=lambda group: group.group_id)
    except BrokerError as error:
        return ListGroupsResponse(error_code=code_of(error))
    visible = _visible((group.group_id for group in known), context)
    groups = [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type,
            group_state=group.state,
            group_type=group.type,
        )
        async for group in context.turns.each(known)
        if group.group_id in visible
    ]
    states, types = _lowered(request.states_filter), _lowered(request.types_filter)
    return ListGroupsResponse(
        groups=tuple(g for g in groups if _fits(g.group_state, states) and _fits(g.group_type, types))
    )


def _visible(group_ids: Iterable[str], context: RequestContext) -> frozenset[str]:
    # Who may describe the cluster sees every group. Others see those that they may describe.
    if context.may(AclOperation.DESCRIBE, AclResourceType.CLUSTER):
        return frozenset(group_ids)
    return frozenset(context.visible(AclOperation.DESCRIBE, AclResourceType.GROUP, group_ids))


def _lowered(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)


def _fits(value: str, allowed: frozenset[str]) -> bool:
    # Only this state has a name of its own in filters (StreamsGroupState.toLowerCaseString in Kafka).
    name = value.lower()
    return not allowed or _NAMES_IN_FILTERS.get(name, name) in allowed
