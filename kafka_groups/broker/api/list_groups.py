"""ListGroups (key 16), v0-v5: lists the groups that this broker coordinates, filtered by state (v4) and type (v5).

All groups are share groups. Filters ignore case. An unknown state or type matches no group.
Errors: none.
"""

from collections.abc import Iterable

from kafka_groups.broker.api.context import RequestContext
from kafka_groups.broker.requests.group_coordination import coordinates
from kafka_groups.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

__all__ = ["handle"]

_SHARE = "share"
"""The type of share groups, and also their protocol type."""


async def handle(request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    """Return the groups that match both filters. An empty filter matches all groups."""
    services = context.services
    groups = (
        ListedGroup(group_id=group_id, protocol_type=_SHARE, group_state=group.state, group_type=_SHARE)
        for group_id, group in sorted(services.groups.groups.items())
        if coordinates(services, group_id)
    )
    states, types = _lowered(request.states_filter), _lowered(request.types_filter)
    return ListGroupsResponse(
        groups=tuple(g for g in groups if _fits(g.group_state, states) and _fits(g.group_type, types))
    )


def _lowered(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)


def _fits(value: str, allowed: frozenset[str]) -> bool:
    return not allowed or value.lower() in allowed
