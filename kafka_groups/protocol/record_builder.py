"""Builds record batches for tests, tools and examples. Applications use a producer instead."""

import struct
from collections.abc import Iterable, Sequence

from attrs import frozen

from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_batch import (
    NO_PRODUCER_ID,
    BatchHeader,
    DecodedRecord,
    crc32c,
    header_alone,
    rewrite,
    with_log_append_time,
)
from kafka_groups.types import Header

__all__ = [
    "BATCH_OVERHEAD_BYTES",
    "BatchOptions",
    "NewRecord",
    "build_batch",
    "build_control_batch",
    "coordinator_epoch_of",
    "end_marker",
    "end_marker_parts",
    "record_bytes",
    "reduced_batch",
    "sized_bytes",
    "varint_bytes",
]

BATCH_OVERHEAD_BYTES = 61
"""The size of a batch without records."""
_MAGIC = 2
_NO_LIMIT = 2**31 - 1
_CRC_AT, _ATTRIBUTES_AT, _LAST_OFFSET_DELTA_AT = 17, 21, 23
_CONTROL_BIT = 0x20
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_DELTA = struct.Struct(">i")
_CONTROL_KEY = struct.Struct(">hh")
_END_TRANSACTION_MARKER = struct.Struct(">hi")
_CONTROL_VERSION = 0
_NO_TIMESTAMP = -1


@frozen
class NewRecord:
    """A record to write.

    Attributes:
        value: The value. None makes a tombstone.
        key: The key, or None.
        timestamp_ms: Milliseconds since the epoch.
        headers: Its headers.
        offset_delta: Its offset minus the base offset of the batch. None means directly after the previous record. A
            larger number leaves a gap, as after compaction.
    """

    value: bytes | None = None
    key: bytes | None = None
    timestamp_ms: int = 0
    headers: Sequence[Header] = ()
    offset_delta: int | None = None


@frozen(kw_only=True)
class BatchOptions:
    """The attributes of a batch.

    Attributes:
        compression: How the records are compressed.
        leader_epoch: Epoch of the leader that appended the batch.
        producer_id: Id of the idempotent producer, or -1.
        producer_epoch: Epoch of that producer.
        base_sequence: Sequence number of the first record.
        is_transactional: Whether the batch belongs to a transaction.
        is_control: Whether its records are transaction markers.
        last_offset_delta: Last offset of the batch minus its base offset. None means the offset of the last record. A
            larger number leaves a gap at the end.
    """

    compression: Compression = Compression.NONE
    leader_epoch: int = -1
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    is_control: bool = False
    last_offset_delta: int | None = None


def build_batch(records: Iterable[NewRecord], base_offset: int = 0, options: BatchOptions | None = None) -> bytes:
    """Return one batch with the records."""
    options = options or BatchOptions()
    from aiokafka.record._crecords import DefaultRecordBatchBuilder  # noqa: PLC0415 - loads aiokafka's whole client

    builder = DefaultRecordBatchBuilder(
        _MAGIC,
        options.compression,
        options.is_transactional,
        options.producer_id,
        options.producer_epoch,
        options.base_sequence,
        _NO_LIMIT,
    )
    next_delta = 0
    for record in records:
        delta = next_delta if record.offset_delta is None else record.offset_delta
        builder.append(delta, record.timestamp_ms, record.key, record.value, list(record.headers))
        next_delta = delta + 1
    batch: bytearray = builder.build()
    rewrite(batch, base_offset=base_offset, leader_epoch=options.leader_epoch)
    _finish(batch, options)
    return bytes(batch)


