"""Records of consumer groups in `__consumer_offsets`, types 3 to 8 and 16 (KIP-848)."""

from typing import Generic, TypeVar
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.coordinator_records.group_record import GroupKeyed, MemberKeyed, TargetEpoch
from kafka_groups.protocol.coordinator_records.record import RecordType
from kafka_groups.protocol.fields import Int8, Int32, Int64, wire_field

__all__ = [
    "CONSUMER_GROUP_RECORDS",
    "ClassicMemberMetadata",
    "ClassicProtocol",
    "ConsumerGroupCurrentMemberAssignment",
    "ConsumerGroupCurrentMemberAssignmentValue",
    "ConsumerGroupMemberMetadata",
    "ConsumerGroupMemberMetadataValue",
    "ConsumerGroupMetadata",
    "ConsumerGroupMetadataValue",
    "ConsumerGroupPartitionMetadata",
    "ConsumerGroupPartitionMetadataValue",
    "ConsumerGroupRegularExpression",
    "ConsumerGroupRegularExpressionValue",
    "ConsumerGroupTargetAssignmentMember",
    "ConsumerGroupTargetAssignmentMemberValue",
    "ConsumerGroupTargetAssignmentMetadata",
    "ConsumerGroupTopicMetadata",
    "CurrentTopic",
    "OfConsumerGroup",
    "PartitionRacks",
    "TargetTopic",
]

V = TypeVar("V")
"""The value, if the rules of the group coordinator have it in another form than the message class in the table."""


class OfConsumerGroup:
    """A record of a consumer group."""

    __slots__ = ()


@frozen(kw_only=True)
class ConsumerGroupMetadataValue:
    """The group's epoch. When `metadata_hash` (of the subscribed topics) changes, the group gets a new assignment."""

    epoch: Int32
    metadata_hash: Int64 = wire_field(0, tag=0)


@frozen
class ConsumerGroupMetadata(OfConsumerGroup, GroupKeyed[ConsumerGroupMetadataValue]):
    """The group itself (type 3). A group whose members never subscribed to anything has no such record."""


@frozen(kw_only=True)
class PartitionRacks:
    """The racks of a partition's replicas."""

    partition: Int32
    racks: tuple[str, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupTopicMetadata:
    """A subscribed topic."""

    topic_id: UUID
    topic_name: str
    num_partitions: Int32
    partition_metadata: tuple[PartitionRacks, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupPartitionMetadataValue:
    """The subscribed topics."""

    topics: tuple[ConsumerGroupTopicMetadata, ...] = ()


@frozen
class ConsumerGroupPartitionMetadata(OfConsumerGroup, GroupKeyed[V]):
    """The subscribed topics (type 4), which Kafka wrote before 4.1. Later releases delete such records."""


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

    session_timeout_ms: Int32
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
        subscribed_topic_regex: The regular expression that it subscribes to. None or "" if there is no expression.
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
    rebalance_timeout_ms: Int32
    server_assignor: str | None = None
    classic_member_metadata: ClassicMemberMetadata | None = wire_field(None, tag=0)


@frozen
class ConsumerGroupMemberMetadata(OfConsumerGroup, MemberKeyed[ConsumerGroupMemberMetadataValue]):
    """A member (type 5)."""


@frozen
class ConsumerGroupTargetAssignmentMetadata(OfConsumerGroup, GroupKeyed[TargetEpoch]):
    """The epoch of the target assignment (type 6)."""


@frozen(kw_only=True)
class TargetTopic:
    """Partitions of one topic."""

    topic_id: UUID
    partitions: tuple[Int32, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupTargetAssignmentMemberValue:
    """A member's part of the target assignment."""

    topic_partitions: tuple[TargetTopic, ...] = ()


@frozen
class ConsumerGroupTargetAssignmentMember(OfConsumerGroup, MemberKeyed[V]):
    """A member's part of the target assignment (type 7)."""


@frozen(kw_only=True)
class CurrentTopic:
    """Partitions of one topic, and the epoch at which each was assigned to the member (KIP-1251)."""

    topic_id: UUID
    partitions: tuple[Int32, ...] = ()
    assignment_epochs: tuple[Int32, ...] | None = wire_field((), tag=0)


@frozen(kw_only=True)
class ConsumerGroupCurrentMemberAssignmentValue:
    """A member's epoch, what it may own, and what it has to revoke first.

    The state is 0 (stable), 1 (the member has to revoke partitions) or 2 (it waits for others to do so).
    """

    member_epoch: Int32
    previous_member_epoch: Int32
    state: Int8
    assigned_partitions: tuple[CurrentTopic, ...] = ()
    partitions_pending_revocation: tuple[CurrentTopic, ...] = ()


@frozen
class ConsumerGroupCurrentMemberAssignment(OfConsumerGroup, MemberKeyed[V]):
    """A member's epoch and current assignment (type 8)."""


@frozen(kw_only=True)
class ConsumerGroupRegularExpressionValue:
    """The topics that it matched, in a version of the metadata at some time."""

    topics: tuple[str, ...] = ()
    version: Int64
    timestamp_ms: Int64


@frozen
class ConsumerGroupRegularExpression(OfConsumerGroup, Generic[V]):
    """A regular expression that members subscribe to, and its topics (type 16)."""

    group_id: str
    regular_expression: str
    value: V | None = None


CONSUMER_GROUP_RECORDS = (
    RecordType(3, ConsumerGroupMetadata, ConsumerGroupMetadataValue),
    RecordType(4, ConsumerGroupPartitionMetadata, ConsumerGroupPartitionMetadataValue),
    RecordType(5, ConsumerGroupMemberMetadata, ConsumerGroupMemberMetadataValue),
    RecordType(6, ConsumerGroupTargetAssignmentMetadata, TargetEpoch),
    RecordType(7, ConsumerGroupTargetAssignmentMember, ConsumerGroupTargetAssignmentMemberValue),
    RecordType(8, ConsumerGroupCurrentMemberAssignment, ConsumerGroupCurrentMemberAssignmentValue),
    RecordType(16, ConsumerGroupRegularExpression, ConsumerGroupRegularExpressionValue),
)
"""The record types of consumer groups."""
