"""The record that stores a committed offset: type 1 of `__consumer_offsets`, and type 0, its oldest format."""

from attrs import frozen

from kafka_groups.protocol.coordinator_records.offsets import OffsetCommitValue

__all__ = ["OffsetCommitted"]


@frozen
class OffsetCommitted:
    """A group's offset for a partition."""

    group_id: str
    topic: str
    partition: int
    value: OffsetCommitValue | None