def record_bytes(record: NewRecord, offset_delta: int, timestamp_delta_ms: int = 0) -> int:
    """Return the size of a record in an uncompressed batch.

    Args:
        record: The record.
        offset_delta: Its offset minus the base offset of the batch.
        timestamp_delta_ms: Its timestamp minus that of the first record.
    """
    attributes = 1
    body = attributes + varint_bytes(timestamp_delta_ms) + varint_bytes(offset_delta)
    body += sized_bytes(record.key) + sized_bytes(record.value) + varint_bytes(len(record.headers))
    body += sum(sized_bytes(name.encode()) + sized_bytes(value) for name, value in record.headers)
    return varint_bytes(body) + body


def sized_bytes(data: bytes | None) -> int:
    """Return the size of a key, a value or a part of a header with its length."""
    return 1 if data is None else varint_bytes(len(data)) + len(data)


def varint_bytes(number: int) -> int:
    """Return the size of a number in a record."""
    zigzag = (number << 1) ^ (number >> 63)
    return max(1, -(-zigzag.bit_length() // 7))


def build_control_batch(
    base_offset: int, *, is_commit: bool, producer_id: int, producer_epoch: int = 0, timestamp_ms: int = 0
) -> bytes:
    """Return the marker that ends a transaction: one offset without a record for applications."""
    marker = NewRecord(*end_marker_parts(is_commit=is_commit), timestamp_ms=timestamp_ms)
    options = BatchOptions(
        producer_id=producer_id, producer_epoch=producer_epoch, is_transactional=True, is_control=True
    )
    return build_batch([marker], base_offset, options)


def reduced_batch(header: BatchHeader, records: Sequence[DecodedRecord]) -> bytes:
    """Return a batch with some of its records only, as compaction leaves it. Without any, the header stays.

    The offsets, the sequence numbers and the producer of the batch stay as they were.
    """
    if not records:
        return header_alone(header)
    options = BatchOptions(
        compression=header.compression,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
        last_offset_delta=header.last_offset_delta,
    )
    batch = build_batch([_again(record, header) for record in records], header.base_offset, options)
    if not header.is_log_append_time:
        return batch
    timed = bytearray(batch)
    with_log_append_time(timed, header.max_timestamp_ms)
    return bytes(timed)


def _again(record: DecodedRecord, header: BatchHeader) -> NewRecord:
    timestamp_ms = _NO_TIMESTAMP if record.timestamp is None else record.timestamp
    delta = record.offset - header.base_offset
    return NewRecord(record.value, record.key, timestamp_ms, record.headers, offset_delta=delta)


def end_marker_parts(*, is_commit: bool, coordinator_epoch: int = 0) -> tuple[bytes, bytes]:
    """Return the value and the key of the record in a marker that ends a transaction."""
    value = _END_TRANSACTION_MARKER.pack(_CONTROL_VERSION, coordinator_epoch)
    return value, _CONTROL_KEY.pack(_CONTROL_VERSION, int(is_commit))


def end_marker(key: bytes | None) -> bool | None:
    """Return whether the key of a control record commits a transaction or aborts it. None: it does neither."""
    if key is None or len(key) < _CONTROL_KEY.size:
        return None
    _version, kind = _CONTROL_KEY.unpack_from(key)
    return {0: False, 1: True}.get(kind)


def coordinator_epoch_of(marker: bytes | None) -> int:
    """Return the epoch of the coordinator that wrote a marker, from its value; 0 if the value is too short."""
    if marker is None or len(marker) < _END_TRANSACTION_MARKER.size:
        return 0
    _version, epoch = _END_TRANSACTION_MARKER.unpack_from(marker)
    return int(epoch)


def _finish(batch: bytearray, options: BatchOptions) -> None:
    if options.is_control:
        attributes: int = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0]
        _ATTRIBUTES.pack_into(batch, _ATTRIBUTES_AT, attributes | _CONTROL_BIT)
    if options.last_offset_delta is not None:
        _DELTA.pack_into(batch, _LAST_OFFSET_DELTA_AT, options.last_offset_delta)
    _CRC.pack_into(batch, _CRC_AT, crc32c(memoryview(batch)[_ATTRIBUTES_AT:]))
