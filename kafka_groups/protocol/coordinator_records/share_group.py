"""Records of share groups in `__consumer_offsets`, types 10 to 15 (KIP-932)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.coordinator_records.record import RecordType
from kafka_groups.protocol.schemas.declared import share_group_records as schemas

__all__ = [
    "SHARE_GROUP_RECORDS",
    "AssignedTopic",
    "DeletingTopic",
    "ShareGroupCurrentMemberAssignmentKey",
    "ShareGroupCurrentMemberAssignmentValue",
    "ShareGroupMemberMetadataKey",
    "ShareGroupMemberMetadataValue",
    "ShareGroupMetadataKey",
    "ShareGroupMetadataValue",
    "ShareGroupStatePartitionMetadataKey",
    "ShareGroupStatePartitionMetadataValue",
    "ShareGroupTargetAssignmentMemberKey",
    "ShareGroupTargetAssignmentMemberValue",
    "ShareGroupTargetAssignmentMetadataKey",
    "ShareGroupTargetAssignmentMetadataValue",
    "StateTopic",
]


@frozen(kw_only=True)
class ShareGroupMemberMetadataKey:
    """Key of a member (type 10)."""

    group_id: str
    member_id: str


@frozen(kw_only=True)
class ShareGroupMemberMetadataValue:
    """A member's description of itself. `subscribed_topic_names` is sorted and has no duplicates."""

    rack_id: str | None = None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...] = ()


@frozen(kw_only=True)
class ShareGroupMetadataKey:
    """Key of a group (type 11)."""

    group_id: str


@frozen(kw_only=True)
class ShareGroupMetadataValue:
    """The group's epoch. When `metadata_hash` (of the subscribed topics) changes, the group gets a new assignment."""

    epoch: int
    metadata_hash: int


@frozen(kw_only=True)
class ShareGroupTargetAssignmentMetadataKey:
    """Key of a group's target assignment (type 12)."""

    group_id: str


@frozen(kw_only=True)
class ShareGroupTargetAssignmentMetadataValue:
    """The group epoch of the target assignment, and when it was computed (KIP-1263; 0 if unknown)."""

    assignment_epoch: int
    assignment_timestamp_ms: int = 0


@frozen(kw_only=True)
class ShareGroupTargetAssignmentMemberKey:
    """Key of a member's target assignment (type 13)."""

    group_id: str
    member_id: str


@frozen(kw_only=True)
class AssignedTopic:
    """Partitions of one topic in an assignment."""

    topic_id: UUID
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class ShareGroupTargetAssignmentMemberValue:
    """The partitions that a member should have."""

    topic_partitions: tuple[AssignedTopic, ...] = ()


@frozen(kw_only=True)
class ShareGroupCurrentMemberAssignmentKey:
    """Key of a member's current assignment (type 14)."""

    group_id: str
    member_id: str


@frozen(kw_only=True)
class ShareGroupCurrentMemberAssignmentValue:
    """The member's epochs, and the partitions that it has. `state` is 0 (stable): share groups have no other."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: tuple[AssignedTopic, ...] = ()


@frozen(kw_only=True)
class ShareGroupStatePartitionMetadataKey:
    """Key of a group's share-partitions (type 15)."""

    group_id: str


@frozen(kw_only=True)
class StateTopic:
    """Partitions of one topic whose share state is initialised, or is being initialised."""

    topic_id: UUID
    topic_name: str
    partitions: tuple[int, ...] = ()


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


SHARE_GROUP_RECORDS = (
    RecordType(
        10,
        key=(ShareGroupMemberMetadataKey, schemas.MEMBER_KEY),
        value=(ShareGroupMemberMetadataValue, {0: schemas.MEMBER_METADATA}),
    ),
    RecordType(
        11,
        key=(ShareGroupMetadataKey, schemas.GROUP_KEY),
        value=(ShareGroupMetadataValue, {0: schemas.METADATA}),
    ),
    RecordType(
        12,
        key=(ShareGroupTargetAssignmentMetadataKey, schemas.GROUP_KEY),
        value=(ShareGroupTargetAssignmentMetadataValue, {0: schemas.TARGET_ASSIGNMENT_METADATA}),
    ),
    RecordType(
        13,
        key=(ShareGroupTargetAssignmentMemberKey, schemas.MEMBER_KEY),
        value=(ShareGroupTargetAssignmentMemberValue, {0: schemas.TARGET_ASSIGNMENT_MEMBER}),
    ),
    RecordType(
        14,
        key=(ShareGroupCurrentMemberAssignmentKey, schemas.MEMBER_KEY),
        value=(ShareGroupCurrentMemberAssignmentValue, {0: schemas.CURRENT_MEMBER_ASSIGNMENT}),
    ),
    RecordType(
        15,
        key=(ShareGroupStatePartitionMetadataKey, schemas.GROUP_KEY),
        value=(ShareGroupStatePartitionMetadataValue, {0: schemas.STATE_PARTITION_METADATA}),
    ),
)
"""The record types of share groups."""
