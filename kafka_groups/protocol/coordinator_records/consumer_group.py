"""Records of consumer groups in `__consumer_offsets`, types 3 to 8 and 16 (KIP-848)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.coordinator_records.record import RecordType
from kafka_groups.protocol.schemas.declared import consumer_group_records as schemas

__all__ = [
    "CONSUMER_GROUP_RECORDS",
    "ClassicMemberMetadata",
    "ClassicProtocol",
    "ConsumerGroupCurrentMemberAssignmentKey",
    "ConsumerGroupCurrentMemberAssignmentValue",
    "ConsumerGroupMemberMetadataKey",
    "ConsumerGroupMemberMetadataValue",
    "ConsumerGroupMetadataKey",
    "ConsumerGroupMetadataValue",
    "ConsumerGroupPartitionMetadataKey",
    "ConsumerGroupPartitionMetadataValue",
    "ConsumerGroupRegularExpressionKey",
    "ConsumerGroupRegularExpressionValue",
    "ConsumerGroupTargetAssignmentMemberKey",
    "ConsumerGroupTargetAssignmentMemberValue",
    "ConsumerGroupTargetAssignmentMetadataKey",
    "ConsumerGroupTargetAssignmentMetadataValue",
    "ConsumerGroupTopicMetadata",
    "CurrentTopic",
    "PartitionRacks",
    "TargetTopic",
]


@frozen(kw_only=True)
class ConsumerGroupMetadataKey:
    """Key of a group (type 3)."""

    group_id: str


@frozen(kw_only=True)
class ConsumerGroupMetadataValue:
    """The group's epoch. When `metadata_hash` (of the subscribed topics) changes, the group gets a new assignment."""

    epoch: int
    metadata_hash: int = 0


@frozen(kw_only=True)
class ConsumerGroupPartitionMetadataKey:
    """Key of the subscribed topics (type 4), which Kafka wrote before 4.1. Later releases delete such records."""

    group_id: str


@frozen(kw_only=True)
class PartitionRacks:
    """The racks of a partition's replicas."""

    partition: int
    racks: tuple[str, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupTopicMetadata:
    """A subscribed topic."""

    topic_id: UUID
    topic_name: str
    num_partitions: int
    partition_metadata: tuple[PartitionRacks, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupPartitionMetadataValue:
    """The subscribed topics."""

    topics: tuple[ConsumerGroupTopicMetadata, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupMemberMetadataKey:
    """Key of a member (type 5)."""

    group_id: str
    member_id: str


@frozen(kw_only=True)
class ClassicProtocol:
    """A protocol that a member supports, with its metadata."""

    name: str
    metadata: bytes


@frozen(kw_only=True)
class ClassicMemberMetadata:
    """The session timeout and protocols from the JoinGroup request of a member with the classic protocol.

    Attributes:
        session_timeout_ms: The longest time between its heartbeats.
        supported_protocols: The assignors that it supports, with its subscription in the form of each.
    """

    session_timeout_ms: int
    supported_protocols: tuple[ClassicProtocol, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupMemberMetadataValue:
    """A member's description of itself.

    Attributes:
        instance_id: The id of a static member, or None.
        rack_id: Its rack, or None.
        client_id: The client id of its requests.
        client_host: The host that they come from.
        subscribed_topic_names: The topics that it subscribes to by name, sorted and without duplicates.
        subscribed_topic_regex: The regular expression that it subscribes to. None and "" mean that it has none.
        rebalance_timeout_ms: The time that it has to revoke partitions.
        server_assignor: The assignor that it prefers, or None.
        classic_member_metadata: Set if it speaks the classic protocol.
    """

    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = None
    rebalance_timeout_ms: int
    server_assignor: str | None = None
    classic_member_metadata: ClassicMemberMetadata | None = None


@frozen(kw_only=True)
class ConsumerGroupTargetAssignmentMetadataKey:
    """Key of the target assignment's metadata (type 6)."""

    group_id: str


@frozen(kw_only=True)
class ConsumerGroupTargetAssignmentMetadataValue:
    """The group epoch that the target assignment was computed for, and when."""

    assignment_epoch: int
    assignment_timestamp_ms: int = 0


@frozen(kw_only=True)
class ConsumerGroupTargetAssignmentMemberKey:
    """Key of a member's part of the target assignment (type 7)."""

    group_id: str
    member_id: str


@frozen(kw_only=True)
class TargetTopic:
    """Partitions of one topic."""

    topic_id: UUID
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupTargetAssignmentMemberValue:
    """A member's part of the target assignment."""

    topic_partitions: tuple[TargetTopic, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupCurrentMemberAssignmentKey:
    """Key of a member's epoch and current assignment (type 8)."""

    group_id: str
    member_id: str


@frozen(kw_only=True)
class CurrentTopic:
    """Partitions of one topic, and the epoch at which each was assigned to the member (KIP-1251)."""

    topic_id: UUID
    partitions: tuple[int, ...] = ()
    assignment_epochs: tuple[int, ...] | None = ()


@frozen(kw_only=True)
class ConsumerGroupCurrentMemberAssignmentValue:
    """A member's epoch, what it may own, and what it has to revoke first.

    The state is 0 (stable), 1 (the member has to revoke partitions) or 2 (it waits for others to do so).
    """

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: tuple[CurrentTopic, ...] = ()
    partitions_pending_revocation: tuple[CurrentTopic, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupRegularExpressionKey:
    """Key of a regular expression that members subscribe to (type 16)."""

    group_id: str
    regular_expression: str


@frozen(kw_only=True)
class ConsumerGroupRegularExpressionValue:
    """The topics that it matched, in a version of the metadata at some time."""

    topics: tuple[str, ...] = ()
    version: int
    timestamp_ms: int


CONSUMER_GROUP_RECORDS = (
    RecordType(
        3, key=(ConsumerGroupMetadataKey, schemas.GROUP_KEY), value=(ConsumerGroupMetadataValue, {0: schemas.METADATA})
    ),
    RecordType(
        4,
        key=(ConsumerGroupPartitionMetadataKey, schemas.GROUP_KEY),
        value=(ConsumerGroupPartitionMetadataValue, {0: schemas.PARTITION_METADATA}),
    ),
    RecordType(
        5,
        key=(ConsumerGroupMemberMetadataKey, schemas.MEMBER_KEY),
        value=(ConsumerGroupMemberMetadataValue, {0: schemas.MEMBER_METADATA}),
    ),
    RecordType(
        6,
        key=(ConsumerGroupTargetAssignmentMetadataKey, schemas.GROUP_KEY),
        value=(ConsumerGroupTargetAssignmentMetadataValue, {0: schemas.TARGET_ASSIGNMENT_METADATA}),
    ),
    RecordType(
        7,
        key=(ConsumerGroupTargetAssignmentMemberKey, schemas.MEMBER_KEY),
        value=(ConsumerGroupTargetAssignmentMemberValue, {0: schemas.TARGET_ASSIGNMENT_MEMBER}),
    ),
    RecordType(
        8,
        key=(ConsumerGroupCurrentMemberAssignmentKey, schemas.MEMBER_KEY),
        value=(ConsumerGroupCurrentMemberAssignmentValue, {0: schemas.CURRENT_MEMBER_ASSIGNMENT}),
    ),
    RecordType(
        16,
        key=(ConsumerGroupRegularExpressionKey, schemas.REGEX_KEY),
        value=(ConsumerGroupRegularExpressionValue, {0: schemas.REGULAR_EXPRESSION}),
    ),
)
"""The record types of consumer groups."""
