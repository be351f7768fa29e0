"""The records of `__share_group_state`, which the share coordinators write: the state of share-partitions (KIP-932)."""

from typing import Generic, TypeVar
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.coordinator_records.record import RecordTable, RecordType
from kafka_groups.protocol.fields import Int32, Int64, wire_field
from kafka_groups.protocol.messages.share_state import UNKNOWN_COUNT, StateBatch

__all__ = [
    "SHARE_GROUP_STATE",
    "SharePartitionKeyed",
    "ShareSnapshot",
    "ShareSnapshotValue",
    "ShareStateRecord",
    "ShareUpdate",
    "ShareUpdateValue",
]

V = TypeVar("V")


@frozen
class SharePartitionKeyed(Generic[V]):
    """A record about a share-partition. Without a value, it is a tombstone."""

    group_id: str
    topic_id: UUID
    partition: Int32
    value: V | None = None


@frozen(kw_only=True)
class ShareSnapshotValue:
    """The full state of a share-partition.

    Attributes:
        snapshot_epoch: Counts the snapshots of the share-partition.
        state_epoch: Changes when an administrator resets the state.
        leader_epoch: Epoch of the last leader that read or wrote the state.
        start_offset: Where delivery starts, or `UNINITIALIZED_OFFSET`.
        delivery_complete_count: Offsets from `start_offset` on that are done (KIP-1226), or -1 if unknown.
        create_timestamp_ms: When the state was created.
        write_timestamp_ms: When the state was last written.
        state_batches: States of offsets. Offsets in none of them are available.
    """

    snapshot_epoch: Int32
    state_epoch: Int32
    leader_epoch: Int32
    start_offset: Int64
    delivery_complete_count: Int32 = wire_field(UNKNOWN_COUNT, tag=0)
    create_timestamp_ms: Int64
    write_timestamp_ms: Int64
    state_batches: tuple[StateBatch, ...] = ()


@frozen
class ShareSnapshot(SharePartitionKeyed[ShareSnapshotValue]):
    """The full state of a share-partition (type 0)."""


@frozen(kw_only=True)
class ShareUpdateValue:
    """A change to the state after the snapshot with the same epoch.

    A `start_offset` or `delivery_complete_count` of -1 means that it has not changed. `state_batches` has the changed
    offsets.
    """

    snapshot_epoch: Int32
    leader_epoch: Int32
    start_offset: Int64
    delivery_complete_count: Int32 = wire_field(UNKNOWN_COUNT, tag=0)
    state_batches: tuple[StateBatch, ...] = ()


@frozen
class ShareUpdate(SharePartitionKeyed[ShareUpdateValue]):
    """A change (type 1)."""


ShareStateRecord = ShareSnapshot | ShareUpdate


_MOST_FIXED_BYTES = 150
"""A bound for the fields that each record has, apart from the group id."""
_MOST_BYTES_OF_CHARACTER, _BYTES_OF_BATCH = 4, 20


def _most_bytes(record: ShareStateRecord) -> int:
    """Return a bound without encoding the record: a leader writes one with every acknowledgement."""
    batches = 0 if record.value is None else len(record.value.state_batches)
    return _MOST_FIXED_BYTES + _MOST_BYTES_OF_CHARACTER * len(record.group_id) + _BYTES_OF_BATCH * batches


SHARE_GROUP_STATE: RecordTable[ShareStateRecord] = RecordTable(
    "__share_group_state",
    (RecordType(0, ShareSnapshot, ShareSnapshotValue), RecordType(1, ShareUpdate, ShareUpdateValue)),
    _most_bytes,
)
"""The types of record that Kafka 4.4 writes."""
