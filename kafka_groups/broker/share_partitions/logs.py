"""The logs as share-partitions use them. `PartitionLog` and `LogStore` implement these protocols."""

from collections.abc import Iterator, Sequence
from typing import Protocol
from uuid import UUID

__all__ = ["AbortedRecords", "LogBatch", "LogRead", "Logs", "OffsetFound", "ShareLog"]


class AbortedRecords(Protocol):
    """An aborted transaction: the records of one producer between two offsets."""

    @property
    def producer_id(self) -> int:
        """The producer."""
        ...

    @property
    def first_offset(self) -> int:
        """The first offset of the transaction."""
        ...

    @property
    def last_offset(self) -> int:
        """The offset of the marker."""
        ...


class LogBatch(Protocol):
    """The parts of a log batch that delivery needs."""

    @property
    def base_offset(self) -> int:
        """The first offset."""
        ...

    @property
    def last_offset(self) -> int:
        """The last offset."""
        ...

    @property
    def size_bytes(self) -> int:
        """Size of the whole batch."""
        ...

    @property
    def producer_id(self) -> int:
        """The producer, or -1."""
        ...

    @property
    def is_transactional(self) -> bool:
        """True if it belongs to a transaction."""
        ...

    @property
    def is_control(self) -> bool:
        """True if it is a marker."""
        ...


class LogRead(Protocol):
    """Whole batches from a log. `records` contains the bytes of `batches` in order."""

    @property
    def records(self) -> bytes:
        """The bytes of the batches."""
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
        """The first offset."""
        ...

    @property
    def high_watermark(self) -> int:
        """The offset after the last readable one."""
        ...

    @property
    def last_stable_offset(self) -> int:
        """The first offset of an open transaction, or the end of the log if there is none."""
        ...

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        min_one: bool = True,
        before_offset: int | None = None,
        is_stable: bool = False,
    ) -> LogRead:
        """Return whole batches, starting at the offset. Only the first may start at `before_offset` or later.

        With `is_stable`, all of them are before the last stable offset.
        """
        ...

    def available_bytes(self, offset: int, *, is_stable: bool = False) -> int:
        """Return the size of all batches, or of those before the last stable offset, from the offset's batch on."""
        ...

    def aborted_between(self, offset: int, end_offset: int) -> Iterator[AbortedRecords]:
        """Return the aborted transactions with records from one to before another offset."""
        ...

    def offset_for_timestamp(self, timestamp_ms: int) -> OffsetFound | None:
        """Return the first record at or after this timestamp, or None."""
        ...


class Logs(Protocol):
    """The logs by topic id and partition."""

    def get(self, topic_id: UUID, partition: int) -> ShareLog:
        """Return the log of an existing partition."""
        ...
