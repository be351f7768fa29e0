"""The records that readers see in a log: no markers, and with `read_committed` none of open or aborted transactions."""

from collections.abc import Iterator

from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.protocol.record_batch import DecodedRecord, iter_batches

__all__ = ["visible_offsets", "visible_records"]


def visible_offsets(log: PartitionLog, start: int, *, is_committed_only: bool) -> Iterator[int]:
    """Yield the offsets of records from a start on."""
    for first_offset, last_offset, _data in _batches(log, start, is_committed_only=is_committed_only):
        yield from range(max(first_offset, start), last_offset + 1)


def visible_records(log: PartitionLog, start: int = 0) -> Iterator[DecodedRecord]:
    """Yield the committed records from a start on."""
    for _first, _last, data in _batches(log, max(start, log.log_start_offset), is_committed_only=True):
        for batch in iter_batches(data):
            yield from (record for record in batch.records() if record.offset >= start)


def _batches(log: PartitionLog, start: int, *, is_committed_only: bool) -> Iterator[tuple[int, int, bytes]]:
    """Yield the first and the last offset of each batch, and its bytes."""
    if start >= log.end_offset:
        return
    end_offset = log.last_stable_offset if is_committed_only else log.high_watermark
    aborted = tuple(log.aborted_between(start, log.end_offset)) if is_committed_only else ()
    for stored in log.batches(start, end_offset):
        batch = stored.info
        is_aborted = batch.is_transactional and any(
            each.producer_id == batch.producer_id and each.first_offset <= batch.base_offset < each.last_offset
            for each in aborted
        )
        if batch.last_offset < end_offset and not (batch.is_control or is_aborted):
            yield batch.base_offset, batch.last_offset, stored.data
