"""The batch that ends a transaction in a log."""

from kafka_groups.broker.log.entries import EndMarker
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch, end_marker_parts

__all__ = ["marker_batch"]


def marker_batch(marker: EndMarker, base_offset: int, leader_epoch: int, wall_ms: int) -> bytes:
    """Return the control batch of a marker. It has one offset."""
    parts = end_marker_parts(is_commit=marker.committed, coordinator_epoch=marker.coordinator_epoch)
    options = BatchOptions(
        leader_epoch=leader_epoch,
        producer_id=marker.producer.producer_id,
        producer_epoch=marker.producer.epoch,
        is_transactional=True,
        is_control=True,
    )
    return build_batch([NewRecord(*parts, timestamp_ms=wall_ms)], base_offset, options)
