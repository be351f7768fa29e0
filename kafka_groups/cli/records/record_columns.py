"""Records of one partition by columns, whichever client has read them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Protocol

from attrs import evolve, frozen

from kafka_groups.types import Header, RecordRow

if TYPE_CHECKING:  # help texts need no consumer
    from kafka_groups.share.delivery.columns import RecordColumns
    from kafka_groups.share.delivery.delivered import DeliveredRecords

__all__ = ["DeliveredColumns", "PrintableColumns", "ReadColumns", "UncountedDeliveriesError", "delivered_columns"]


class UncountedDeliveriesError(Exception):
    """Records that were read without a group have no delivery counts."""


class PrintableColumns(Protocol):
    """Records of one partition. Each method goes through all of them, so ask for what you need."""

    @property
    def topic(self) -> str:
        """The topic."""

    @property
    def partition(self) -> int:
        """The partition."""

    def __len__(self) -> int:
        """Return the number of records."""

    def offsets(self) -> Iterable[int]:
        """Return the offsets."""

    def keys(self) -> Iterable[bytes | None]:
        """Return the keys."""

    def values(self) -> Iterable[bytes | None]:
        """Return the values."""

    def times_ms(self) -> Iterable[int | None]:
        """Return the timestamps; None for a record without one."""

    def headers(self) -> Iterable[Sequence[Header]]:
        """Return the headers."""

    def delivery_counts(self) -> Iterable[int]:
        """Return the delivery counts.

        Raises:
            UncountedDeliveriesError: The records were read without a group.
        """


@frozen
class ReadColumns:
    """Records that were read without a group.

    Attributes:
        topic: The topic.
        partition: The partition.
        rows: The records.
    """

    topic: str
    partition: int
    rows: Sequence[RecordRow]

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, most: int | None) -> "ReadColumns":
        """Return the first of the records; None for all of them."""
        return self if most is None or most >= len(self) else evolve(self, rows=self.rows[:most])

    def before(self, end: int) -> "ReadColumns":
        """Return the records before an offset."""
        if not self.rows or self.rows[-1][0] < end:
            return self
        return evolve(self, rows=[row for row in self.rows if row[0] < end])

    def offsets(self) -> Iterable[int]:
        """Return the offsets."""
        return [row[0] for row in self.rows]

    def keys(self) -> Iterable[bytes | None]:
        """Return the keys."""
        return [row[1] for row in self.rows]

    def values(self) -> Iterable[bytes | None]:
        """Return the values."""
        return [row[2] for row in self.rows]

    def times_ms(self) -> Iterable[int | None]:
        """Return the timestamps; None for a record without one."""
        return [None if (at := row[3]) < 0 else at for row in self.rows]

    def headers(self) -> Iterable[Sequence[Header]]:
        """Return the headers."""
        return [row[4] for row in self.rows]

    def delivery_counts(self) -> Iterable[int]:
        """Raise an error: only a group counts deliveries."""
        raise UncountedDeliveriesError


class DeliveredColumns:
    """Records that a share group has delivered.

    Args:
        delivery: The records that a poll has returned of one partition.
        block: Some of them. Columns that were not read are empty.
    """

    def __init__(self, delivery: "DeliveredRecords", block: "RecordColumns") -> None:
        self._delivery = delivery
        self._block = block
        self.topic = delivery.topic
        self.partition = delivery.partition

    def __repr__(self) -> str:
        return f"<DeliveredColumns of {self.topic}-{self.partition}: {len(self)}>"

    def __len__(self) -> int:
        return self._block.size

    def offsets(self) -> Iterable[int]:
        """Return the offsets."""
        return chain.from_iterable(self._block.offsets)

    def keys(self) -> Iterable[bytes | None]:
        """Return the keys."""
        return self._block.keys

    def values(self) -> Iterable[bytes | None]:
        """Return the values."""
        return self._block.values

    def times_ms(self) -> Iterable[int | None]:
        """Return the timestamps; None for a record without one."""
        return [None if at is None or at < 0 else at for at in self._block.timestamps_ms]

    def headers(self) -> Iterable[Sequence[Header]]:
        """Return the headers."""
        block = self._block
        if not block.headers:
            return repeat((), len(self))
        found: list[list[Header]] = [[] for _ in range(len(self))]
        for row, header in zip(block.header_rows, block.headers, strict=True):
            found[row].append(header)
        return found

    def delivery_counts(self) -> Iterable[int]:
        """Return the delivery counts."""
        ranges = self._delivery.ranges
        if len(ranges) == 1:
            return repeat(ranges[0].delivery_count, len(self))
        return map(self._delivery.delivery_count, self.offsets())


def delivered_columns(delivery: "DeliveredRecords", fields: frozenset[str]) -> Iterator[DeliveredColumns]:
    """Iterate over the records of a delivery, some thousand at a time. Damaged batches are left out and rejected.

    Args:
        delivery: The records that a poll has returned of one partition.
        fields: The names of the columns that are read, besides offsets.
    """
    for batches in delivery.blocks():
        yield DeliveredColumns(delivery, delivery.columns(batches, fields))
