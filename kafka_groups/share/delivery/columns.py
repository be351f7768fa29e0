"""The records of a delivery as columns, for building tables without an object for each record."""

from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from typing import Any, Final

from attrs import define, field

from kafka_groups.protocol.record_batch import DecodedRecord
from kafka_groups.types import Header

__all__ = ["BLOCK_RECORDS", "FIELDS", "RecordColumns"]

FIELDS: Final = frozenset({"key", "value", "timestamp", "headers"})
"""Columns that cost time for each record and are read only on request. Offsets are always read."""

BLOCK_RECORDS: Final = 8_192
"""Number of records from which a block of columns is full."""


@define(eq=False)
class RecordColumns:
    """Columns of records of one partition, filled batch by batch.

    Attributes:
        wanted: Which of `FIELDS` are read; what the other columns hold is undefined.
        size: How many records the columns hold.
        offsets: The offsets, in pieces; a piece is a range where no offset is missing.
        keys: The keys, None for null.
        values: The values, None for null.
        timestamps_ms: Milliseconds since the epoch, None where the producer gave none.
        header_rows: For each header, in order, the position of its record.
        headers: All headers, one after the other.
    """

    wanted: frozenset[str] = FIELDS
    size: int = 0
    offsets: list[Sequence[int]] = field(factory=list)
    keys: list[bytes | None] = field(factory=list)
    values: list[bytes | None] = field(factory=list)
    timestamps_ms: list[int | None] = field(factory=list)
    header_rows: list[int] = field(factory=list)
    headers: list[Header] = field(factory=list)

    def add(self, raws: Iterable[DecodedRecord], offsets: range | None) -> None:
        """Append the records of one batch. If reading them fails, the columns remain as they were.

        Args:
            raws: The records.
            offsets: Their offsets where these are known to have no gaps, or None to read them from the records.

        Raises:
            Exception: The error of iterating over the records. Nothing of this batch is appended.
        """
        sizes = [len(column) for column in self._columns()]
        noted: list[int] = []
        try:
            count = _reader_of(self.wanted)(self, raws if offsets is not None else _noting_offsets(raws, noted))
        except BaseException:  # also Ctrl-C: rows of half a batch would no longer fit their offsets
            for column, size in zip(self._columns(), sizes, strict=True):
                del column[size:]
            raise
        self.offsets.append(noted if offsets is None else offsets[:count])
        self.size += count

    def _columns(self) -> tuple[MutableSequence[Any], ...]:
        return self.keys, self.values, self.timestamps_ms, self.header_rows, self.headers


def _noting_offsets(raws: Iterable[DecodedRecord], offsets: list[int]) -> Iterator[DecodedRecord]:
    for raw in raws:
        offsets.append(raw.offset)
        yield raw


# Each reader goes over the records once and keeps none of them: the codec's objects and their lists of headers are
# what the garbage collector counts, and keeping a thousand of them takes longer than everything else. There is one
# loop for each set of columns that is often asked for, as asking for each record costs as much as reading.


def _read_nothing(_: RecordColumns, raws: Iterable[DecodedRecord]) -> int:
    count = 0
    for count, _raw in enumerate(raws, 1):  # noqa: B007 - the last number is how many there are
        pass
    return count


def _read_values(columns: RecordColumns, raws: Iterable[DecodedRecord]) -> int:
    values = [raw.value for raw in raws]
    columns.values += values
    return len(values)


def _read_payloads(columns: RecordColumns, raws: Iterable[DecodedRecord]) -> int:
    keys, values = columns.keys, columns.values
    before = len(values)
    for raw in raws:
        values.append(raw.value)
        keys.append(raw.key)
    return len(values) - before


def _read_all(columns: RecordColumns, raws: Iterable[DecodedRecord]) -> int:
    keys, values, timestamps_ms = columns.keys, columns.values, columns.timestamps_ms
    before = len(values)
    for raw in raws:
        values.append(raw.value)
        keys.append(raw.key)
        timestamps_ms.append(raw.timestamp)
        if raw.headers:
            columns.header_rows += [len(values) - 1] * len(raw.headers)
            columns.headers += raw.headers
    return len(values) - before


_READERS: Final[Sequence[tuple[frozenset[str], Callable[[RecordColumns, Iterable[DecodedRecord]], int]]]] = (
    (frozenset(), _read_nothing),
    (frozenset({"value"}), _read_values),
    (frozenset({"key", "value"}), _read_payloads),
    (FIELDS, _read_all),
)


def _reader_of(wanted: frozenset[str]) -> Callable[[RecordColumns, Iterable[DecodedRecord]], int]:
    return next(reader for fields, reader in _READERS if wanted <= fields)
