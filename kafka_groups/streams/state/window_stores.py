"""Window stores: the state of one task, and what processors and queries see of it."""

import struct
from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.serdes import Window, Windowed
from kafka_groups.streams.state.engine import Changes, Notes
from kafka_groups.streams.state.formats import PLAIN, TIMESTAMPED
from kafka_groups.streams.state.position import Position
from kafka_groups.streams.state.state_store import RecordContext, StoreSurroundings
from kafka_groups.streams.state.stores import WindowDefinition
from kafka_groups.streams.state.timed_rows import MAX_MS, TimedRows

__all__ = ["StoredWindow", "WindowState", "WindowStore"]

K = TypeVar("K")
V = TypeVar("V")

_START = struct.Struct(">q")
_PLACE = struct.Struct(">qi")


class StoredWindow(NamedTuple):
    """A row of a window store.

    Attributes:
        row: Its key in the store: key, start and sequence number.
        key: The bytes of the key.
        start_ms: The start of its window.
        stored: Its value, as the store has it.
    """

    row: bytes
    key: bytes
    start_ms: int
    stored: bytes


class WindowState(TimedRows):
    """The state of a window store. Operators work with it directly; their keys are bytes already.

    A row's key is key, start (int64) and sequence number (int32). Sequence numbers are 0 unless the store keeps
    duplicates.

    Args:
        definition: The store.
        surroundings: What it works with.
    """

    place_bytes = _PLACE.size

    def __init__(self, definition: WindowDefinition[Any, Any], surroundings: StoreSurroundings) -> None:
        layout = TIMESTAMPED if definition.timestamped else PLAIN
        self.definition = definition
        self._number_note = f"{definition.name}#number"
        self._last_number = int.from_bytes(surroundings.engine.notes.get(self._number_note, b""))
        self._write_key = definition.key.serializer(surroundings.topic, is_key=True)
        self._read_key = definition.key.deserializer(surroundings.topic, is_key=True)
        super().__init__(
            definition.name,
            definition.value,
            layout,
            surroundings,
            # A cache would keep one of several values of a key and time.
            caching=definition.caching is True and not definition.retain_duplicates,
            retention_ms=self.kept_ms(definition),
        )

    @staticmethod
    def kept_ms(definition: WindowDefinition[Any, Any]) -> int:
        """Return how long a store keeps its rows."""
        return max(definition.retention_ms, 1)  # what was put last is there

    def key_bytes(self, key: Any) -> bytes:
        """Return a key as the store has it."""
        return self._write_key(key, [])

    def key(self, key: bytes) -> Any:
        """Return the key with these bytes."""
        return self._read_key(key, ())

    def place(self, start_ms: int) -> bytes:
        """Return what follows the key in the row of a window."""
        return _PLACE.pack(start_ms, 0)

    def row(self, key: bytes, start_ms: int) -> bytes:
        """Return the key of a window's row."""
        return key + _PLACE.pack(start_ms, 0)

    def next_row(self, key: bytes, start_ms: int) -> bytes:
        """Return the key of a row to put: one that is new, if the store keeps duplicates."""
        if not self.definition.retain_duplicates:
            return self.row(key, start_ms)
        # The number makes each row's key unique, and begins again at 0 after the highest int32
        # (InMemoryWindowStore.maybeUpdateSeqnumForDups in Kafka).
        self._last_number = (self._last_number + 1) & 0x7FFFFFFF
        return key + _PLACE.pack(start_ms, self._last_number)

    def restore(self, batch: ChangelogBatch) -> Changes:
        """Return what records of the changelog change in the committed state, and drop what has expired with it."""
        # Numbers go on after those in the changelog, so that a new record does not replace a restored one.
        if self.definition.retain_duplicates:
            numbers = [_PLACE.unpack(row[-_PLACE.size :])[1] for row in batch.keys]
            self._last_number = max([self._last_number, *numbers])
        return super().restore(batch)

    def notes(self) -> Notes:
        """Return the time of the store and its last number, which a later opening continues with."""
        number = {self._number_note: self._last_number.to_bytes(4)} if self.definition.retain_duplicates else {}
        return {**super().notes(), **number}

    def fetch(self, key: bytes, first_ms: int, last_ms: int, *, reverse: bool = False) -> list[StoredWindow]:
        """Return the rows of a key whose windows start from `first_ms` to `last_ms`, both included, in this order."""
        # What has expired is not read, although it may still be there (InMemoryWindowStore.fetch in Kafka). No window
        # starts before 0, whose bytes would come after all others.
        first_ms, last_ms = max(first_ms, self.oldest_ms, 0), min(last_ms, MAX_MS)
        if first_ms > last_ms:
            return []
        # The upper bound comes after all sequence numbers of the last start.
        low, high = key + _START.pack(first_ms), key + _START.pack(last_ms) + b"\xff\xff\xff\xff\0"
        length = len(key) + _PLACE.size
        # Keys of other lengths may lie between the bounds: what follows the key has a fixed length, so the length of
        # the row tells.
        rows = self._table.of_key(key, low, high, first_ms, last_ms)
        found = [self.opened(row, stored) for row, stored in rows if len(row) == length]
        return found[::-1] if reverse else found

    def all(self, first_ms: int = 0, last_ms: int = MAX_MS, *, reverse: bool = False) -> list[StoredWindow]:
        """Return the rows of all keys whose windows start from `first_ms` to `last_ms`, in order of start and key."""
        found = [self.opened(*each) for each in self.scan_times(max(first_ms, self.oldest_ms), last_ms)]
        return found[::-1] if reverse else found

    def started(self, first_ms: int, last_ms: int) -> list[StoredWindow]:
        """Return the same as `all`, with windows that have expired since the last commit."""
        # A final result is forwarded when its window has closed, which may be just after its retention has ended.
        return [self.opened(*each) for each in self.scan_closed(first_ms, last_ms)]

    def opened(self, row: bytes, stored: bytes) -> StoredWindow:
        """Return a row with the parts of its key."""
        return StoredWindow(row, row[: -_PLACE.size], self.time_in(row), stored)


