"""Rows that have a time, in segments: a table of the engine for each span of time."""

import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from heapq import merge
from itertools import chain, islice
from typing import Final

from kafka_groups.streams.state.engine import Changes, EngineReader, KeyedBytes, Table
from kafka_groups.streams.state.layered import LayeredTable

__all__ = ["MAX_MS", "SegmentedTable", "Segments", "segment_ms"]

MAX_MS: Final = 2**63 - 1
SHORTEST_MS = 60_000
"""The shortest span of time of a segment."""
_TIME = struct.Struct(">q")

Rows = Mapping[bytes, bytes | None]


def segment_ms(retention_ms: int) -> int:
    """Return the span of time of a segment: half of the retention, and a minute at least, as in Java."""
    return max(retention_ms // 2, SHORTEST_MS)


class Segments:
    """The committed rows of a store by their times.

    What has expired goes with its table, as in Java's stores on disk (`AbstractSegments`), so that nobody looks for
    single rows.

    Args:
        engine: Has the tables.
        name: The store's name. Its tables have it, and the number of their segment.
        retention_ms: How long rows are kept.
        place_bytes: The length of what follows the key in a row, beginning with the time (int64).
    """

    def __init__(self, engine: EngineReader, name: str, retention_ms: int, place_bytes: int) -> None:
        self.place_bytes = place_bytes
        self._engine = engine
        self._prefix = f"{name}@"
        self._segment_ms = segment_ms(retention_ms)
        numbers = sorted(int(each.removeprefix(self._prefix)) for each in engine.tables(self._prefix))
        self._tables: dict[int, Table] = {number: engine.table(self._name(number)) for number in numbers}

    def time_in(self, row: bytes) -> int:
        """Return the time of a row."""
        time_ms: int = _TIME.unpack_from(row, len(row) - self.place_bytes)[0]
        return time_ms

    def get(self, row: bytes) -> bytes | None:
        """Return the value of a row, or None."""
        return self.value_at(self.time_in(row), row)

    def value_at(self, time_ms: int, row: bytes) -> bytes | None:
        """Return the value of a row that has this time, or None."""
        table = self._tables.get(time_ms // self._segment_ms)
        return None if table is None else table.get(row)

    def scan(self, low: bytes, high: bytes | None, *, reverse: bool = False) -> Iterator[KeyedBytes]:
        """Iterate over the pairs with `low` <= row < `high` in the order of rows. None: to the last row."""
        found = [table.scan(low, high, reverse=reverse) for table in self._tables.values()]
        return found[0] if len(found) == 1 else merge(*found, reverse=reverse)

    def of_key(self, key: bytes, low: bytes, high: bytes, first_ms: int, last_ms: int) -> list[KeyedBytes]:
        """Return a key's pairs of these times with `low` <= row < `high`, in this order. Others may be among them.

        Args:
            key: The key.
            low: The first row.
            high: The first row behind them.
            first_ms: The first time.
            last_ms: The last one.
        """
        first, last = first_ms // self._segment_ms, last_ms // self._segment_ms
        found = [list(table.scan(low, high)) for number, table in self._tables.items() if first <= number <= last]
        if len(found) == 1:
            return found[0]
        # The rows of one key are in the order of segments. What follows a key has a fixed length, so that the length of
        # a row and its beginning tell whose it is.
        length = len(key) + self.place_bytes
        return [each for rows in found for each in rows if len(each[0]) == length and each[0].startswith(key)]

    def scan_key(
        self, key: bytes, low: bytes, high: bytes | None, first_ms: int, last_ms: int, *, reverse: bool
    ) -> Iterator[KeyedBytes]:
        """Iterate over a key's pairs of these times with `low` <= row < `high`, in the order of rows.

        Both bounds begin with the key.
        """
        length = len(key) + self.place_bytes
        for number in self._numbers(first_ms, last_ms, reverse=reverse):
            for row, stored in self._tables[number].scan(low, high, reverse=reverse):
                # Rows of longer keys may lie between those of a key. As both bounds begin with it, the length tells.
                if len(row) == length:
                    yield row, stored

    def order_by_time(
        self, first_ms: int, last_ms: int, after: bytes | None, least: int, most: int, *, reverse: bool
    ) -> tuple[list[bytes], bool]:
        """Return the first rows of these times, both included, in the order of time and row, without their values.

        The tables are in another order, so that each of them is read from its beginning to its end.

        Args:
            first_ms: The first time.
            last_ms: The last one.
            after: The row after which they begin; before which, if the order is reversed.
            least: Where so many rows are found, no other table is read.
            most: The most rows.
            reverse: Whether the order is reversed.

        Returns:
            The rows, and whether there may be more.
        """
        found: list[bytes] = []
        if after is not None:
            # The rest of one time needs no order by time.
            time_ms = self.time_in(after)
            if time_ms >= first_ms:  # otherwise it has expired since
                found = self._of_time(time_ms, after, most, reverse=reverse)
            first_ms, last_ms = (
                (first_ms, min(last_ms, time_ms - 1)) if reverse else (max(first_ms, time_ms + 1), last_ms)
            )
        for number in self._numbers(first_ms, last_ms, reverse=reverse):
            if len(found) >= least:
                return found, True
            found += self._first_of(number, first_ms, last_ms, most - len(found), reverse=reverse)
        return found, len(found) >= most

    def _numbers(self, first_ms: int, last_ms: int, *, reverse: bool) -> list[int]:
        first, last = first_ms // self._segment_ms, last_ms // self._segment_ms
        return sorted((number for number in self._tables if first <= number <= last), reverse=reverse)

    def _of_time(self, time_ms: int, after: bytes, most: int, *, reverse: bool) -> list[bytes]:
        table = self._tables.get(time_ms // self._segment_ms)
        if table is None:
            return []
        rows = table.scan(b"", after, reverse=True) if reverse else table.scan(after + b"\0", None)
        packed, begin, end = _TIME.pack(time_ms), *self._time_bytes
        return list(islice((row for row, _ in rows if row[begin:end] == packed), most))

    def _first_of(self, number: int, first_ms: int, last_ms: int, most: int, *, reverse: bool) -> list[bytes]:
        """Return the first rows of a segment in the order of time and row."""
        table, begin, end = self._tables[number], *self._time_bytes
        first, last = _TIME.pack(first_ms), _TIME.pack(last_ms)
        # The rows are counted by their times first, so that no more than those of the first times are kept.
        counts = Counter([row[begin:end] for row, _ in table.scan(b"", None)])
        of_times: dict[bytes, list[bytes]] = {}
        count = 0
        for time in sorted((each for each in counts if first <= each <= last), reverse=reverse):
            of_times[time] = []
            count += counts[time]
            if count >= most:
                break
        for row, _ in table.scan(b"", None, reverse=reverse):
            rows = of_times.get(row[begin:end])
            if rows is not None and len(rows) < most:
                rows.append(row)
        return list(islice(chain.from_iterable(of_times.values()), most))

    @property
    def _time_bytes(self) -> tuple[int, int | None]:
        """The place of the time in a row, as bytes that are in the order of times."""
        return -self.place_bytes, _TIME.size - self.place_bytes or None

    def by_number(self, changed: Rows, first_ms: int, last_ms: int) -> Iterator[Rows]:
        """Iterate over the rows of each segment that may have these times, in the order of segments.

        Args:
            changed: Rows that were changed, which replace those of the tables.
            first_ms: The first time.
            last_ms: The last one.
        """
        split = self._split(changed)
        first, last = first_ms // self._segment_ms, last_ms // self._segment_ms
        for number in sorted({*self._tables, *split}):
            if first <= number <= last:
                table = self._tables.get(number)
                committed: Rows = {} if table is None else dict(table.scan(b"", None))
                yield {**committed, **split.get(number, {})}

    def changes(self, rows: Rows, oldest_ms: int, first_ms: int = 0, last_ms: int = MAX_MS) -> Changes:
        """Return changed rows by table, to be committed. Tables that have expired are deleted, and lose their rows.

        Args:
            rows: The rows.
            oldest_ms: The earliest time of a row that has not expired.
            first_ms: The earliest time of these rows, or an earlier one.
            last_ms: Their last time, or a later one.
        """
        first = oldest_ms // self._segment_ms
        expired = [number for number in self._tables if number < first]
        for number in expired:
            del self._tables[number]
        # Most often the rows are of one segment, and need not be looked at.
        number = first_ms // self._segment_ms
        changed = {number: rows} if rows and number == last_ms // self._segment_ms else self._split(rows)
        split = {number: found for number, found in changed.items() if number >= first}
        if new := split.keys() - self._tables.keys():
            opened = {number: self._engine.table(self._name(number)) for number in new}
            self._tables = dict(sorted({**self._tables, **opened}.items()))
        return {**dict.fromkeys(map(self._name, expired)), **{self._name(at): found for at, found in split.items()}}

    def _split(self, rows: Rows) -> Mapping[int, Rows]:
        split: dict[int, dict[bytes, bytes | None]] = {}
        unpack, place_bytes, segment_ms = _TIME.unpack_from, self.place_bytes, self._segment_ms
        for row, stored in rows.items():
            split.setdefault(unpack(row, len(row) - place_bytes)[0] // segment_ms, {})[row] = stored
        return split

    def _name(self, number: int) -> str:
        return f"{self._prefix}{number}"


class SegmentedTable(LayeredTable):
    """The rows of a store with their uncommitted changes.

    Args:
        segments: The committed rows.
    """

    def __init__(self, segments: Segments) -> None:
        super().__init__(segments)
        self.segments = segments

    def of_key(self, key: bytes, low: bytes, high: bytes, first_ms: int, last_ms: int) -> list[KeyedBytes]:
        """Return a key's pairs of these times with `low` <= row < `high`, in this order. Others may be among them."""
        return self._with_changes(self.segments.of_key(key, low, high, first_ms, last_ms), low, high)

    def by_time(self, first_ms: int, last_ms: int) -> Iterator[KeyedBytes]:
        """Iterate over the rows of these times, both included, in the order of time, key and the rest of the row."""
        time_in, place_bytes = self.segments.time_in, self.segments.place_bytes
        for rows in self.segments.by_number(self.changes, first_ms, last_ms):
            timed = [
                (time_in(row), row[:-place_bytes], row, stored) for row, stored in rows.items() if stored is not None
            ]
            for time_ms, _, row, stored in sorted(timed):
                if first_ms <= time_ms <= last_ms:
                    yield row, stored
