"""The argument of `process`: the records of a poll, with methods to decide about them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from attrs import define

from kafka_groups.errors import ConfigurationError, IllegalStateError
from kafka_groups.errors.texts import counted
from kafka_groups.share.delivery.commits import CommitResult
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.records import AnyRecord, ShareRecord, delivery_of
from kafka_groups.share.delivery.share_records import AnyRecords, ShareRecords, deliveries_of
from kafka_groups.spark.records.arrow import to_table
from kafka_groups.types import AcknowledgeType

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Mask", "ShareBatch"]

Mask = Any
"""Selects records of a batch: one boolean for each row of `to_arrow()` (a pyarrow BooleanArray, a numpy array
or a sequence), or the records themselves."""


@define(eq=False)
class _Poll:
    """The records of one poll and the decisions about them, shared by all batches that are parts of it."""

    records: AnyRecords
    renew: Callable[[AnyRecords], CommitResult] | None
    is_over: bool = False
    _table: Any = None
    _items: list[AnyRecord] | None = None
    _offsets: Any = None

    @property
    def table(self) -> Any:
        if self._table is None:
            self._table = to_table(self.records)
        return self._table

    @property
    def items(self) -> list[AnyRecord]:
        if self._items is None:
            self._items = list(self.records)
        return self._items

    @property
    def offsets(self) -> list[Any]:
        """The offsets of each delivery, in the order of the rows."""
        if self._offsets is None:
            parts = (to_table(ShareRecords([part]), ["offset"]) for part in deliveries_of(self.records))
            self._offsets = [part.column("offset").to_numpy() for part in parts]
        return list(self._offsets)

    def acknowledge(self, rows: Any, kind: AcknowledgeType) -> int:
        """Acknowledge the records at these rows locally, replacing earlier decisions. Returns how many were in hand."""
        return sum(delivery.acknowledge_range(first, last, kind) for delivery, first, last in self._runs(rows))

    def accept_open(self, rows: Any) -> None:
        """Accept the records at these rows that have no decision yet."""
        for delivery, first, last in self._runs(rows):
            delivery.mark_open(first, last, AcknowledgeType.ACCEPT)

    def reopen(self, rows: Any) -> None:
        """Undo the decisions about the records at these rows that were not sent yet."""
        for delivery, first, last in self._runs(rows):
            delivery.reopen_range(first, last)

    def _runs(self, rows: Any) -> Iterator[tuple[DeliveredRecords, int, int]]:
        """Yield the runs of consecutive offsets in these ascending rows: delivery, first and last offset."""
        before = 0
        for delivery, offsets in zip(deliveries_of(self.records), self.offsets, strict=True):
            start, end = np.searchsorted(rows, (before, before + len(offsets)))
            for first, last in _runs_of(offsets[rows[start:end] - before]):
                yield delivery, first, last
            before += len(offsets)

    def rows_of(self, records: Sequence[AnyRecord]) -> Any:
        wanted = {(delivery_of(record).topic_partition, record.offset) for record in records}
        firsts = np.cumsum([0, *map(len, self.offsets)])
        rows = [
            first + position
            for delivery, offsets, first in zip(deliveries_of(self.records), self.offsets, firsts, strict=False)
            for position, offset in enumerate(offsets.tolist())
            if (delivery.topic_partition, offset) in wanted
        ]
        if len(rows) < len(wanted):
            raise IllegalStateError(f"{len(wanted) - len(rows)} of the records are not of this batch")
        return np.array(rows, np.intp)


def _runs_of(offsets: Any) -> Iterator[tuple[int, int]]:
    if len(offsets):
        ends = np.flatnonzero(np.diff(offsets) != 1) + 1
        for start, end in pairwise((0, *ends.tolist(), len(offsets))):
            yield int(offsets[start]), int(offsets[end - 1])


class ShareBatch:
    """Records that this worker has acquired, locked until `deadline`.

    When `process` returns, the records that it did not reject or release are accepted. `len(batch)` is the number of
    records, and iterating gives a `ShareRecord` for each.

    Args:
        records: The records of one poll.
        renew: Renews the locks of records in hand.

    Attributes:
        records: All records of the poll; a batch may be a part of them (see `to_arrow`).
    """

    def __init__(self, records: AnyRecords, renew: Callable[[AnyRecords], CommitResult] | None = None) -> None:
        self._poll = _Poll(records, renew)
        self._rows: Any = None

    def __repr__(self) -> str:
        return f"<ShareBatch {len(self)} of {self._poll.records!r}>"

    def __len__(self) -> int:
        return len(self._poll.records) if self._rows is None else len(self._rows)

    def __iter__(self) -> Iterator[AnyRecord]:
        if self._rows is None:
            return iter(self._poll.records)
        items = self._poll.items
        return (items[row] for row in self._rows.tolist())

    # ------------------------------------------------------------------------------------- the records

    @property
    def records(self) -> AnyRecords:
        """All records of the poll, even if this batch is only a part of them."""
        return self._poll.records

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the records as a table with one row per record. The table is decoded once and kept.

        Args:
            columns: Names of the columns, None for all of `RECORD_SCHEMA`. Other columns are not read.

        Raises:
            ConfigurationError: A column is unknown.
        """
        if columns is not None and self._rows is None:
            return to_table(self._poll.records, columns)
        table = self._poll.table
        if self._rows is not None:
            table = _taken(table, self._rows)
        return table if columns is None else table.select(list(columns))

    def to_pandas(self, columns: Sequence[str] | None = None) -> "pd.DataFrame":
        """Return the records as a pandas DataFrame with the columns of `to_arrow`."""
        frame: pd.DataFrame = self.to_arrow(columns).to_pandas()
        return frame

    @property
    def delivery_counts(self) -> Any:
        """The delivery count of each record, including this delivery: a numpy array in the order of `to_arrow`."""
        counts = to_table(self._poll.records, ["delivery_count"]).column(0).to_numpy()
        return counts if self._rows is None else counts[self._rows]

    @property
    def max_delivery_count(self) -> int:
        """The highest delivery count; 0 if there are no records."""
        if self._rows is not None:
            return int(self.delivery_counts.max(initial=0))
        return max((part.max_delivery_count for part in deliveries_of(self._poll.records)), default=0)

    # ------------------------------------------------------------------------------------- acknowledging

    def reject(self, mask: Mask = None) -> int:
        """Reject records: they are never redelivered.

        Args:
            mask: The records, as a `Mask`; None means all.

        Returns:
            The number of rejected records.

        Raises:
            ConfigurationError: The mask is not of this batch.
            IllegalStateError: `process` has returned.
        """
        return self._decide(mask, AcknowledgeType.REJECT)

    def release(self, mask: Mask = None) -> int:
        """Release records: they are redelivered, to this worker or another.

        Args:
            mask: The records, as a `Mask`; None means all.

        Returns:
            The number of released records.

        Raises:
            ConfigurationError: The mask is not of this batch.
            IllegalStateError: `process` has returned.
        """
        return self._decide(mask, AcknowledgeType.RELEASE)

    def _decide(self, mask: Mask, kind: AcknowledgeType) -> int:
        self._check_open()
        if mask is None and self._rows is None:
            deliveries = deliveries_of(self._poll.records)
            return sum(d.acknowledge_range(d.first_offset, d.last_offset, kind) for d in deliveries)
        return self._poll.acknowledge(self._rows_in(mask), kind)

    def _rows_in(self, mask: Mask) -> Any:
        records = _records_in(mask)
        if records is not None:
            return self._poll.rows_of(records)
        size = len(self)
        chosen = np.ones(size, np.bool_) if mask is None else _booleans(mask, size)
        positions = np.flatnonzero(chosen)
        return positions if self._rows is None else self._rows[positions]

    def _check_open(self) -> None:
        if self._poll.is_over:
            raise IllegalStateError("process() has returned, and its records are acknowledged: decide within it")

    # -------------------------------------------------------------------------------------- the locks

    @property
    def deadline_ms(self) -> int:
        """The time when the first lock expires unless it is renewed, in milliseconds of the monotonic clock."""
        return min((part.lock_deadline_ms for part in deliveries_of(self._poll.records)), default=0)

    @property
    def deadline(self) -> float:
        """The time when the first lock expires unless it is renewed, in seconds of `time.monotonic()`."""
        return self.deadline_ms / 1000

    def renew(self) -> bool:
        """Extend the locks of the records that have no decision yet.

        Workers do this automatically after half of the lock duration. Blocks until the brokers have answered. You keep
        the records, and they are not redelivered.

        Returns:
            Whether all locks were extended. If not, some records will also be delivered to other consumers.

        Raises:
            IllegalStateError: `process` has returned.
        """
        self._check_open()
        if self._poll.renew is None:
            return True
        return not any(self._poll.renew(self._poll.records).values())

    # ----------------------------------------------------------------------------- for the worker's side

    def part(self, rows: Any) -> "ShareBatch":
        """Return a batch of some of the records.

        Args:
            rows: Positions in `to_arrow()`, in ascending order.
        """
        part = ShareBatch.__new__(ShareBatch)
        rows = np.asarray(rows, np.intp)
        part._poll, part._rows = self._poll, rows if self._rows is None else self._rows[rows]
        return part

    def again(self, most: int | None = None) -> "ShareBatch":
        """Return the first records as a new batch, whatever was decided about them, so that they can be tried again."""
        # A new poll object: decisions about this one may be final, and the records are to be processed once more.
        batch = ShareBatch(self._poll.records, self._poll.renew)
        batch._rows = (np.arange(len(self)) if self._rows is None else self._rows)[:most]
        return batch

    def accept_open(self) -> None:
        """Accept the records that have no decision yet."""
        if self._rows is not None:
            self._poll.accept_open(self._rows)
            return
        for delivery in deliveries_of(self._poll.records):
            delivery.mark_open(delivery.first_offset, delivery.last_offset, AcknowledgeType.ACCEPT)

    def reopen(self) -> None:
        """Undo what `process` decided before it raised."""
        if self._rows is not None:
            self._poll.reopen(self._rows)
            return
        for delivery in deliveries_of(self._poll.records):
            delivery.reopen_range(delivery.first_offset, delivery.last_offset)

    def decide(self, kind: AcknowledgeType, rows: Sequence[int] | None = None) -> None:
        """Release or reject the records at these rows, all if None, whatever was decided before."""
        if rows is None:
            self._decide(None, kind)
            return
        self._check_open()
        positions = np.asarray(rows, np.intp)
        self._poll.acknowledge(positions if self._rows is None else self._rows[positions], kind)

    def rejected_rows(self) -> list[int]:
        """Return the rows of the records that were rejected."""
        deliveries = deliveries_of(self._poll.records)
        # The common case: nothing was rejected, which the counts show without looking at each record.
        if not any(delivery.marks.count(AcknowledgeType.REJECT) for delivery in deliveries):
            return []
        return [row for row, record in enumerate(self) if _is_rejected(record)]

    def counts_by_row(self) -> list[int]:
        """Return the delivery count of each row as a list."""
        counts: list[int] = self.delivery_counts.tolist()
        return counts

    @property
    def fixed_deadline_ms(self) -> int | None:
        """The time when the first lock of the poll expires that cannot be renewed; None if all can be renewed."""
        deliveries = deliveries_of(self._poll.records)
        return min((part.lock_deadline_ms for part in deliveries if not part.renewable), default=None)

    def end(self) -> None:
        """Make the decisions final. The records can still be read."""
        self._poll.is_over = True


