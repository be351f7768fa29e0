"""The hard state of one share group: a table of the last values of its records."""

import enum
from collections.abc import MutableMapping
from typing import ClassVar, TypeVar

from attrs import define, field

from kafka_groups.broker.coordinators.groups.draft import GroupDraft, put
from kafka_groups.broker.coordinators.groups.share.records import CurrentAssignment, ShareGroupRecord, StatePartitions
from kafka_groups.protocol.coordinator_records.share_group import (
    ShareGroupCurrentMemberAssignment,
    ShareGroupMemberMetadata,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadata,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadata,
    ShareGroupTargetAssignmentMember,
    ShareGroupTargetAssignmentMetadata,
)
from kafka_groups.types import TopicIdPartition

__all__ = ["Draft", "GroupState", "ShareGroup"]

Value = TypeVar("Value")

_NOT_REACHED = CurrentAssignment(member_epoch=0, previous_member_epoch=0)
_NEW = ShareGroupMetadataValue(epoch=1, metadata_hash=0)  # as in Kafka 4.4, the first member moves the group to epoch 2


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
        subscribers: The number of subscribers of each topic name. It follows from `members`.
    """

    TABLES: ClassVar[tuple[str, ...]] = ("members", "target", "current", "subscribers")

    group_id: str
    metadata: ShareGroupMetadataValue = _NEW
    assignment_epoch: int = 0
    members: MutableMapping[str, ShareGroupMemberMetadataValue] = field(factory=dict)
    target: MutableMapping[str, frozenset[TopicIdPartition]] = field(factory=dict)
    current: MutableMapping[str, CurrentAssignment] = field(factory=dict)
    state_partitions: StatePartitions = field(factory=StatePartitions)
    exists: bool = False
    subscribers: MutableMapping[str, int] = field(factory=dict, eq=False)

    @property
    def epoch(self) -> int:
        """The group epoch."""
        return self.metadata.epoch

    @property
    def state(self) -> GroupState:
        """The state, with the name that ShareGroupDescribe and ListGroups use."""
        # KIP-932, "Share group states": no member, or some. A group without its record was deleted, or never existed.
        if not self.exists:
            return GroupState.DEAD
        return GroupState.STABLE if self.members else GroupState.EMPTY

    def current_of(self, member_id: str) -> CurrentAssignment:
        """Return the epoch and the assignment of a member; empty ones if only its first record is there."""
        return self.current.get(member_id, _NOT_REACHED)

    def replay(self, record: ShareGroupRecord) -> None:
        """Apply a record to the group."""
        match record:
            case ShareGroupMemberMetadata(_, member_id, value):
                before, after = _names(self.members.get(member_id)), _names(value)
                # Counts instead of a set, so that a topic is known to be unsubscribed when the last of its subscribers
                # goes, without looking at all members.
                if before != after:
                    self._count_subscriptions(before, -1)
                    self._count_subscriptions(after, +1)
                put(self.members, member_id, value)
            case ShareGroupTargetAssignmentMember(_, member_id, partitions):
                put(self.target, member_id, partitions)
            case ShareGroupCurrentMemberAssignment(_, member_id, current):
                put(self.current, member_id, current)
            case ShareGroupMetadata(_, metadata):
                self.exists = metadata is not None
                self.metadata = metadata or _NEW
            case ShareGroupTargetAssignmentMetadata(_, target_epoch):
                self.assignment_epoch = 0 if target_epoch is None else target_epoch.assignment_epoch
            case ShareGroupStatePartitionMetadata(_, state_partitions):
                self.state_partitions = state_partitions or StatePartitions()

    def _count_subscriptions(self, names: tuple[str, ...], sign: int) -> None:
        for name in names:
            put(self.subscribers, name, (self.subscribers.get(name, 0) + sign) or None)


Draft = GroupDraft[ShareGroup, ShareGroupRecord]
"""A share group with the records of an operation applied."""


def _names(member: ShareGroupMemberMetadataValue | None) -> tuple[str, ...]:
    return () if member is None else member.subscribed_topic_names
