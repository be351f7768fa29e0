"""Reads the records whose keys and values dead letters copy (`errors.deadletterqueue.copy.record.enable`)."""

from collections.abc import Iterator

from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.share_partitions.dead_letters import RecordCopy
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.record_batch import BatchHeader, DecodedRecord, RecordBatch, iter_batches
from kafka_groups.protocol.record_builder import NewRecord, record_bytes

__all__ = ["record_copies"]


def record_copies(log: PartitionLog, first: int, last: int, max_bytes: int) -> dict[int, RecordCopy]:
    """Return the records between two offsets that letters can copy, by offset, up to about twice `max_bytes`.

    Records that are too large for a letter are left out. So are all if the log has lost the first one.

    Args:
        log: The log.
        first: The first offset.
        last: The last offset.
        max_bytes: The largest record, and the largest batch after its decompression, that is copied.
    """
    # The read fails as a whole, and nothing after this offset is looked at (OFFSET_OUT_OF_RANGE in
    # ShareGroupDLQRecordFetcher.collect in Kafka).
    if first < log.log_start_offset:
        return {}
    copies: dict[int, RecordCopy] = {}
    copied_bytes = 0
    for batch in _batches(log, first, last):
        for offset, copy in _copies_of(batch, max_bytes):
            if first <= offset <= last:
                copies[offset] = copy
                copied_bytes += copy.size_bytes
        if copied_bytes > max_bytes:
            break  # one batch of letters cannot have more
    return copies


def _batches(log: PartitionLog, first: int, last: int) -> Iterator[RecordBatch]:
    for stored in log.batches(first, last + 1):
        yield from iter_batches(stored.data)


def _copies_of(batch: RecordBatch, max_bytes: int) -> list[tuple[int, RecordCopy]]:
    copies = [(record.offset, _copy(record, batch.header)) for record in batch.records()]
    # A compressed batch is decompressed as a whole or not at all; otherwise each record counts by itself
    # (ShareGroupDLQRecordFetcher.decompressBounded and collectUncompressed in Kafka).
    if batch.header.compression is not Compression.NONE:
        return copies if sum(copy.size_bytes for _, copy in copies) <= max_bytes else []
    return [(offset, copy) for offset, copy in copies if copy.size_bytes <= max_bytes]


def _copy(record: DecodedRecord, header: BatchHeader) -> RecordCopy:
    as_written = NewRecord(record.value, record.key, headers=record.headers)
    timestamp_delta_ms = (record.timestamp or 0) - header.first_timestamp_ms
    size_bytes = record_bytes(as_written, record.offset - header.base_offset, timestamp_delta_ms)
    return RecordCopy(record.key, record.value, size_bytes)
