"""Members of groups in which each member has an epoch: static members by instance id, and who is refused.

Consumer groups (KIP-848) and streams groups (KIP-1071) have these rules in common.
"""

from collections.abc import Callable, Mapping, MutableMapping
from typing import Protocol, TypeVar

from kafka_groups.errors import (
    FencedInstanceIdError,
    FencedMemberEpochError,
    GroupMaxSizeReachedError,
    UnknownMemberIdError,
)

__all__ = ["check_epoch", "check_room", "known_member", "name_instance"]


class _Named(Protocol):
    @property
    def instance_id(self) -> str | None: ...


class _Epochs(Protocol):
    @property
    def member_epoch(self) -> int: ...

    @property
    def previous_member_epoch(self) -> int: ...


M = TypeVar("M", bound=_Named, covariant=True)  # noqa: PLC0105 - as short as the others


class _Group(Protocol[M]):
    @property
    def group_id(self) -> str: ...

    @property
    def members(self) -> Mapping[str, M]: ...

    @property
    def instances(self) -> Mapping[str, str]: ...


def check_room(group: _Group[_Named], member_id: str, max_size: int, kind: str) -> None:
    """Check that a member may join. A member of the group may always join again.

    Args:
        group: The group.
        member_id: The member.
        max_size: The largest number of members.
        kind: What the group is called in the error.

    Raises:
        GroupMaxSizeReachedError: The group is full.
    """
    if member_id not in group.members and len(group.members) >= max_size:
        raise GroupMaxSizeReachedError(f"The {kind} group has reached its maximum capacity of {max_size} members.")


def known_member(group: _Group[M], member_id: str, instance_id: str | None) -> M:
    """Return a member after checking its ids.

    Raises:
        UnknownMemberIdError: The group has no such member, or no such instance.
        FencedInstanceIdError: The instance has another member id, because it was started again.
    """
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


def check_epoch(epoch: int, current: _Epochs, owns_at_most: Callable[[], bool], kind: str, owned: str) -> None:
    """Check the epoch of a member that is neither joining nor leaving.

    The previous epoch is accepted too, because the response with the current epoch may have been lost. But the member
    must not own what it had to revoke.

    Args:
        epoch: What the member says.
        current: Its epochs.
        owns_at_most: Whether it owns nothing but what it is assigned; asked only for the previous epoch.
        kind: What the group is called in the error.
        owned: What the members own, in the error.

    Raises:
        FencedMemberEpochError: The epoch is neither the current nor the previous one.
    """
    if epoch == current.member_epoch:
        return
    compared = "greater" if epoch > current.member_epoch else "smaller"
    if compared == "smaller" and epoch == current.previous_member_epoch and owns_at_most():
        return
    raise FencedMemberEpochError(
        f"The {kind} group member has a {compared} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({current.member_epoch}). The member must abandon all its {owned} and rejoin."
    )


def name_instance(
    instances: MutableMapping[str, str], member_id: str, before: _Named | None, after: _Named | None
) -> None:
    """Note which member an instance is, when a member is described anew or removed.

    Args:
        instances: Member ids by instance id.
        member_id: The member.
        before: The member as it was, or None.
        after: The member as it is, or None if it is removed.
    """
    if before is not None and before.instance_id is not None and instances[before.instance_id] == member_id:
        del instances[before.instance_id]
    if after is not None and after.instance_id is not None:
        instances[after.instance_id] = member_id
