"""Records of share groups in `__consumer_offsets`, types 10 to 15 (KIP-932)."""

from typing import TypeVar
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.coordinator_records.group_record import GroupKeyed, MemberKeyed, TargetEpoch
from kafka_groups.protocol.coordinator_records.record import RecordType
from kafka_groups.protocol.fields import Int8, Int32, Int64

__all__ = [
    "SHARE_GROUP_RECORDS",
    "AssignedTopic",
    "DeletingTopic",
    "ShareGroupCurrentMemberAssignment",
    "ShareGroupCurrentMemberAssignmentValue",
    "ShareGroupMemberMetadata",
    "ShareGroupMemberMetadataValue",
    "ShareGroupMetadata",
    "ShareGroupMetadataValue",
    "ShareGroupStatePartitionMetadata",
    "ShareGroupStatePartitionMetadataValue",
    "ShareGroupTargetAssignmentMember",
    "ShareGroupTargetAssignmentMemberValue",
    "ShareGroupTargetAssignmentMetadata",
    "StateTopic",
]

V = TypeVar("V")
"""The value, if the rules of the group coordinator have it in another form than the message class in the table."""


@frozen(kw_only=True)
class ShareGroupMemberMetadataValue:
    """A member's description of itself. `subscribed_topic_names` is sorted and has no duplicates."""

    rack_id: str | None = None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...] = ()


@frozen
class ShareGroupMemberMetadata(MemberKeyed[ShareGroupMemberMetadataValue]):
    """A member (type 10)."""


@frozen(kw_only=True)
class ShareGroupMetadataValue:
    """The group's epoch. When `metadata_hash` (of the subscribed topics) changes, the group gets a new assignment."""

    epoch: Int32
    metadata_hash: Int64


@frozen
class ShareGroupMetadata(GroupKeyed[ShareGroupMetadataValue]):
    """The group itself (type 11). Its tombstone deletes the group."""


@frozen
class ShareGroupTargetAssignmentMetadata(GroupKeyed[TargetEpoch]):
    """The epoch of the target assignment (type 12)."""


@frozen(kw_only=True)
class AssignedTopic:
    """Partitions of one topic in an assignment."""

    topic_id: UUID
    partitions: tuple[Int32, ...] = ()


@frozen(kw_only=True)
class ShareGroupTargetAssignmentMemberValue:
    """The partitions that a member should have."""

    topic_partitions: tuple[AssignedTopic, ...] = ()


@frozen
class ShareGroupTargetAssignmentMember(MemberKeyed[V]):
    """A member's part of the target assignment (type 13)."""


@frozen(kw_only=True)
class ShareGroupCurrentMemberAssignmentValue:
    """The member's epochs, and the partitions that it has. `state` is 0 (stable): share groups have no other."""

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned_partitions: tuple[AssignedTopic, ...] = ()


@frozen
class ShareGroupCurrentMemberAssignment(MemberKeyed[V]):
    """A member's epoch and current assignment (type 14)."""


@frozen(kw_only=True)
class StateTopic:
    """Partitions of one topic whose share state is initialised, or is being initialised."""

    topic_id: UUID
    topic_name: str
    partitions: tuple[Int32, ...] = ()


@frozen(kw_only=True)
class DeletingTopic:
    """A topic whose share state is being deleted."""

    topic_id: UUID
    topic_name: str


@frozen(kw_only=True)
class ShareGroupStatePartitionMetadataValue:
    """The share-partitions whose state the group coordinator has had initialised, or is about to."""

    initializing_topics: tuple[StateTopic, ...] = ()
    initialized_topics: tuple[StateTopic, ...] = ()
    deleting_topics: tuple[DeletingTopic, ...] = ()


@frozen
class ShareGroupStatePartitionMetadata(GroupKeyed[V]):
    """The share-partitions with persistent state (type 15)."""


SHARE_GROUP_RECORDS = (
    RecordType(10, ShareGroupMemberMetadata, ShareGroupMemberMetadataValue),
    RecordType(11, ShareGroupMetadata, ShareGroupMetadataValue),
    RecordType(12, ShareGroupTargetAssignmentMetadata, TargetEpoch),
    RecordType(13, ShareGroupTargetAssignmentMember, ShareGroupTargetAssignmentMemberValue),
    RecordType(14, ShareGroupCurrentMemberAssignment, ShareGroupCurrentMemberAssignmentValue),
    RecordType(15, ShareGroupStatePartitionMetadata, ShareGroupStatePartitionMetadataValue),
)
"""The record types of share groups."""
