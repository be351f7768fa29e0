"""Rows that have a time and expire: those of window and session stores."""

import struct
from collections.abc import Iterator
from typing import Any, ClassVar

from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.serdes import Serde
from kafka_groups.streams.state.engine import Changes, EngineReader, KeyedBytes, Notes
from kafka_groups.streams.state.formats import ValueFormat
from kafka_groups.streams.state.rows import StoreRows
from kafka_groups.streams.state.segments import MAX_MS, SegmentedTable, Segments
from kafka_groups.streams.state.state_store import StoreSurroundings
from kafka_groups.streams.state.time_index import TimeIndex
from kafka_groups.types import Headers

__all__ = ["MAX_MS", "TimedRows", "oldest_kept"]

EXPIRED = "its row in the store has expired"
_TIME = struct.Struct(">q")
_NO_TIMES = (MAX_MS, -1)
"""The first and the last time of no rows."""


def _note_of(name: str) -> str:
    return f"{name}#time"


def oldest_kept(engine: EngineReader, name: str, retention_ms: int) -> int:
    """Return the lowest time of a row of a store that has not expired, as it was committed."""
    kept = engine.notes.get(_note_of(name))
    oldest_ms: int = -retention_ms if kept is None else _TIME.unpack(kept)[0]
    return oldest_ms


class TimedRows(StoreRows):
    """Rows that expire by their own time: a row is gone when the highest time that was put is `retention_ms` later.

    A row's key is the key, its time (int64) and more of a fixed length.

    Reads leave out what has expired. A commit drops the segments that have expired as a whole, without changelog
    records: the topic's retention does the same there.

    Attributes:
        oldest_ms: The lowest time of a row that has not expired.
        place_bytes: The length of what follows the key in a row's key, beginning with the time.
    """

    place_bytes: ClassVar[int]
    _table: SegmentedTable

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
        segments = Segments(surroundings.engine, name, retention_ms, self.place_bytes)
        super().__init__(name, value, layout, surroundings, caching=caching, table=SegmentedTable(segments))
        self.time_in = segments.time_in
        self._segments = segments
        self._retention_ms = retention_ms
        self._dropped = surroundings.dropped
        self._note_name = _note_of(name)
        self.oldest_ms = oldest_kept(surroundings.engine, name, retention_ms)
        self._kept_ms = self.oldest_ms  # what expires until the next commit can still be forwarded
        self._index: TimeIndex | None = None
        self._changed_ms = _NO_TIMES

    def stored(self, key: bytes) -> bytes | None:
        """Return the bytes that the store has for a row, or None if there are none or they have expired."""
        return self.stored_at(self.time_in(key), key)

    def stored_at(self, time_ms: int, key: bytes) -> bytes | None:
        """Do the same for a row of which the time is known."""
        # InMemoryWindowStore.fetch in Kafka also leaves out what has expired and has not been removed yet. Java's store
        # on disk drops whole segments, and shows such rows for longer.
        if time_ms < self.oldest_ms:
            return None
        changes = self._table.changes
        return changes[key] if key in changes else self._segments.value_at(time_ms, key)

    def put(self, key: bytes, value: Any, timestamp_ms: int, headers: Headers = ()) -> None:
        """Set the value of a row. None deletes it.

        If it has expired, only the changelog gets it, and it counts as a dropped record, as in Java.
        """
        self.put_at(self.time_in(key), key, value, timestamp_ms, headers)

    def put_at(self, time_ms: int, key: bytes, value: Any, timestamp_ms: int, headers: Headers = ()) -> None:
        """Do the same with a row of which the time is known."""
        # A row is noted with its first change since the last commit: later ones would note the same.
        is_noted = key in self._table.changes
        super().put(key, value, timestamp_ms, headers)
        if not is_noted:
            self._note(time_ms, key)
        # InMemoryWindowStore.put in Kafka: the row is as old as the retention, or older, by the highest time that was
        # put. Java counts it in the task's dropped records.
        if time_ms < self.oldest_ms:
            self._dropped(self.name, EXPIRED)

    def remove(self, key: bytes, timestamp_ms: int) -> None:
        """Delete a row. It does not count as dropped if it has expired."""
        super().put(key, None, timestamp_ms)
        self._note(self.time_in(key), key)

    def changes(self) -> Changes:
        """Return the changes since the last commit as the engine takes them, and drop what has expired with them."""
        return self._segments.changes(self._table.changes, self.oldest_ms, *self._changed_ms)

    def notes(self) -> Notes:
        """Return the time of the store, which a later opening continues with."""
        return {self._note_name: _TIME.pack(self.oldest_ms)}

    def committed(self) -> None:
        """Forget the changes: the engine has them."""
        super().committed()
        self._changed_ms = _NO_TIMES
        self._forget_expired()

    def restore(self, batch: ChangelogBatch) -> Changes:
        """Return what records of the changelog change in the committed state, and drop what has expired with it."""
        rows = self._restored(batch)
        for row in rows:
            self._note(self.time_in(row), row)
        self._forget_expired()
        return self._segments.changes(rows, self.oldest_ms)

    def scan_times(self, first_ms: int, last_ms: int) -> Iterator[KeyedBytes]:
        """Iterate over the rows with times from `first_ms` to `last_ms`, both included, in order of time and key."""
        return self._table.by_time(first_ms, last_ms)

    def scan_closed(self, first_ms: int, last_ms: int) -> Iterator[KeyedBytes]:
        """Do the same with an index, for an operator that asks again and again for what has closed."""
        index = self._index
        if index is None:
            rows = self._table.by_time(self._kept_ms - 1, MAX_MS)
            index = self._index = TimeIndex((self.time_in(row), row) for row, _ in rows)
        for found in index.between(first_ms, last_ms):
            for row in sorted(found, key=self._order):
                stored = self._table.get(row)
                if stored is not None:
                    yield row, stored

    def _forget_expired(self) -> None:
        # A millisecond later than reads leave them out, as sessions are emitted on close just after their retention.
        self._kept_ms = self.oldest_ms
        if self._index is not None:
            self._index.forget_before(self._kept_ms - 1)

    def _order(self, row: bytes) -> KeyedBytes:
        return row[: -self.place_bytes], row[-self.place_bytes :]

    def _note(self, time_ms: int, row: bytes) -> None:
        first_ms, last_ms = self._changed_ms
        if not first_ms <= time_ms <= last_ms:
            self._changed_ms = min(first_ms, time_ms), max(last_ms, time_ms)
        # The store's time is that of rows, and not of records: a window's start, or a session's end
        # (InMemoryWindowStore.put, InMemorySessionStore.put).
        oldest_ms = time_ms - self._retention_ms + 1
        self.oldest_ms = max(self.oldest_ms, oldest_ms)
        if self._index is not None:
            self._index.add(time_ms, row)
