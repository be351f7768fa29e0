"""The records that store a consumer group's hard state: types 3 to 8 and 16 of `__consumer_offsets`.

A record has a key (its type, the group, and for some types a member or a regular expression) and a value. A value of
None is a tombstone that deletes the key. The state of a group depends only on the last value of each key, so the log
can be compacted.

The classes are those of `protocol/coordinator_records/`, and so are the values, except for those that the rules need in
another form: maps of partitions and sets of topics.
"""

from collections.abc import Mapping
from uuid import UUID

from attrs import evolve, field, frozen

from kafka_groups.broker.coordinators.groups.assignors.group_spec import PartitionsByTopic
from kafka_groups.broker.coordinators.groups.consumer.states import ConsumerMemberState
from kafka_groups.protocol.coordinator_records.consumer_group import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
)
from kafka_groups.protocol.messages.consumer_group_heartbeat import JOIN_GROUP_EPOCH, LEAVE_STATIC_EPOCH

__all__ = ["AssignedPartitions", "ConsumerAssignment", "ConsumerGroupRecord", "ResolvedRegex"]

AssignedPartitions = Mapping[UUID, Mapping[int, int]]
"""By topic id, partitions with the epoch in which each was assigned (KIP-1251). No topic is without partitions."""


# ------------------------------------------------------------------------------------------------ values


@frozen(kw_only=True)
class ConsumerAssignment:
    """A member's epoch and current assignment.

    Attributes:
        member_epoch: The epoch that its next heartbeat should contain. -2: a static member is away.
        previous_member_epoch: Also accepted, because the response with the current epoch may have been lost.
        state: Its progress towards its target assignment.
        assigned: The partitions that it may own.
        revoking: The partitions that it has to revoke. Nobody else gets them before it has.
    """

    member_epoch: int
    previous_member_epoch: int
    state: ConsumerMemberState = ConsumerMemberState.STABLE
    assigned: AssignedPartitions = field(factory=dict)
    revoking: AssignedPartitions = field(factory=dict)

    @property
    def is_stable(self) -> bool:
        """True if the member may own all of its target assignment that was free."""
        return self.state is ConsumerMemberState.STABLE

    @property
    def must_revoke(self) -> bool:
        """True if the member has yet to revoke partitions. Until then it keeps its epoch."""
        return self.state is ConsumerMemberState.UNREVOKED_PARTITIONS

    def away(self) -> "ConsumerAssignment":
        """Return what a static member keeps that leaves for a while.

        As in Kafka, the partitions lose their epochs, so that their offsets can be committed in any.
        """
        # ConsumerGroupMember.Builder.resetAssignedPartitionsEpochsToZero in Kafka. What it had to revoke is dropped, as
        # it is not running.
        assigned = {topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in self.assigned.items()}
        return ConsumerAssignment(
            member_epoch=LEAVE_STATIC_EPOCH, previous_member_epoch=self.previous_member_epoch, assigned=assigned
        )

    def returned(self) -> "ConsumerAssignment":
        """Return what a static member has that returns."""
        # The member comes with epoch 0, and its former epochs belong to its former id
        # (GroupMetadataManager.getOrMaybeSubscribeStaticConsumerGroupMember).
        return evolve(self, member_epoch=JOIN_GROUP_EPOCH, previous_member_epoch=0)


@frozen
class ResolvedRegex:
    """The topics that match a regular expression, in a version of the metadata and at a wall-clock time."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


# ----------------------------------------------------------------------------------------------- records

ConsumerGroupRecord = (
    ConsumerGroupMetadata
    | ConsumerGroupPartitionMetadata[None]
    | ConsumerGroupMemberMetadata
    | ConsumerGroupTargetAssignmentMetadata
    | ConsumerGroupTargetAssignmentMember[PartitionsByTopic]
    | ConsumerGroupCurrentMemberAssignment[ConsumerAssignment]
    | ConsumerGroupRegularExpression[ResolvedRegex]
)
"""The subscribed topics, as releases before 4.1 stored them, are only deleted. So they never have a value."""
