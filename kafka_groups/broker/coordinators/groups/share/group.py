"""The hard state of one share group: a table of the last values of its records."""

import enum
from typing import Self, TypeVar

from attrs import define, evolve, field

from kafka_groups.broker.coordinators.groups.records import (
    CurrentAssignment,
    GroupEpoch,
    GroupRecord,
    MemberMetadata,
    ShareGroupCurrentMemberAssignment,
    ShareGroupMemberMetadata,
    ShareGroupMetadata,
    ShareGroupStatePartitionMetadata,
    ShareGroupTargetAssignmentMember,
    ShareGroupTargetAssignmentMetadata,
    StatePartitions,
)
from kafka_groups.types import TopicIdPartition

__all__ = ["GroupState", "ShareGroup"]

Value = TypeVar("Value")

_NEW = GroupEpoch(epoch=1, metadata_hash=0)  # as in Kafka 4.4, the first member moves the group to epoch 2


class GroupState(enum.StrEnum):
    """The states of a share group. There are no intermediate states, because members don't have to revoke (KIP-932)."""

    EMPTY = "Empty"
    STABLE = "Stable"
    DEAD = "Dead"


@define
class ShareGroup:
    """One share group.

    Only `replay` changes it. Two groups are equal if their hard states are equal.

    Attributes:
        metadata: Group epoch, and the hash of the topics' metadata at that epoch.
        assignment_epoch: The group epoch that the target assignment was computed for.
        members: The members' descriptions of themselves.
        target: The target assignment by member.
        current: Member epochs and current assignments by member.
        state_partitions: The share-partitions that have persistent state.
        exists: Whether the group was created and not deleted since.
    """

    group_id: str
    metadata: GroupEpoch = _NEW
    assignment_epoch: int = 0
    members: dict[str, MemberMetadata] = field(factory=dict)
    target: dict[str, frozenset[TopicIdPartition]] = field(factory=dict)
    current: dict[str, CurrentAssignment] = field(factory=dict)
    state_partitions: StatePartitions = field(factory=StatePartitions)
    exists: bool = False

    @property
    def epoch(self) -> int:
        """The group epoch."""
        return self.metadata.epoch

    @property
    def state(self) -> GroupState:
        """The state, with the name that ShareGroupDescribe and ListGroups use."""
        if not self.exists:
            return GroupState.DEAD
        return GroupState.STABLE if self.members else GroupState.EMPTY

    def copy(self) -> Self:
        """A copy that can be changed without changing this group."""
        return evolve(self, members=dict(self.members), target=dict(self.target), current=dict(self.current))

    def replay(self, record: GroupRecord) -> None:
        """Apply a record to the group."""
        match record:
            case ShareGroupMemberMetadata(_, member_id, value):
                _put(self.members, member_id, value)
            case ShareGroupTargetAssignmentMember(_, member_id, partitions):
                _put(self.target, member_id, partitions)
            case ShareGroupCurrentMemberAssignment(_, member_id, current):
                _put(self.current, member_id, current)
            case ShareGroupMetadata(_, metadata):
                self.exists = metadata is not None
                self.metadata = metadata or _NEW
            case ShareGroupTargetAssignmentMetadata(_, epoch):
                self.assignment_epoch = epoch or 0
            case ShareGroupStatePartitionMetadata(_, state_partitions):
                self.state_partitions = state_partitions or StatePartitions()


def _put(table: dict[str, Value], key: str, value: Value | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value
