"""ListGroups (key 16), v0-v5: lists the groups that this broker coordinates, filtered by state (v4) and type (v5).

Filters ignore case. An unknown state or type matches no group. As in Kafka, the state NotReady is called `not_ready`
in filters.
Error: COORDINATOR_LOAD_IN_PROGRESS (some groups are still being read).
"""

from collections.abc import Iterable

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
    groups = [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type,
            group_state=group.state,
            group_type=group.type,
        )
        async for group in context.turns.each(known)
    ]
    states, types = _lowered(request.states_filter), _lowered(request.types_filter)
    return ListGroupsResponse(
        groups=tuple(g for g in groups if _fits(g.group_state, states) and _fits(g.group_type, types))
    )


def _lowered(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)


def _fits(value: str, allowed: frozenset[str]) -> bool:
    # Only this state has a name of its own in filters (StreamsGroupState.toLowerCaseString in Kafka).
    name = value.lower()
    return not allowed or _NAMES_IN_FILTERS.get(name, name) in allowed
