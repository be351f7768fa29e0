"""Deliveries made by hand, for the tests of what becomes of them."""

import sys
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.delivery import SessionId
from kafka_groups.share.delivery.records import AnyRecord, delivery_of
from kafka_groups.share.delivery.share_records import AnyRecords, ShareRecords
from kafka_groups.types import TopicIdPartition

TOPIC = UUID(int=77)
PARTITION = TopicIdPartition(TOPIC, 0, "orders")


def acquired(*ranges: tuple[int, int] | tuple[int, int, int], deadline_ms: int = 1 << 40) -> DeliveredRecords:
    """A delivery of (first, last) or (first, last, delivery count)."""
    given = [AcquiredRecords(first_offset=r[0], last_offset=r[1], delivery_count=(*r, 1)[2]) for r in ranges]
    return DeliveredRecords(PARTITION, SessionId(1, 0), given, deadline_ms)


def batch(first: int, last: int, *, missing: Iterable[int] = (), **options: Any) -> bytes:
    """A batch of the log with a record `v<offset>` for each offset but the missing ones."""
    gone = set(missing)
    records = [
        NewRecord(value=b"v%d" % offset, key=b"k", offset_delta=offset - first)
        for offset in range(first, last + 1)
        if offset not in gone
    ]
    return build_batch(records, first, BatchOptions(last_offset_delta=last - first, **options))


def decoded(
    decoder: Decoder, delivery: DeliveredRecords, blob: bytes | None
) -> list[DeliveredRecords | KafkaGroupsError]:
    """What an application gets of a delivery if it takes all of it at once, with the error that stands behind it."""
    (whole,), error = decoder.split(delivery, blob, sys.maxsize)
    items = decoder.deserialize(whole)
    return items if error is None else [*items, error]


def types_of(batches: Iterable[AcknowledgementBatch]) -> dict[int, int]:
    """Offset → acknowledgement type."""
    types: dict[int, int] = {}
    for sent in batches:
        size = sent.last_offset - sent.first_offset + 1
        kinds = sent.acknowledge_types * (size if len(sent.acknowledge_types) == 1 else 1)
        types.update(zip(range(sent.first_offset, sent.last_offset + 1), kinds, strict=True))
    return types


def batch_with(record: AnyRecord) -> AnyRecords:
    """The batch of the delivery that a record came with."""
    delivery = delivery_of(record)
    assert isinstance(delivery, DeliveredRecords)
    return ShareRecords([delivery])
