"""The committed state of a task, which queries of other threads may read while the worker commits."""

import threading
from collections.abc import Mapping

from kafka_groups.streams.state.engine import KeyedBytes, MemoryEngine, MemoryTable

__all__ = ["LockedReader", "SharedEngine"]


class SharedEngine(MemoryEngine):
    """An engine whose commits and queries exclude each other. The worker's own reads need no lock."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def commit(self, changes: Mapping[str, Mapping[bytes, bytes | None]]) -> None:
        """Apply changes of all tables at once. None deletes a key."""
        with self.lock:
            super().commit(changes)


class LockedReader:
    """A `SharedEngine` as queries see it."""

    def __init__(self, engine: SharedEngine) -> None:
        self._engine = engine

    def table(self, name: str) -> "LockedTable":
        """Return a table of the engine."""
        with self._engine.lock:
            return LockedTable(self._engine.table(name), self._engine.lock)

    def commit(self, changes: Mapping[str, Mapping[bytes, bytes | None]]) -> None:
        """Refuse changes.

        Raises:
            TypeError: Always.
        """
        raise TypeError(f"Queries only read: {sorted(changes)} cannot be changed.")


class LockedTable:
    """A table as queries see it."""

    def __init__(self, table: MemoryTable, lock: threading.Lock) -> None:
        self._table = table
        self._lock = lock

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        return self._table.get(key)

    def scan(self, low: bytes, high: bytes | None) -> list[KeyedBytes]:
        """Return the pairs with `low` <= key < `high` in the order of their keys. None: to the last key."""
        with self._lock:
            return self._table.scan(low, high)