class WindowStore(Generic[K, V]):
    """A window store as processors, queries and tests see it: values by key and start of a window.

    Values are copied: changing an object that you put or got does not change the store. Iterators are snapshots.
    Windows that started longer ago than the store's retention are gone; the time for that is the highest start that was
    put.
    """

    def __init__(self, state: WindowState, record: RecordContext) -> None:
        self._state = state
        self._record = record

    def __repr__(self) -> str:
        return f"<WindowStore {self._state.name!r}>"

    @property
    def name(self) -> str:
        """The store's name."""
        return self._state.name

    @property
    def position(self) -> Position:
        """The input offsets that were committed with the store, of each task that it is read from."""
        return self._state.position

    def put(self, key: K, value: V | None, start_ms: int) -> None:
        """Set the value of a key in the window that starts at a time. None deletes it.

        A store that keeps duplicates adds the value, and None does nothing there.
        """
        state = self._state
        state.put(state.next_row(state.key_bytes(key), start_ms), value, self._record.timestamp_ms)

    def get(self, key: K, start_ms: int) -> V | None:
        """Return the value of a key in the window that starts at a time, or None."""
        state = self._state
        # One row is read without an order of all of them, which a table makes when it is first scanned.
        if not state.definition.retain_duplicates:
            return state.value(state.stored(state.row(state.key_bytes(key), start_ms)))  # type: ignore[no-any-return]
        found = next(self.fetch(key, start_ms, start_ms), None)
        return None if found is None else found[1]

    def fetch(self, key: K, first_ms: int, last_ms: int, *, reverse: bool = False) -> Iterator[tuple[int, V]]:
        """Iterate over a key's windows that start from `first_ms` to `last_ms`, both included: start and value."""
        found = self._state.fetch(self._state.key_bytes(key), first_ms, last_ms, reverse=reverse)
        return ((each.start_ms, self._state.value(each.stored)) for each in found)

    def fetch_all(self, first_ms: int, last_ms: int, *, reverse: bool = False) -> Iterator[tuple[Windowed[K], V]]:
        """Iterate over all windows that start from `first_ms` to `last_ms`, in order of start and key."""
        return self._windows(self._state.all(first_ms, last_ms, reverse=reverse))

    def fetch_range(
        self, low: K, high: K, first_ms: int, last_ms: int, *, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Iterate over the same windows of the keys from `low` to `high`, both included."""
        low_bytes, high_bytes = self._state.key_bytes(low), self._state.key_bytes(high)
        found = self._state.all(first_ms, last_ms, reverse=reverse)
        return self._windows(each for each in found if low_bytes <= each.key <= high_bytes)

    def all(self, *, reverse: bool = False) -> Iterator[tuple[Windowed[K], V]]:
        """Iterate over all windows, in order of start and key."""
        return self._windows(self._state.all(reverse=reverse))

    def _windows(self, found: Iterable[StoredWindow]) -> Iterator[tuple[Windowed[K], V]]:
        state, size_ms = self._state, self._state.definition.size_ms
        for each in found:
            window = Window(each.start_ms, min(each.start_ms + size_ms, MAX_MS))
            yield Windowed(state.key(each.key), window), state.value(each.stored)
