"""Members of a streams group: who may enter, with which epoch, and what they say about themselves."""

from typing import Any

from attrs import evolve

from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.members import check_epoch, check_room, known_member
from kafka_groups.broker.coordinators.groups.streams.group import StreamsDraft
from kafka_groups.broker.coordinators.groups.streams.records import (
    StreamsAssignment,
    StreamsGroupCurrentMemberAssignment,
    StreamsGroupMemberMetadata,
    StreamsGroupTargetAssignmentMember,
    StreamsMember,
)
from kafka_groups.broker.coordinators.groups.streams.tasks import OwnedTasks
from kafka_groups.errors import (
    UnreleasedInstanceIdError,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    StreamsGroupHeartbeatRequest,
)

__all__ = [
    "enter",
    "has_other_endpoint",
    "leave_for_a_while",
    "remove",
    "takes_new_assignment",
    "update_member",
]

_NOT_SET = -1


# ---------------------------------------------------------------------------------------------- entering


def enter(
    draft: StreamsDraft, request: StreamsGroupHeartbeatRequest, owned: OwnedTasks | None, max_size: int
) -> str | None:
    """Check that a member may join or stay, and return the id that it had before, if it is static and returns.

    It takes its former place (KIP-345).

    Raises:
        GroupMaxSizeReachedError: The group is full.
        UnknownMemberIdError: The group does not have the member, and it does not join.
        UnreleasedInstanceIdError: The instance is still there.
        FencedInstanceIdError: The instance has been started again.
        FencedMemberEpochError: The epoch is neither the member's current epoch nor its previous one.
    """
    group, member_id = draft.group, request.member_id
    if request.member_epoch != JOIN_GROUP_EPOCH:
        known_member(group, member_id, request.instance_id)
        current = group.current_of(member_id)
        check_epoch(request.member_epoch, current, lambda: _owns_at_most(owned, current), "streams", "tasks")
        return None
    owner = None if request.instance_id is None else group.instances.get(request.instance_id)
    if owner is None:
        check_room(group, member_id, max_size, "streams")
        return None
    if group.current_of(owner).member_epoch != LEAVE_STATIC_EPOCH:
        raise UnreleasedInstanceIdError(
            f"Static member {member_id} with instance id {request.instance_id} cannot join the group, because member "
            f"{owner} has the instance id until it leaves or its session ends."
        )
    _take_over(draft, owner, member_id)
    return owner


def _owns_at_most(owned: OwnedTasks | None, current: StreamsAssignment) -> bool:
    if owned is None:
        return False
    return owned.active <= current.active.keys() and owned.standby <= current.standby and not owned.warmup


def _take_over(draft: StreamsDraft, old_id: str, new_id: str) -> None:
    """Let a static member that returns take the place of the one that it was, with its tasks."""
    group = draft.group
    member, target, current = group.members[old_id], group.target_of(old_id), group.current_of(old_id)
    remove(draft, old_id)
    draft.write(StreamsGroupMemberMetadata(group.group_id, new_id, member))
    draft.write(StreamsGroupTargetAssignmentMember(group.group_id, new_id, target))
    returned = evolve(current, member_epoch=JOIN_GROUP_EPOCH, previous_member_epoch=0)
    draft.write(StreamsGroupCurrentMemberAssignment(group.group_id, new_id, returned))


# ----------------------------------------------------------------------------------------------- staying


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


# ----------------------------------------------------------------------------------------------- leaving


def leave_for_a_while(draft: StreamsDraft, member_id: str) -> None:
    """Note that a static member is away. It keeps its tasks until it returns or its session ends.

    As in Kafka, the tasks lose their epochs, so that their offsets can be committed in any.
    """
    current = draft.group.current_of(member_id)
    away = evolve(
        current,
        member_epoch=LEAVE_STATIC_EPOCH,
        active=dict.fromkeys(current.active, 0),
        revoking_active={},
        revoking_standby=frozenset(),
    )
    draft.write(StreamsGroupCurrentMemberAssignment(draft.group.group_id, member_id, away))


def remove(draft: StreamsDraft, member_id: str) -> None:
    """Delete everything about a member."""
    group_id = draft.group.group_id
    draft.write(StreamsGroupCurrentMemberAssignment(group_id, member_id, None))
    draft.write(StreamsGroupTargetAssignmentMember(group_id, member_id, None))
    draft.write(StreamsGroupMemberMetadata(group_id, member_id, None))
