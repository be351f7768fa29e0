"""The records that store a share group's hard state: types 10 to 15 of `__consumer_offsets`.

A record has a key (its type, the group, and for some types a member) and a value. A value of None is a tombstone that
deletes the key. The state of a group depends only on the last value of each key, so the log can be compacted.

The classes are those of `protocol/coordinator_records/`, and so are the values, except for those that the rules need in
another form: sets and maps of partitions.
"""

from collections.abc import Mapping
from uuid import UUID

from attrs import field, frozen

from kafka_groups.protocol.coordinator_records.share_group import (
    ShareGroupCurrentMemberAssignment,
    ShareGroupMemberMetadata,
    ShareGroupMetadata,
    ShareGroupStatePartitionMetadata,
    ShareGroupTargetAssignmentMember,
    ShareGroupTargetAssignmentMetadata,
)
from kafka_groups.types import TopicIdPartition

__all__ = ["CurrentAssignment", "PartitionsOfTopics", "ShareGroupRecord", "StatePartitions"]

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

ShareGroupRecord = (
    ShareGroupMemberMetadata
    | ShareGroupMetadata
    | ShareGroupTargetAssignmentMetadata
    | ShareGroupTargetAssignmentMember[frozenset[TopicIdPartition]]
    | ShareGroupCurrentMemberAssignment[CurrentAssignment]
    | ShareGroupStatePartitionMetadata[StatePartitions]
)
