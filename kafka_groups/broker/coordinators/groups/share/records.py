"""The records that store a share group's hard state: types 10 to 15 of `__consumer_offsets`.

A record has a key (its type, the group, and for some types a member) and a value. A value of None is a tombstone that
deletes the key. The state of a group depends only on the last value of each key, so the log can be compacted.

Values are the messages of `protocol/coordinator_records/`, except for those that the rules need in another form:
sets and maps of partitions.
"""

from collections.abc import Mapping
from uuid import UUID

from attrs import field, frozen

from kafka_groups.protocol.coordinator_records.share_group import (
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataValue,
)
from kafka_groups.types import TopicIdPartition

__all__ = [
    "CurrentAssignment",
    "PartitionsOfTopics",
    "ShareGroupCurrentMemberAssignment",
    "ShareGroupMemberMetadata",
    "ShareGroupMetadata",
    "ShareGroupRecord",
    "ShareGroupStatePartitionMetadata",
    "ShareGroupTargetAssignmentMember",
    "ShareGroupTargetAssignmentMetadata",
    "StatePartitions",
]

PartitionsOfTopics = Mapping[UUID, frozenset[int]]
"""Partition numbers by topic id. Topics without partitions are left out."""


# ------------------------------------------------------------------------------------------------ values


@frozen
class CurrentAssignment:
    """A member's epoch and current assignment.

    Attributes:
        member_epoch: The epoch that its next heartbeat should contain.
        previous_member_epoch: Also accepted, because the response with the current epoch may have been lost.
        partitions: The partitions that it should fetch from.
    """

    member_epoch: int
    previous_member_epoch: int
    partitions: frozenset[TopicIdPartition] = frozenset()


@frozen
class StatePartitions:
    """The share-partitions that have persistent state in the share coordinator.

    Attributes:
        initializing: Their initialisation has started. They cannot be assigned yet.
        initialized: They have state and can be assigned.
        deleting: Their topics were deleted, and their state has yet to be deleted.
        topic_names: Names of all these topics, for display. Topic ids remain valid when a name is reused.
    """

    initializing: PartitionsOfTopics = field(factory=dict)
    initialized: PartitionsOfTopics = field(factory=dict)
    deleting: PartitionsOfTopics = field(factory=dict)
    topic_names: Mapping[UUID, str] = field(factory=dict)


# ----------------------------------------------------------------------------------------------- records


@frozen
class ShareGroupMemberMetadata:
    """A member of the group."""

    group_id: str
    member_id: str
    value: ShareGroupMemberMetadataValue | None


@frozen
class ShareGroupMetadata:
    """The group itself. Its tombstone deletes the group."""

    group_id: str
    value: ShareGroupMetadataValue | None


@frozen
class ShareGroupTargetAssignmentMetadata:
    """The assignment epoch: the group epoch that the target assignment was computed for."""

    group_id: str
    value: int | None


@frozen
class ShareGroupTargetAssignmentMember:
    """A member's part of the target assignment."""

    group_id: str
    member_id: str
    value: frozenset[TopicIdPartition] | None


@frozen
class ShareGroupCurrentMemberAssignment:
    """A member's epoch and current assignment."""

    group_id: str
    member_id: str
    value: CurrentAssignment | None


@frozen
class ShareGroupStatePartitionMetadata:
    """The share-partitions with persistent state."""

    group_id: str
    value: StatePartitions | None


ShareGroupRecord = (
    ShareGroupMemberMetadata
    | ShareGroupMetadata
    | ShareGroupTargetAssignmentMetadata
    | ShareGroupTargetAssignmentMember
    | ShareGroupCurrentMemberAssignment
    | ShareGroupStatePartitionMetadata
)
