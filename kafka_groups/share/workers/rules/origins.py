"""The place where a record was first written, which names it for as long as it moves through topics."""

from typing import Self

from attrs import frozen

from kafka_groups.share.delivery.records import AnyRecord

__all__ = ["RecordOrigin"]


@frozen
class RecordOrigin:
    """The topic that a record was first read from, and its place there.

    A record that comes from a retry topic has the place at which the handler first got it. Any other record has its own
    place.

    Attributes:
        topic: The topic.
        partition: The number of the partition.
        offset: The offset in the partition.
        timestamp: Milliseconds since the epoch; None for a record without a timestamp.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None = None

    @classmethod
    def of(cls, record: AnyRecord) -> Self:
        """Return the place of a record that does not come from a retry topic."""
        return cls(record.topic, record.partition, record.offset, record.timestamp)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"
