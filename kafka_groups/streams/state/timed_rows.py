"""Rows that have a time and expire: those of window and session stores."""

import struct
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any, ClassVar

from kafka_groups.serdes import Serde
from kafka_groups.streams.state.engine import KeyedBytes
from kafka_groups.streams.state.formats import ValueFormat
from kafka_groups.streams.state.rows import StoreRows
from kafka_groups.streams.state.store import ChangelogRecord, StoreSurroundings
from kafka_groups.types import Headers

__all__ = ["MAX_MS", "TimedRows"]

MAX_MS = 2**63 - 1
_TIME = struct.Struct(">q")


class TimedRows(StoreRows):
    """Rows that expire by their own time: a row is gone when the highest time that was put is `retention_ms` later.

    A row's key is the key, its time (int64) and more of a fixed length.

    Reads leave out what has expired. A commit removes it, without changelog records: the topic's retention does the
    same there.

    Attributes:
        oldest_ms: The lowest time of a row that has not expired.
        place_bytes: The length of what follows the key in a row's key, beginning with the time.
    """

    place_bytes: ClassVar[int]

    def __init__(
        self,
        name: str,
        value: Serde[Any],
        layout: ValueFormat,
        surroundings: StoreSurroundings,
        *,
        caching: bool,
        retention_ms: int,
    ) -> None:
        super().__init__(name, value, layout, surroundings, caching=caching)
        self._retention_ms = retention_ms
        self.oldest_ms = -retention_ms
        self._rows_at: dict[int, set[bytes]] = {}  # may have rows that were deleted since
        self._ordered_times: list[int] = []
        for row, _ in self._table.scan():
            self._note(row)

    def time_in(self, row: bytes) -> int:
        """Return the time of a row."""
        time_ms: int = _TIME.unpack_from(row, len(row) - self.place_bytes)[0]
        return time_ms

    def stored(self, key: bytes) -> bytes | None:
        """Return the bytes that the store has for a row, or None if there are none or they have expired."""
        time_ms = _TIME.unpack_from(key, len(key) - self.place_bytes)[0]
        return self._table.get(key) if time_ms >= self.oldest_ms else None

    def put(self, key: bytes, value: Any, timestamp_ms: int, headers: Headers = ()) -> None:
        """Set the value of a row. None deletes it. If it has expired, only the changelog gets it."""
        super().put(key, value, timestamp_ms, headers)
        self._note(key)

    def commit(self) -> None:
        """Move the changes into the committed state, and remove what has expired."""
        super().commit()
        times = self._ordered_times
        if times and times[0] < self.oldest_ms - 1:
            self._remove_expired()

    def restore(self, record: ChangelogRecord) -> None:
        """Apply one record of the changelog to the committed state, and remove what has expired."""
        super().restore(record)
        self._note(record.key)
        self._remove_expired()

    def scan_times(self, first_ms: int, last_ms: int) -> Iterator[KeyedBytes]:
        """Iterate over the rows with times from `first_ms` to `last_ms`, both included, in order of time and key."""
        times = self._ordered_times
        for time_ms in times[bisect_left(times, first_ms) : bisect_right(times, last_ms)]:
            for row in sorted(self._rows_at[time_ms], key=self._order):
                stored = self._table.get(row)
                if stored is not None:
                    yield row, stored

    def _remove_expired(self) -> None:
        # A millisecond later than reads leave them out, as sessions are emitted on close just after their retention.
        oldest_ms, times = self.oldest_ms - 1, self._ordered_times
        if times and times[0] < oldest_ms:
            expired = {row: None for rows in self._forget_before(oldest_ms) for row in rows}
            self._engine.commit({self.name: expired})

    def _order(self, row: bytes) -> KeyedBytes:
        return row[: -self.place_bytes], row[-self.place_bytes :]

    def _note(self, row: bytes) -> None:
        time_ms = _TIME.unpack_from(row, len(row) - self.place_bytes)[0]
        self.oldest_ms = max(self.oldest_ms, time_ms - self._retention_ms + 1)
        rows = self._rows_at.get(time_ms)
        if rows is None:
            rows = self._rows_at[time_ms] = set()
            insort(self._ordered_times, time_ms)
        rows.add(row)

    def _forget_before(self, oldest_ms: int) -> list[set[bytes]]:
        times = self._ordered_times
        end = bisect_left(times, oldest_ms)
        gone, self._ordered_times = times[:end], times[end:]
        return [self._rows_at.pop(time_ms) for time_ms in gone]
