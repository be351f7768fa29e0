"""Key-value stores: the state of one task, and what processors and queries see of it."""

from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from kafka_groups.streams.state.formats import PLAIN, TIMESTAMPED, after_prefix
from kafka_groups.streams.state.position import Position
from kafka_groups.streams.state.rows import FoundValue, StoreRows
from kafka_groups.streams.state.state_store import RecordContext, StoreSurroundings
from kafka_groups.streams.state.stores import KeyValueDefinition

__all__ = ["KeyValueState", "KeyValueStore", "TimestampedKeyValueStore", "ValueAndTimestamp"]

K = TypeVar("K")
V = TypeVar("V")


class ValueAndTimestamp(NamedTuple, Generic[V]):
    """A value of a timestamped store, and the timestamp of the record that made it."""

    value: V
    timestamp_ms: int


class KeyValueState(StoreRows):
    """The state of a key-value store. Operators work with it directly; their keys are bytes already.

    Args:
        definition: The store.
        surroundings: What it works with.

    Attributes:
        read_key: Returns the key with these bytes.
    """

    def __init__(self, definition: KeyValueDefinition[Any, Any], surroundings: StoreSurroundings) -> None:
        layout = TIMESTAMPED if definition.timestamped else PLAIN
        super().__init__(definition.name, definition.value, layout, surroundings, caching=definition.caching is True)
        self.definition = definition
        self._write_key = definition.key.serializer(surroundings.topic, is_key=True)
        self.read_key = definition.key.deserializer(surroundings.topic, is_key=True)

    def key_bytes(self, key: Any) -> bytes:
        """Return a key as the store has it."""
        return self._write_key(key, [])

    def scan(
        self, low: bytes = b"", high: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[Any, FoundValue]]:
        """Iterate over keys with `low` <= key < `high`, each with value and timestamp. A snapshot."""
        found = self._table.scan(low, high)
        read_key, decoded = self.read_key, self.decoded
        return ((read_key(key, ()), decoded(stored)) for key, stored in (reversed(found) if reverse else found))


class KeyValueStore(Generic[K, V]):
    """A key-value store as processors, queries and tests see it.

    Values are copied: changing an object that you put or got does not change the store. Iterators are snapshots, in
    the order of the keys' bytes.
    """

    def __init__(self, state: KeyValueState, record: RecordContext) -> None:
        self._state = state
        self._record = record

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._state.name!r}>"

    @property
    def name(self) -> str:
        """The store's name."""
        return self._state.name

    @property
    def position(self) -> Position:
        """The input offsets that were committed with the store, of each task that it is read from."""
        return self._state.position

    def get(self, key: K) -> V | None:
        """Return the value of a key, or None."""
        found = self._state.get(self._state.key_bytes(key))
        return None if found is None else found[0]

    def put(self, key: K, value: V | None) -> None:
        """Set the value of a key. None deletes it."""
        self._state.put(self._state.key_bytes(key), value, self._record.timestamp_ms)

    def put_if_absent(self, key: K, value: V) -> V | None:
        """Set the value of a key that has no value. Return the value that it already has, or None."""
        found = self.get(key)
        if found is None:
            self.put(key, value)
        return found

    def put_all(self, pairs: Iterable[tuple[K, V | None]]) -> None:
        """Set the values of several keys. None deletes a key."""
        for key, value in pairs:
            self.put(key, value)

    def delete(self, key: K) -> V | None:
        """Delete a key. Return the value that it had, or None."""
        found = self.get(key)
        self.put(key, None)
        return found

    def range(self, low: K | None = None, high: K | None = None, *, reverse: bool = False) -> Iterator[tuple[K, V]]:
        """Iterate over the keys from `low` to `high`, both included. None: from the first key, to the last one."""
        low_bytes = b"" if low is None else self._state.key_bytes(low)
        # The zero byte makes the upper bound inclusive: nothing lies between a key and itself with a zero byte behind
        # it.
        high_bytes = None if high is None else self._state.key_bytes(high) + b"\0"
        return _values(self._state.scan(low_bytes, high_bytes, reverse=reverse))

    def all(self, *, reverse: bool = False) -> Iterator[tuple[K, V]]:
        """Iterate over all keys."""
        return _values(self._state.scan(reverse=reverse))

    def prefix(self, prefix: bytes) -> Iterator[tuple[K, V]]:
        """Iterate over the keys whose bytes begin with `prefix`."""
        return _values(self._state.scan(prefix, after_prefix(prefix)))


def _values(found: Iterator[tuple[Any, FoundValue]]) -> Iterator[tuple[Any, Any]]:
    return ((key, value) for key, (value, _timestamp_ms) in found)


class TimestampedKeyValueStore(Generic[K, V]):
    """A key-value store of a processor that keeps a timestamp with each value.

    Values are copied: changing an object that you put or got does not change the store. Iterators are snapshots, in
    the order of the keys' bytes.
    """

    def __init__(self, state: KeyValueState) -> None:
        self._state = state

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._state.name!r}>"

    @property
    def name(self) -> str:
        """The store's name."""
        return self._state.name

    def get(self, key: K) -> ValueAndTimestamp[V] | None:
        """Return value and timestamp of a key, or None."""
        found = self._state.get(self._state.key_bytes(key))
        return None if found is None else ValueAndTimestamp(*found)

    def put(self, key: K, value: V | None, timestamp_ms: int) -> None:
        """Set value and timestamp of a key. None deletes it."""
        self._state.put(self._state.key_bytes(key), value, timestamp_ms)

    def delete(self, key: K, timestamp_ms: int) -> ValueAndTimestamp[V] | None:
        """Delete a key. Return what it had, or None. The changelog's tombstone has the timestamp."""
        found = self.get(key)
        self.put(key, None, timestamp_ms)
        return found

    def all(self, *, reverse: bool = False) -> Iterator[tuple[K, ValueAndTimestamp[V]]]:
        """Iterate over all keys."""
        return ((key, ValueAndTimestamp(*found)) for key, found in self._state.scan(reverse=reverse))
