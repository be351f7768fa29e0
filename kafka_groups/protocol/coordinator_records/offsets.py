"""Records of committed offsets and of classic groups in `__consumer_offsets`, types 0 to 2."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.coordinator_records.record import RecordType
from kafka_groups.protocol.schemas.declared import offset_records as schemas

__all__ = [
    "OFFSET_RECORDS",
    "GroupMetadataKey",
    "GroupMetadataMember",
    "GroupMetadataValue",
    "LegacyOffsetCommitKey",
    "LegacyOffsetCommitValue",
    "OffsetCommitKey",
    "OffsetCommitValue",
]

_NOT_SET = -1
_WITH_EXPIRE_TIMESTAMP, _NEWEST_OFFSET, _WRITTEN_GROUP = 1, 4, 3


@frozen(kw_only=True)
class LegacyOffsetCommitKey:
    """Key of a committed offset in the oldest format (type 0), which Kafka reads and no longer writes."""

    group: str
    topic: str
    partition: int


@frozen(kw_only=True)
class LegacyOffsetCommitValue:
    """A committed offset in the oldest format."""

    offset: int
    metadata: str
    commit_timestamp_ms: int


@frozen(kw_only=True)
class OffsetCommitKey:
    """Key of a committed offset (type 1)."""

    group: str
    topic: str
    partition: int


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

    offset: int
    leader_epoch: int = _NOT_SET  # v3+
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = _NOT_SET  # v1 only
    topic_id: UUID | None = None  # v4+


@frozen(kw_only=True)
class GroupMetadataKey:
    """Key of a classic group (type 2)."""

    group: str


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
    group_instance_id: str | None = None  # v3+
    client_id: str
    client_host: str
    rebalance_timeout_ms: int = _NOT_SET  # v1+
    session_timeout_ms: int
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
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp_ms: int = _NOT_SET  # v2+
    members: tuple[GroupMetadataMember, ...] = ()


def _offset_version(value: OffsetCommitValue) -> int:
    return _NEWEST_OFFSET if value.expire_timestamp_ms == _NOT_SET else _WITH_EXPIRE_TIMESTAMP


OFFSET_RECORDS = (
    RecordType(
        0,
        key=(LegacyOffsetCommitKey, schemas.OFFSET_KEY),
        value=(LegacyOffsetCommitValue, {0: schemas.OFFSET_COMMIT_0}),
    ),
    RecordType(
        1,
        key=(OffsetCommitKey, schemas.OFFSET_KEY),
        value=(OffsetCommitValue, schemas.OFFSET_COMMIT),
        version_of=_offset_version,
    ),
    RecordType(
        2,
        key=(GroupMetadataKey, schemas.GROUP_KEY),
        value=(GroupMetadataValue, schemas.GROUP_METADATA),
        version_of=lambda _value: _WRITTEN_GROUP,
    ),
)
"""The record types of committed offsets and of classic groups."""
