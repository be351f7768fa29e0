"""The records of `__share_group_state`, which the share coordinators write: the state of share-partitions (KIP-932)."""

from typing import Any
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord, RecordTable, RecordType
from kafka_groups.protocol.messages.share_state import UNKNOWN_COUNT, StateBatch
from kafka_groups.protocol.schemas.declared import share_state_records as schemas

__all__ = ["SHARE_GROUP_STATE", "ShareSnapshotKey", "ShareSnapshotValue", "ShareUpdateKey", "ShareUpdateValue"]


@frozen(kw_only=True)
class ShareSnapshotKey:
    """Key of a share-partition's full state (type 0)."""

    group_id: str
    topic_id: UUID
    partition: int


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

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int = UNKNOWN_COUNT
    create_timestamp_ms: int
    write_timestamp_ms: int
    state_batches: tuple[StateBatch, ...] = ()


@frozen(kw_only=True)
class ShareUpdateKey:
    """Key of a change (type 1)."""

    group_id: str
    topic_id: UUID
    partition: int


@frozen(kw_only=True)
class ShareUpdateValue:
    """A change to the state after the snapshot with the same epoch.

    A `start_offset` or `delivery_complete_count` of -1 means that it has not changed. `state_batches` has the changed
    offsets.
    """

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int = UNKNOWN_COUNT
    state_batches: tuple[StateBatch, ...] = ()


_MOST_FIXED_BYTES = 150
"""A bound for the fields that each record has, apart from the group id."""
_MOST_BYTES_OF_CHARACTER, _BYTES_OF_BATCH = 4, 20


def _most_bytes(record: CoordinatorRecord) -> int:
    """Return a bound without encoding the record: a leader writes one with every acknowledgement."""
    key: Any = record.key
    value: Any = record.value
    batches = 0 if value is None else len(value.state_batches)
    return _MOST_FIXED_BYTES + _MOST_BYTES_OF_CHARACTER * len(key.group_id) + _BYTES_OF_BATCH * batches


SHARE_GROUP_STATE = RecordTable(
    "__share_group_state",
    (
        RecordType(
            0,
            key=(ShareSnapshotKey, schemas.SHARE_PARTITION_KEY),
            value=(ShareSnapshotValue, {0: schemas.SHARE_SNAPSHOT}),
        ),
        RecordType(
            1,
            key=(ShareUpdateKey, schemas.SHARE_PARTITION_KEY),
            value=(ShareUpdateValue, {0: schemas.SHARE_UPDATE}),
        ),
    ),
    _most_bytes,
)
"""The types of record that Kafka 4.4 writes."""
