"""The hard state that groups with epochs have in common, and what their records are called."""

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from attrs import define, field, frozen

from kafka_groups.protocol.coordinator_records.group_record import TargetEpoch

__all__ = [
    "FIRST_EPOCH",
    "NO_TARGET",
    "EpochGroup",
    "EpochGroupKind",
    "GroupMember",
    "GroupWithMembers",
    "MemberAssignmentState",
    "MemberRecords",
    "name_instance",
]

FIRST_EPOCH = 1
"""The epoch of a group without a record of its own, and of its empty target assignment."""


class GroupWithMembers(Protocol):
    """The hard state of a group, as far as the same rules apply to share groups, too."""

    @property
    def group_id(self) -> str:
        """The group's id."""

    @property
    def members(self) -> Mapping[str, Any]:
        """The members' descriptions of themselves."""


class GroupMember(Protocol):
    """A member's description of itself, as far as all types of groups look at it."""

    @property
    def instance_id(self) -> str | None:
        """The id of a static member, or None."""
        ...

    @property
    def rebalance_timeout_ms(self) -> int:
        """The time that the member has to revoke partitions or tasks."""
        ...


class MemberAssignmentState(Protocol):
    """A member's epoch and current assignment, as far as all types of groups look at it."""

    @property
    def member_epoch(self) -> int:
        """The epoch that its next heartbeat should contain. -2: a static member is away."""
        ...

    @property
    def previous_member_epoch(self) -> int:
        """Also accepted, because the response with the current epoch may have been lost."""
        ...

    @property
    def is_stable(self) -> bool:
        """True if the member may own all of its target assignment that was free."""
        ...

    @property
    def must_revoke(self) -> bool:
        """True if the member has yet to revoke something. Until then it keeps its epoch."""
        ...

    def away(self) -> Self:
        """Return what a static member keeps that leaves for a while."""
        ...

    def returned(self) -> Self:
        """Return what a static member has that returns."""
        ...


class _NumberedEpoch(Protocol):
    @property
    def epoch(self) -> int: ...


NO_TARGET = TargetEpoch(FIRST_EPOCH)
"""The epoch of a group without a target assignment."""


@frozen
class MemberRecords:
    """The classes of a type's records about one member. Each takes a group id, a member id and a value or None."""

    described: Callable[[str, str, Any], Any]
    target: Callable[[str, str, Any], Any]
    current: Callable[[str, str, Any], Any]


@frozen
class EpochGroupKind:
    """The differences between consumer and streams groups where the same rules apply to both.

    Attributes:
        name: The name of such a group in errors.
        owned: The name in errors for what its members own.
        records: The records about one member.
        target_epoch: The record of the target assignment's epoch. It takes a group id and a `TargetEpoch`.
    """

    name: str
    owned: str
    records: MemberRecords
    target_epoch: Callable[[str, TargetEpoch | None], Any]


E = TypeVar("E", bound=_NumberedEpoch)
M = TypeVar("M", bound=GroupMember)
T = TypeVar("T")
C = TypeVar("C", bound=MemberAssignmentState)


@define
class EpochGroup(Generic[E, M, T, C]):
    """One group whose members have epochs.

    Only `replay` changes it. Two groups are equal if their hard states are equal.

    Attributes:
        metadata: The group epoch and what it was increased for.
        target_epoch: The group epoch that the target assignment was computed for.
        members: The members' descriptions of themselves.
        target: The target assignment by member.
        current: Member epochs and current assignments by member.
        instances: Member ids by instance id. It follows from `members`.
    """

    KIND: ClassVar[EpochGroupKind]
    NOT_REACHED: ClassVar[Any]
    """The current assignment of a member without one."""
    TABLES: ClassVar[tuple[str, ...]] = ("members", "target", "current", "instances")
    """The attributes that are tables. Drafts lay their changes over them."""

    group_id: str
    metadata: E
    target_epoch: TargetEpoch = NO_TARGET
    members: MutableMapping[str, M] = field(factory=dict)
    target: MutableMapping[str, T] = field(factory=dict)
    current: MutableMapping[str, C] = field(factory=dict)
    instances: MutableMapping[str, str] = field(factory=dict, eq=False)

    @property
    def epoch(self) -> int:
        """The group epoch."""
        return self.metadata.epoch

    @property
    def assignment_epoch(self) -> int:
        """The group epoch that the target assignment was computed for."""
        return self.target_epoch.assignment_epoch

    @property
    def needs_target(self) -> bool:
        """True if the target assignment is older than the group epoch."""
        return self.target_epoch.assignment_epoch < self.metadata.epoch

    def may_have_new_target(self, interval_ms: int, wall_ms: int) -> bool:
        """Return whether the assignment interval has passed since the last target assignment (KIP-1263)."""
        computed_ms = self.target_epoch.assignment_timestamp_ms
        # The first target assignment of a group never waits (GroupMetadataManager.canComputeNextTargetAssignment in
        # Kafka). Records of releases before KIP-1263 have no time and do not make it wait either.
        return computed_ms == 0 or wall_ms >= computed_ms + interval_ms

    def current_of(self, member_id: str) -> C:
        """Return the epoch and the assignment of a member. It has no epoch yet if its first record is there alone."""
        current: C = self.current.get(member_id, self.NOT_REACHED)
        return current

    def may_be_replaced(self, member_id: str) -> bool:
        """Return whether a process with the instance id of a static member may take its place."""
        raise NotImplementedError

    def inheritable_target(self, member_id: str) -> T | None:
        """Return the target assignment that a static member hands on to the member that it returns as."""
        return self.target.get(member_id)

    def is_awaited(self, member_id: str) -> bool:
        """Return whether a member must revoke something within its rebalance timeout."""
        return self.current_of(member_id).must_revoke

    def has_reached_target(self, member_id: str) -> bool:
        """Return whether a member has its target assignment, and the epoch of it."""
        current = self.current_of(member_id)
        # A stable member may still be in an older epoch: its next heartbeat moves it on. Kafka's isReconciledTo has the
        # same two conditions.
        return current.is_stable and current.member_epoch == self.assignment_epoch

    def replay(self, record: Any) -> None:
        """Apply a record to the group."""
        raise NotImplementedError


def name_instance(
    instances: MutableMapping[str, str], member_id: str, before: GroupMember | None, after: GroupMember | None
) -> None:
    """Note which member an instance is, when a member is described again or removed.

    Args:
        instances: Member ids by instance id.
        member_id: The member.
        before: The member as it was, or None.
        after: The member as it is, or None if it is removed.
    """
    # A static member that returns has a new member id. If the record of its new id comes first, the instance already
    # belongs to that one, and the tombstone of the old id must not remove it. ConsumerGroup.removeStaticMember in Kafka
    # relies on the order of the records instead.
    if before is not None and before.instance_id is not None and instances[before.instance_id] == member_id:
        del instances[before.instance_id]
    if after is not None and after.instance_id is not None:
        instances[after.instance_id] = member_id
