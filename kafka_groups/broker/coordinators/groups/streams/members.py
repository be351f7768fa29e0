"""Members of a streams group: what they say about themselves and what they own. `epochs` has who may enter."""

from typing import Any

from attrs import evolve

from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.streams.group import StreamsDraft
from kafka_groups.broker.coordinators.groups.streams.records import (
    StreamsAssignment,
    StreamsGroupMemberMetadata,
    StreamsMember,
)
from kafka_groups.broker.coordinators.groups.streams.tasks import OwnedTasks
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    StreamsGroupHeartbeatRequest,
)

__all__ = ["has_other_endpoint", "owns_at_most", "takes_new_assignment", "update_member"]

_NOT_SET = -1


def owns_at_most(owned: OwnedTasks | None, current: StreamsAssignment) -> bool:
    """Return whether a member says that it owns nothing but tasks that it is assigned."""
    if owned is None:
        return False
    return owned.active <= current.active.keys() and owned.standby <= current.standby and not owned.warmup


def update_member(draft: StreamsDraft, request: StreamsGroupHeartbeatRequest, client: MemberClient) -> StreamsMember:
    """Store the member's description if it changed, and return it."""
    known = draft.group.members.get(request.member_id)
    said = _described(known, request, client)
    if said != known:
        draft.write(StreamsGroupMemberMetadata(draft.group.group_id, request.member_id, said))
    return said


def takes_new_assignment(before: StreamsMember | None, after: StreamsMember, instance_id: str | None) -> bool:
    """Return whether a change of a member's description increases the group epoch.

    Every change of a dynamic member does. A static member may come back from another host.
    """
    if before is None or instance_id is None:
        return before != after
    return _placement_facts(before) != _placement_facts(after)


def has_other_endpoint(before: StreamsMember | None, after: StreamsMember) -> bool:
    """Return whether a member answers queries somewhere else than before."""
    return (None if before is None else before.user_endpoint) != after.user_endpoint


def _placement_facts(member: StreamsMember) -> tuple[object, ...]:
    return (member.topology_epoch, member.rack_id, member.client_tags, member.process_id)


def _described(
    known: StreamsMember | None, request: StreamsGroupHeartbeatRequest, client: MemberClient
) -> StreamsMember:
    """Return the member's description after a request. Fields that the request leaves out do not change."""
    if known is None:
        known = StreamsMember(client_id=client.client_id, client_host=client.client_host)
    changes: dict[str, Any] = {
        "client_id": client.client_id,
        "client_host": client.client_host,
        "instance_id": request.instance_id,
        "rack_id": request.rack_id,
        "rebalance_timeout_ms": None if request.rebalance_timeout_ms == _NOT_SET else request.rebalance_timeout_ms,
        "topology_epoch": None if request.topology is None else request.topology.epoch,
        "process_id": request.process_id,
        "user_endpoint": request.user_endpoint,
        "client_tags": None if request.client_tags is None else {tag.key: tag.value for tag in request.client_tags},
    }
    said = {name: value for name, value in changes.items() if value is not None}
    if request.member_epoch == JOIN_GROUP_EPOCH:
        said["user_endpoint"] = request.user_endpoint  # who joins again may have none any more
    return evolve(known, **said)
