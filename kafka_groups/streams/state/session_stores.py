"""Session stores: the state of one task, and what processors and queries see of it."""

import struct
from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from kafka_groups.serdes import Window, Windowed
from kafka_groups.streams.state.formats import PLAIN
from kafka_groups.streams.state.position import Position
from kafka_groups.streams.state.state_store import RecordContext, StoreSurroundings
from kafka_groups.streams.state.stores import SessionDefinition
from kafka_groups.streams.state.timed_rows import MAX_MS, TimedRows

__all__ = ["SessionState", "SessionStore", "StoredSession"]

K = TypeVar("K")
V = TypeVar("V")

_END = struct.Struct(">q")
_TIMES = struct.Struct(">qq")


class StoredSession(NamedTuple):
    """A row of a session store.

    Attributes:
        row: Its key in the store: key, end and start.
        key: The bytes of the key.
        window: The times of its first and its last record.
        stored: Its value, as the store has it.
    """

    row: bytes
    key: bytes
    window: Window
    stored: bytes


class SessionState(TimedRows):
    """The state of a session store. Operators work with it directly; their keys are bytes already.

    A row's key is key, end (int64) and start (int64), and it expires by its end.

    Args:
        definition: The store.
        surroundings: What it works with.
    """

    place_bytes = _TIMES.size

    def __init__(self, definition: SessionDefinition[Any, Any], surroundings: StoreSurroundings) -> None:
        self.definition = definition
        self._write_key = definition.key.serializer(surroundings.topic, is_key=True)
        self._read_key = definition.key.deserializer(surroundings.topic, is_key=True)
        super().__init__(
            definition.name,
            definition.value,
            PLAIN,
            surroundings,
            caching=definition.caching is True,
            retention_ms=definition.retention_ms,
        )

    def key_bytes(self, key: Any) -> bytes:
        """Return a key as the store has it."""
        return self._write_key(key, [])

    def key(self, key: bytes) -> Any:
        """Return the key with these bytes."""
        return self._read_key(key, ())

    def row(self, key: bytes, window: Window) -> bytes:
        """Return the key of a session's row."""
        return key + _TIMES.pack(window.end_ms, window.start_ms)

    def find(
        self, key: bytes, earliest_end_ms: int, latest_start_ms: int, *, reverse: bool = False
    ) -> list[StoredSession]:
        """Return a key's sessions that end and start within these times, both included, in order of their ends."""
        # Rows are in the order of ends, so those that end too early are never read. Starts are in no order and are
        # looked at one by one (SessionKeySchema in Kafka has the same layout).
        first_ms = min(max(earliest_end_ms, self.oldest_ms, 0), MAX_MS)
        length = len(key) + _TIMES.size
        low, high = key + _END.pack(first_ms), key + b"\xff" * (_TIMES.size + 1)
        rows = self._table.of_key(key, low, high, first_ms, MAX_MS)
        found = [
            self.opened(row, stored)
            for row, stored in rows
            if len(row) == length
            # The upper bound is not exact, as a key may be followed by any bytes: the length and the beginning of a row
            # tell whether it is of this key.
            and row.startswith(key)
            and _END.unpack_from(row, length - _END.size)[0] <= latest_start_ms
        ]
        return found[::-1] if reverse else found

    def all(self, *, reverse: bool = False) -> list[StoredSession]:
        """Return all sessions in order of end, key and start."""
        found = [self.opened(*each) for each in self.scan_times(self.oldest_ms, MAX_MS)]
        return found[::-1] if reverse else found

    def ended(self, first_ms: int, last_ms: int) -> list[StoredSession]:
        """Return the sessions that end from `first_ms` to `last_ms`, with those that expired since the last commit."""
        # A final result is forwarded when its session has closed, which may be just after its retention has ended.
        return [self.opened(*each) for each in self.scan_closed(first_ms, last_ms)]

    def opened(self, row: bytes, stored: bytes) -> StoredSession:
        """Return a row with the parts of its key."""
        end_ms, start_ms = _TIMES.unpack(row[-_TIMES.size :])
        return StoredSession(row, row[: -_TIMES.size], Window(start_ms, end_ms), stored)


class SessionStore(Generic[K, V]):
    """A session store as processors, queries and tests see it: values by key and times of first and last record.

    Values are copied: changing an object that you put or got does not change the store. Iterators are snapshots.
    Sessions that ended longer ago than the store's retention are gone; the time for that is the highest end that was
    put.
    """

    def __init__(self, state: SessionState, record: RecordContext) -> None:
        self._state = state
        self._record = record

    def __repr__(self) -> str:
        return f"<SessionStore {self._state.name!r}>"

    @property
    def name(self) -> str:
        """The store's name."""
        return self._state.name

    @property
    def position(self) -> Position:
        """The input offsets that were committed with the store, of each task that it is read from."""
        return self._state.position

    def put(self, key: K, start_ms: int, end_ms: int, value: V | None) -> None:
        """Set the value of a key in the session from `start_ms` to `end_ms`. None removes the session."""
        row = self._state.row(self._state.key_bytes(key), Window(start_ms, end_ms))
        self._state.put(row, value, self._record.timestamp_ms)

    def remove(self, session: Windowed[K]) -> None:
        """Remove a session."""
        self._state.remove(
            self._state.row(self._state.key_bytes(session.key), session.window), self._record.timestamp_ms
        )

    def get(self, key: K, start_ms: int, end_ms: int) -> V | None:
        """Return the value of a key in the session from `start_ms` to `end_ms`, or None."""
        state = self._state
        return state.value(state.stored(state.row(state.key_bytes(key), Window(start_ms, end_ms))))  # type: ignore[no-any-return]

    def find_sessions(
        self, key: K, earliest_end_ms: int, latest_start_ms: int, *, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Iterate over a key's sessions that end at the one time or later and start at the other or before.

        They come in the order of their ends.
        """
        key_bytes = self._state.key_bytes(key)
        return self._sessions(self._state.find(key_bytes, earliest_end_ms, latest_start_ms, reverse=reverse))

    def fetch(self, key: K, *, reverse: bool = False) -> Iterator[tuple[Windowed[K], V]]:
        """Iterate over a key's sessions in the order of their ends."""
        return self.find_sessions(key, 0, MAX_MS, reverse=reverse)

    def all(self, *, reverse: bool = False) -> Iterator[tuple[Windowed[K], V]]:
        """Iterate over all sessions in order of end and key."""
        return self._sessions(self._state.all(reverse=reverse))

    def _sessions(self, found: Iterable[StoredSession]) -> Iterator[tuple[Windowed[K], V]]:
        state = self._state
        for each in found:
            yield Windowed(state.key(each.key), each.window), state.value(each.stored)
