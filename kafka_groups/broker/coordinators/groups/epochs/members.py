"""Members of groups with epochs: who may join or stay, static members by instance id, and how members go.

Consumer groups (KIP-848) and streams groups (KIP-1071) have these rules in common. A share group has neither static
members nor anything to revoke.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from kafka_groups.broker.coordinators.groups.draft import GroupDraft
from kafka_groups.broker.coordinators.groups.epochs.group import EpochGroup, EpochGroupKind, GroupWithMembers
from kafka_groups.errors import (
    FencedInstanceIdError,
    FencedMemberEpochError,
    GroupMaxSizeReachedError,
    InvalidRequestError,
    UnknownMemberIdError,
    UnreleasedInstanceIdError,
)

__all__ = [
    "LEAVE_STATIC_EPOCH",
    "check_epoch",
    "check_room",
    "enter",
    "known_member",
    "leave_for_a_while",
    "refuse_blank",
    "remove",
    "take_over",
]

_JOIN_EPOCH = 0
LEAVE_STATIC_EPOCH = -2
"""In place of the epoch of a static member that leaves for a while."""


def refuse_blank(name: str, value: str | None) -> None:
    """Refuse a field of a heartbeat that is there and has no text. Null means that there is none, or no other."""
    # Blanks are no text (Utils.throwIfEmptyString in Kafka).
    if value is not None and not value.strip():
        raise InvalidRequestError(f"{name} can't be empty.")


class _Heartbeat(Protocol):
    @property
    def member_epoch(self) -> int: ...

    @property
    def instance_id(self) -> str | None: ...


class _Epochs(Protocol):
    @property
    def member_epoch(self) -> int: ...

    @property
    def previous_member_epoch(self) -> int: ...


M = TypeVar("M", covariant=True)  # noqa: PLC0105 - as short as the others
G = TypeVar("G", bound=EpochGroup[Any, Any, Any, Any])


class _Group(Protocol[M]):
    @property
    def group_id(self) -> str: ...

    @property
    def members(self) -> Mapping[str, M]: ...

    @property
    def instances(self) -> Mapping[str, str]: ...


# ---------------------------------------------------------------------------------------------- entering


def enter(
    draft: GroupDraft[G, Any],
    member_id: str,
    request: _Heartbeat,
    owns_at_most: Callable[[Any], bool],
    max_size: int,
) -> str | None:
    """Check that a member may join or stay, and return the id that it had before, if it is static and returns.

    It takes its former place (KIP-345).

    Args:
        draft: The group.
        member_id: The member.
        request: Its heartbeat.
        owns_at_most: Returns whether it owns nothing but what it is assigned; asked only for the previous epoch.
        max_size: The largest number of members.

    Raises:
        GroupMaxSizeReachedError: The group is full.
        UnknownMemberIdError: The group does not have the member, and it does not join.
        UnreleasedInstanceIdError: The instance is still there.
        FencedInstanceIdError: The instance has been started again.
        FencedMemberEpochError: The epoch is neither the member's current epoch nor its previous one.
    """
    group = draft.group
    # There are three cases: a member that is in the group already, one that joins (dynamic, or static with a free
    # instance), and a static member that returns. Kafka has the same ones for each type of group, see for example
    # GroupMetadataManager.getOrMaybeSubscribeStaticConsumerGroupMember and getOrMaybeCreateStaticStreamsGroupMember.
    if request.member_epoch != _JOIN_EPOCH:
        known_member(group, member_id, request.instance_id)
        check_epoch(request.member_epoch, group.current_of(member_id), owns_at_most, group.KIND)
        return None
    owner = None if request.instance_id is None else group.instances.get(request.instance_id)
    # A dynamic member that joins again with an id of the group needs no check of its epoch: it has given up all that it
    # owned.
    if owner is None:
        check_room(group, member_id, max_size, group.KIND.name)
        return None
    # KIP-345 fences the former member when an instance starts again. In these groups the former member is protected
    # until it has left or its session has ended, because it may still be running
    # (GroupMetadataManager.throwIfInstanceIdIsUnreleased).
    if not group.may_be_replaced(owner):
        raise UnreleasedInstanceIdError(
            f"Static member {member_id} with instance id {request.instance_id} cannot join the group because the "
            f"instance id is owned by {owner} member."
        )
    take_over(draft, owner, member_id)
    return owner


def check_room(group: GroupWithMembers, member_id: str, max_size: int, name: str) -> None:
    """Check that a member may join. A member of the group may always join again.

    Args:
        group: The group.
        member_id: The member.
        max_size: The largest number of members.
        name: The name of the group in the error.

    Raises:
        GroupMaxSizeReachedError: The group is full.
    """
    # As with GroupMetadataManager.throwIfConsumerGroupIsFull, only a further member needs room. Lowering the limit does
    # not remove members.
    if member_id not in group.members and len(group.members) >= max_size:
        raise GroupMaxSizeReachedError(f"The {name} group has reached its maximum capacity of {max_size} members.")


def known_member(group: _Group[M], member_id: str, instance_id: str | None) -> M:
    """Return a member after checking its ids.

    Raises:
        UnknownMemberIdError: The group has no such member, or no such instance.
        FencedInstanceIdError: The instance has another member id, because it was started again.
    """
    # A static member is looked up by its instance, as in GroupMetadataManager.throwIfStaticMemberIsUnknown and
    # throwIfInstanceIdIsFenced, so that a process which was replaced learns that it was fenced and does not join again.
    if instance_id is not None:
        owner = group.instances.get(instance_id)
        if owner is None:
            raise UnknownMemberIdError(f"Instance id {instance_id} is unknown.")
        if owner != member_id:
            raise FencedInstanceIdError(
                f"Static member {member_id} with instance id {instance_id} was fenced by member {owner}."
            )
    member = group.members.get(member_id)
    if member is None:
        raise UnknownMemberIdError(f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def check_epoch(epoch: int, current: _Epochs, owns_at_most: Callable[[Any], bool], kind: EpochGroupKind) -> None:
    """Check the epoch of a member that is neither joining nor leaving.

    The previous epoch is accepted too, because the response with the current epoch may have been lost. But the member
    must not own what it had to revoke.

    Args:
        epoch: The epoch that the member reports.
        current: Its epochs.
        owns_at_most: Returns whether it owns nothing but what it is assigned; asked only for the previous epoch.
        kind: The type of group.

    Raises:
        FencedMemberEpochError: The epoch is neither the current nor the previous one.
    """
    # The cases follow GroupMetadataManager.throwIfConsumerGroupMemberEpochIsInvalid and
    # throwIfStreamsGroupMemberEpochIsInvalid. A greater epoch is fenced without looking further: the coordinator never
    # gave it to the member.
    if epoch == current.member_epoch:
        return
    compared = "greater" if epoch > current.member_epoch else "smaller"
    # A member that missed the response with its new epoch repeats the old one. It is accepted only if it owns no more
    # than it is assigned; otherwise it may have missed a revocation as well, and others may have got what it still
    # uses.
    if compared == "smaller" and epoch == current.previous_member_epoch and owns_at_most(current):
        return
    raise FencedMemberEpochError(
        f"The {kind.name} group member has a {compared} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({current.member_epoch}). The member must abandon all its {kind.owned} and rejoin."
    )


# ----------------------------------------------------------------------------------------------- leaving


def take_over(draft: GroupDraft[G, Any], old_id: str, new_id: str) -> None:
    """Let a static member that returns take the place of the one that it was, with what it is assigned."""
    group, records = draft.group, draft.group.KIND.records
    member, target, current = group.members[old_id], group.inheritable_target(old_id), group.current_of(old_id)
    # The old id goes first, as in GroupMetadataManager.replaceMember and replaceStreamsMember. Its tombstones come
    # before the new records, so owners and instances end up with the new id.
    remove(draft, old_id)
    draft.write(records.described(group.group_id, new_id, member))
    if target is not None:
        draft.write(records.target(group.group_id, new_id, target))
    # KIP-345: the member keeps its former assignment, so nothing is revoked and the group epoch need not increase.
    draft.write(records.current(group.group_id, new_id, current.returned()))


def leave_for_a_while(draft: GroupDraft[G, Any], member_id: str) -> None:
    """Note that a static member is away. It keeps what it is assigned until it returns or its session ends."""
    group = draft.group
    # Only the current assignment changes. Group epoch and targets stay, and so no other member gets what is kept for
    # this one.
    draft.write(group.KIND.records.current(group.group_id, member_id, group.current_of(member_id).away()))


def remove(draft: GroupDraft[G, Any], member_id: str) -> None:
    """Delete everything about a member."""
    group_id, records = draft.group.group_id, draft.group.KIND.records
    # The description goes last (GroupMetadataManager.removeMember has the same order): if only some of the records are
    # stored, the member is still in the group and its session ends later.
    for record in (records.current, records.target, records.described):
        draft.write(record(group_id, member_id, None))
