"""Acquired records as Arrow tables that can be acknowledged."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

from attrs import define

from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.share_records import AnyRecords, ShareRecords, deliveries_of
from kafka_groups.spark.records.arrow import to_table
from kafka_groups.types import AcknowledgeType, TopicIdPartition

__all__ = ["TablePiece", "pieces_of"]

_NEEDED = ("offset", "delivery_count")


@define(eq=False, slots=False)
class TablePiece:
    """Rows of one delivery with the same delivery count.

    Attributes:
        table: The rows, in the order of their offsets, with the columns `offset` and `delivery_count` among others.
        delivery: The delivery that contained the records.
        is_renewed: Whether the consumer renews the locks of the records that it holds.
    """

    table: Any
    delivery: DeliveredRecords
    is_renewed: bool = True

    @cached_property
    def rows(self) -> int:
        """The number of records."""
        return int(self.table.num_rows)

    @cached_property
    def size_bytes(self) -> int:
        """The size of the records in Arrow format, in bytes."""
        return int(self.table.nbytes)

    @cached_property
    def delivery_count(self) -> int:
        """The delivery count of the records, including this delivery."""
        return int(self.table["delivery_count"][0].as_py())

    @property
    def partition(self) -> TopicIdPartition:
        """The partition of the records."""
        return self.delivery.topic_partition

    @cached_property
    def first_offset(self) -> int:
        """Offset of the first record."""
        return int(self.table["offset"][0].as_py())

    @cached_property
    def last_offset(self) -> int:
        """Offset of the last record."""
        return int(self.table["offset"][-1].as_py())

    @property
    def may_wait(self) -> bool:
        """True if they stay acquired while they wait."""
        return self.is_renewed and self.delivery.renewable

    def is_lost(self, now_ms: int) -> bool:
        """Return whether the acquisition locks have run out."""
        return self.delivery.lock_deadline_ms <= now_ms

    def rows_within(self, size_bytes: int) -> int:
        """Return how many of the first records fit into this size."""
        return rows_within(self.table, size_bytes)

    def split(self, rows: int) -> tuple[Self, Self]:
        """Split off the first records."""
        first, rest = self.table.slice(0, rows), self.table.slice(rows)
        return type(self)(first, self.delivery, self.is_renewed), type(self)(rest, self.delivery, self.is_renewed)

    def before(self, offset: int) -> tuple[Self | None, Self | None]:
        """Split at an offset: the records before it and the others; None if there are none."""
        rows = int((self.table["offset"].to_numpy() < offset).sum())
        if rows in (0, self.rows):
            return (self, None) if rows else (None, self)
        return self.split(rows)

    def acknowledge(self, kind: AcknowledgeType) -> None:
        """Acknowledge these records; the consumer's next commit sends it."""
        self.delivery.acknowledge_range(self.first_offset, self.last_offset, kind)


def rows_within(table: Any, size_bytes: int) -> int:
    """Return how many of a table's first rows fit into a size in bytes; 0 if the first does not."""
    low, high = 0, int(table.num_rows)
    if table.nbytes <= size_bytes:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if table.slice(0, middle).nbytes <= size_bytes else (low, middle)
    return low


def pieces_of(
    records: AnyRecords, columns: Sequence[str] | None = None, *, renewed: bool = True
) -> Iterator[TablePiece]:
    """Split the records of a poll by delivery and delivery count.

    Args:
        records: The records of one poll.
        columns: The columns to return, in addition to those that the source itself needs; None for all.
        renewed: Whether the consumer renews the locks of the records that it holds.
    """
    read = None if columns is None else tuple(dict.fromkeys((*columns, *_NEEDED)))
    for delivery in deliveries_of(records):
        table = to_table(ShareRecords([delivery]), read)
        for start, stop in _runs(table["delivery_count"].to_numpy()):
            yield TablePiece(table.slice(start, stop - start), delivery, renewed)


def _runs(counts: Any) -> Iterator[tuple[int, int]]:
    """Start and stop of each run of equal numbers."""
    if not len(counts):
        return
    changes = [0, *((counts[1:] != counts[:-1]).nonzero()[0] + 1).tolist(), len(counts)]
    yield from pairwise(changes)
