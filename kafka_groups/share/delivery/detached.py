"""Pickled records and batches: copies that have everything but the locks."""

from collections.abc import Iterable
from typing import Any

from attrs import frozen

from kafka_groups.errors import RecordDeserializationError
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords as AcquiredRange
from kafka_groups.share.delivery.acquired import AcquiredRecords, SessionId
from kafka_groups.share.delivery.records import (
    AnyRecord,
    AnyRecords,
    DeserializedRecord,
    ShareRecords,
    deliveries_of,
    delivery_of,
)
from kafka_groups.types import Header, TopicIdPartition

__all__ = ["parts_of", "parts_of_batch", "restored_record", "restored_records"]

_NO_SESSION = SessionId(-1, -1)


@frozen
class _PlainRecord:
    """What the codec's object has, as a value of our own."""

    offset: int
    timestamp: int | None
    timestamp_type: int | None
    key: bytes | None
    value: bytes | None
    headers: list[Header]


@frozen
class _Copied:
    """A record without its delivery."""

    raw: _PlainRecord
    key: Any
    value: Any
    error: RecordDeserializationError | None

    def in_delivery(self, delivery: AcquiredRecords) -> DeserializedRecord:
        return DeserializedRecord(self.raw, delivery, self.key, self.value, self.error)


def parts_of(record: AnyRecord) -> tuple[TopicIdPartition, int, _Copied]:
    """What a record is restored from."""
    return delivery_of(record).topic_partition, record.delivery_count, _copied(record)


def restored_record(partition: TopicIdPartition, delivery_count: int, copied: _Copied) -> AnyRecord:
    """The copy of a record."""
    offset = copied.raw.offset
    acquired = AcquiredRange(first_offset=offset, last_offset=offset, delivery_count=delivery_count)
    delivery = AcquiredRecords(partition, _NO_SESSION, [acquired], 0)
    return _filled(delivery, [copied])[0]


def parts_of_batch(
    records: AnyRecords,
) -> tuple[list[tuple[TopicIdPartition, tuple[AcquiredRange, ...], list[_Copied]]]]:
    """What a batch is restored from."""
    return ([(part.topic_partition, part.ranges, list(map(_copied, part))) for part in deliveries_of(records)],)


def restored_records(
    parts: Iterable[tuple[TopicIdPartition, tuple[AcquiredRange, ...], list[_Copied]]],
) -> AnyRecords:
    """The copy of a batch."""
    deliveries = []
    for partition, ranges, copied in parts:
        deliveries.append(AcquiredRecords(partition, _NO_SESSION, ranges, 0))
        _filled(deliveries[-1], copied)
    return ShareRecords(deliveries)


def _filled(delivery: AcquiredRecords, copied: Iterable[_Copied]) -> list[DeserializedRecord]:
    records = [each.in_delivery(delivery) for each in copied]
    delivery.hand_out_deserialized(records)
    delivery.let_go()
    return records


def _copied(record: AnyRecord) -> _Copied:
    raw = record._raw
    headers = [(key, value) for key, value in raw.headers]
    plain = _PlainRecord(raw.offset, raw.timestamp, raw.timestamp_type, raw.key, raw.value, headers)
    return _Copied(plain, record.key, record.value, record.error)
