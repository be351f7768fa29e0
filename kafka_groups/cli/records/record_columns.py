"""Records of one partition by columns, whichever client has read them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from attrs import evolve, frozen

from kafka_groups.types import Header, RecordRow

if TYPE_CHECKING:  # help texts need no consumer
    from kafka_groups.share.delivery.delivered import DeliveredRecords
    from kafka_groups.share.delivery.records import AnyRecord

__all__ = ["DeliveredColumns", "PrintableColumns", "ReadColumns", "UncountedDeliveriesError"]


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
        return [_known_ms(row[3]) for row in self.rows]

    def headers(self) -> Iterable[Sequence[Header]]:
        """Return the headers."""
        return [row[4] for row in self.rows]

    def delivery_counts(self) -> Iterable[int]:
        """Raise an error: only a group counts deliveries."""
        raise UncountedDeliveriesError


class DeliveredColumns:
    """Records that a share group has delivered.

    Args:
        delivery: What a poll has returned of one partition.
    """

    def __init__(self, delivery: "DeliveredRecords") -> None:
        self._delivery = delivery
        self._records: list[AnyRecord] = list(delivery)
        self.topic = delivery.topic
        self.partition = delivery.partition

    def __repr__(self) -> str:
        return f"<DeliveredColumns of {self.topic}-{self.partition}: {len(self)}>"

    def __len__(self) -> int:
        return len(self._records)

    def offsets(self) -> Iterable[int]:
        """Return the offsets."""
        return [each.offset for each in self._records]

    def keys(self) -> Iterable[bytes | None]:
        """Return the keys."""
        return [each.raw_key for each in self._records]

    def values(self) -> Iterable[bytes | None]:
        """Return the values."""
        return [each.value for each in self._records]

    def times_ms(self) -> Iterable[int | None]:
        """Return the timestamps; None for a record without one."""
        return [None if (at := each.timestamp) is None else _known_ms(at) for each in self._records]

    def headers(self) -> Iterable[Sequence[Header]]:
        """Return the headers."""
        return [each.headers for each in self._records]

    def delivery_counts(self) -> Iterable[int]:
        """Return the delivery counts."""
        return [self._delivery.delivery_count(each.offset) for each in self._records]


def _known_ms(at_ms: int) -> int | None:
    """Return a timestamp; None for the number that stands for none."""
    return None if at_ms < 0 else at_ms
