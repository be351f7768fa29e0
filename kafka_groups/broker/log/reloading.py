"""The producers and transactions of a log, read from its batches."""

from collections.abc import Iterable

from kafka_groups.broker.log.entries import EndMarker, Producer
from kafka_groups.broker.log.producers import ProducerStates
from kafka_groups.broker.log.segment import StoredBatch
from kafka_groups.protocol.record_batch import BatchHeader, RecordBatch, iter_batches
from kafka_groups.protocol.record_builder import coordinator_epoch_of, end_marker

__all__ = ["producers_of"]


def producers_of(batches: Iterable[StoredBatch], end_offset: int, wall_ms: int) -> ProducerStates:
    """Return what a leader knows of producers if it only has these batches.

    Args:
        batches: The batches of a log.
        end_offset: The end of the log.
        wall_ms: The time. It counts as the time of the last append of each producer.
    """
    states = ProducerStates()
    for stored in batches:
        for batch in iter_batches(stored.data):
            header = batch.header
            if not header.is_control:
                states.appended(header, header.base_offset, stored.info.max_timestamp_ms, wall_ms)
            elif (marker := _marker(batch, header)) is not None:
                states.ended(marker, header.base_offset, end_offset, wall_ms)
    return states


def _marker(batch: RecordBatch, header: BatchHeader) -> EndMarker | None:
    """Return the marker in a control batch, or None if compaction has removed it, or if it ends no transaction."""
    record = next(iter(batch.records()), None)
    committed = None if record is None else end_marker(record.key)
    if record is None or committed is None:
        return None
    producer = Producer(header.producer_id, header.producer_epoch)
    return EndMarker(producer, committed, coordinator_epoch_of(record.value))
