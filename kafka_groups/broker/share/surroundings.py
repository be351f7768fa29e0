"""What a share-partition's leader needs. `PartitionLog`, `LogStore` and `ClusterMetadata` implement this."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from kafka_groups.broker.share.acquisition import LogBatch

__all__ = ["LedPartition", "LogRead", "Logs", "OffsetFound", "Partitions", "ShareLog", "TopicOfPartitions"]


class LogRead(Protocol):
    """Whole batches from a log. `records` contains the bytes of `batches` in order."""

    @property
    def records(self) -> bytes:
        """Their bytes."""
        ...

    @property
    def batches(self) -> Sequence[LogBatch]:
        """One entry per batch."""
        ...


class OffsetFound(Protocol):
    """The result of a search by timestamp."""

    @property
    def offset(self) -> int:
        """The record's offset."""
        ...


class ShareLog(Protocol):
    """The log of a partition."""

    @property
    def log_start_offset(self) -> int:
        """Its first offset."""
        ...

    @property
    def high_watermark(self) -> int:
        """The offset after the last readable one."""
        ...

    @property
    def last_stable_offset(self) -> int:
        """The first offset of an open transaction, or the end of the log if there is none."""
        ...

    def read(self, offset: int, max_bytes: int, *, min_one: bool = True, before_offset: int | None = None) -> LogRead:
        """Return whole batches, starting at the offset. Only the first may start at `before_offset` or later."""
        ...

    def available_bytes(self, offset: int) -> int:
        """Return the size of all batches, starting with the one that contains the offset."""
        ...

    def offset_for_timestamp(self, timestamp_ms: int) -> OffsetFound | None:
        """Return the first record at or after this timestamp, or None."""
        ...


class Logs(Protocol):
    """The logs by topic id and partition."""

    def get(self, topic_id: UUID, partition: int) -> ShareLog:
        """Return the log of an existing partition."""
        ...


class LedPartition(Protocol):
    """The leader of a partition."""

    @property
    def leader_id(self) -> int:
        """Node id of its leader."""
        ...

    @property
    def leader_epoch(self) -> int:
        """The leader epoch."""
        ...


class TopicOfPartitions(Protocol):
    """A topic and its partitions. `partitions[i]` is partition i."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def partitions(self) -> Sequence[LedPartition]:
        """Its partitions."""
        ...


class Partitions(Protocol):
    """The partitions of the cluster."""

    def topic_by_id(self, topic_id: UUID) -> TopicOfPartitions | None:
        """Return the topic with that id."""
        ...
