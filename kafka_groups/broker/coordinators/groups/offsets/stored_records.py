"""Committed offsets as Kafka stores them in `__consumer_offsets`, and back."""

from typing import Any

from kafka_groups.broker.coordinators.groups.offsets.records import CommittedOffset, OffsetCommitted
from kafka_groups.protocol.coordinator_records.offsets import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord

__all__ = ["from_stored", "to_stored"]

_NO_EPOCH = -1


def to_stored(record: OffsetCommitted) -> CoordinatorRecord:
    """Return the record as Kafka stores it."""
    key = OffsetCommitKey(group=record.group_id, topic=record.topic, partition=record.partition)
    return CoordinatorRecord(key, record.value and _stored_value(record.value))


def from_stored(record: CoordinatorRecord) -> OffsetCommitted | None:
    """Return a record that Kafka or `to_stored` made, or None if it is of another type."""
    key: Any = record.key
    if isinstance(key, OffsetCommitKey | LegacyOffsetCommitKey):
        return OffsetCommitted(key.group, key.topic, key.partition, _value(record.value))
    return None


def _stored_value(value: CommittedOffset) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=value.offset,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        commit_timestamp_ms=value.commit_timestamp_ms,
        expire_timestamp_ms=value.expire_timestamp_ms,
        topic_id=value.topic_id,
    )


def _value(value: Any) -> CommittedOffset | None:
    match value:
        case OffsetCommitValue():
            return CommittedOffset(
                value.offset,
                value.leader_epoch,
                value.metadata,
                value.commit_timestamp_ms,
                value.expire_timestamp_ms,
                value.topic_id,
            )
        case LegacyOffsetCommitValue():
            return CommittedOffset(value.offset, _NO_EPOCH, value.metadata, value.commit_timestamp_ms)
    return None
