"""Records of committed offsets and of classic groups in `__consumer_offsets`, types 0 to 2."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.coordinator_records.record import RecordType
from kafka_groups.protocol.fields import Int32, Int64, wire_field

__all__ = [
    "OFFSET_RECORDS",
    "ClassicGroupMetadata",
    "GroupMetadataMember",
    "GroupMetadataValue",
    "LegacyOffsetCommit",
    "OffsetCommit",
    "OffsetCommitValue",
]

_NOT_SET = -1
_WITH_EXPIRE_TIMESTAMP, _NEWEST_OFFSET, _WRITTEN_GROUP = 1, 4, 3


@frozen(kw_only=True)
class OffsetCommitValue:
    """A committed offset.

    Kafka writes version 1, which has no leader epoch and no topic id, if the offset has an `expire_timestamp_ms`, and
    version 4 otherwise.

    Attributes:
        offset: The next offset that the group wants to read.
        leader_epoch: Leader epoch of the record before it, or -1.
        metadata: The client's metadata, stored with the offset.
        commit_timestamp_ms: Time of the commit, in milliseconds since the epoch.
        expire_timestamp_ms: Time of expiry, or -1 for `offsets.retention.minutes`. Only old clients set it.
        topic_id: The topic, if it was known.
    """

    offset: Int64
    leader_epoch: Int32 = wire_field(_NOT_SET, since=3)
    metadata: str
    commit_timestamp_ms: Int64
    expire_timestamp_ms: Int64 = wire_field(_NOT_SET, since=1, until=1)
    topic_id: UUID | None = wire_field(None, since=4, tag=0)


@frozen
class OffsetCommit:
    """A group's offset for a partition (type 1). Without a value, it is a tombstone."""

    group: str
    topic: str
    partition: Int32
    value: OffsetCommitValue | None = None


@frozen
class LegacyOffsetCommit(OffsetCommit):
    """A committed offset in the oldest format (type 0), which Kafka reads and no longer writes."""


@frozen(kw_only=True)
class GroupMetadataMember:
    """A member of a generation of a classic group.

    Attributes:
        member_id: The member.
        group_instance_id: The instance id of a static member (KIP-345), or None.
        client_id: The client id of its requests.
        client_host: The host that they come from.
        rebalance_timeout_ms: The longest time that a rebalance waits for the member, or -1 for its session timeout.
        session_timeout_ms: The longest time between the member's heartbeats.
        subscription: The member's metadata for the protocol that was chosen.
        assignment: The leader's assignment for it.
    """

    member_id: str
    group_instance_id: str | None = wire_field(None, since=3)
    client_id: str
    client_host: str
    rebalance_timeout_ms: Int32 = wire_field(_NOT_SET, since=1)
    session_timeout_ms: Int32
    subscription: bytes
    assignment: bytes


@frozen(kw_only=True)
class GroupMetadataValue:
    """A generation of a classic group that all its members have agreed on, or an empty group. Kafka writes version 3.

    Attributes:
        protocol_type: The group's type ("consumer", "connect"), or "" if no member ever joined.
        generation: The number of the generation.
        protocol: The protocol that was chosen: for consumers, the name of an assignor. None if the group is empty.
        leader: The member that assigns partitions. None if the group is empty.
        current_state_timestamp_ms: Wall-clock time of the last change of the group's state, or -1 in old records.
        members: The members.
    """

    protocol_type: str
    generation: Int32
    protocol: str | None
    leader: str | None
    current_state_timestamp_ms: Int64 = wire_field(_NOT_SET, since=2)
    members: tuple[GroupMetadataMember, ...] = ()


@frozen
class ClassicGroupMetadata:
    """A classic group (type 2). Its tombstone deletes the group."""

    group: str
    value: GroupMetadataValue | None = None


def _offset_version(value: OffsetCommitValue) -> int:
    return _NEWEST_OFFSET if value.expire_timestamp_ms == _NOT_SET else _WITH_EXPIRE_TIMESTAMP


OFFSET_RECORDS = (
    RecordType(0, LegacyOffsetCommit, OffsetCommitValue, flexible_since=1),
    RecordType(1, OffsetCommit, OffsetCommitValue, versions=range(5), flexible_since=4, version_of=_offset_version),
    RecordType(
        2,
        ClassicGroupMetadata,
        GroupMetadataValue,
        versions=range(5),
        flexible_since=4,
        version_of=lambda _value: _WRITTEN_GROUP,
    ),
)
"""The record types of committed offsets and of classic groups."""