def _is_rejected(record: AnyRecord) -> bool:
    delivery = delivery_of(record)
    return delivery.marks[record.offset - delivery.first_offset] == AcknowledgeType.REJECT


def _taken(table: Any, rows: Any) -> Any:
    # Neighbouring rows are a slice, which copies nothing.
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return table.slice(int(rows[0]), len(rows))
    return table.take(pa.array(rows))


def _records_in(mask: Mask) -> list[AnyRecord] | None:
    if isinstance(mask, ShareRecord):
        return [mask]
    if isinstance(mask, ShareRecords):
        return list(mask)
    if isinstance(mask, list | tuple | set | frozenset) and mask and all(isinstance(x, ShareRecord) for x in mask):
        return list(mask)
    return None


def _booleans(mask: Mask, size: int) -> Any:
    if isinstance(mask, pa.Array | pa.ChunkedArray):
        mask = (
            mask.fill_null(fill_value=False).to_numpy(zero_copy_only=False) if pa.types.is_boolean(mask.type) else mask
        )
    chosen = np.asarray(mask)
    if chosen.ndim != 1 or (chosen.dtype != np.bool_ and chosen.size):
        raise ConfigurationError(
            f"mask={type(mask).__name__} of {chosen.dtype}: give one boolean for each row of to_arrow(), or records"
        )
    if len(chosen) != size:
        raise ConfigurationError(
            f"mask has {counted(len(chosen), 'value')}, but the batch has {counted(size, 'record')}: give one for each"
        )
    return chosen.astype(np.bool_)
