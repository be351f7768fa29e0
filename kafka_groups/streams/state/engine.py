"""Engines keep the committed state of a task, as ordered tables of bytes."""

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from typing import Protocol

__all__ = ["Engine", "KeyedBytes", "MemoryEngine", "MemoryTable", "Table"]

KeyedBytes = tuple[bytes, bytes]
"""A key and its value."""

_FEW = 64  # keys that enter or leave the sorted index one by one; for more, it is rebuilt


class Table(Protocol):
    """One ordered map from bytes to bytes."""

    def get(self, key: bytes, /) -> bytes | None:
        """Return the value of a key, or None."""

    def scan(self, low: bytes, high: bytes | None) -> list[KeyedBytes]:
        """Return the pairs with `low` <= key < `high` in the order of their keys. None: to the last key."""


class Engine(Protocol):
    """The committed state of one task. Tables are made on first use."""

    def table(self, name: str) -> Table:
        """Return a table of this engine."""

    def commit(self, changes: Mapping[str, Mapping[bytes, bytes | None]]) -> None:
        """Apply changes of all tables at once. None deletes a key."""


class MemoryTable:
    """A table in memory. The index of its keys is made when it is first scanned.

    Attributes:
        get: Returns the value of a key, or None.
    """

    get: Callable[[bytes], bytes | None]

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}
        self.get = self._values.get
        self._sorted: list[bytes] | None = None

    def __len__(self) -> int:
        return len(self._values)

    def scan(self, low: bytes, high: bytes | None) -> list[KeyedBytes]:
        """Return the pairs with `low` <= key < `high` in the order of their keys. None: to the last key."""
        keys = self._index()
        first = bisect_left(keys, low)
        end = len(keys) if high is None else bisect_left(keys, high)
        values = self._values
        return [(key, values[key]) for key in keys[first:end]]

    def apply(self, changes: Mapping[bytes, bytes | None]) -> None:
        """Apply changes. None deletes a key."""
        values = self._values
        added: list[bytes] = []
        deleted: list[bytes] = []
        for key, value in changes.items():
            if value is None:
                if values.pop(key, None) is not None:
                    deleted.append(key)
            else:
                if key not in values:
                    added.append(key)
                values[key] = value
        if self._sorted is not None and (added or deleted):
            self._follow(self._sorted, added, deleted)

    def _index(self) -> list[bytes]:
        if self._sorted is None:
            self._sorted = sorted(self._values)
        return self._sorted

    def _follow(self, index: list[bytes], added: list[bytes], deleted: list[bytes]) -> None:
        if len(added) + len(deleted) > _FEW:
            self._sorted = None
            return
        for key in added:
            insort(index, key)
        for key in deleted:
            del index[bisect_left(index, key)]


class MemoryEngine:
    """Keeps the committed state of a task in memory. It is lost with the object."""

    def __init__(self) -> None:
        self._tables: dict[str, MemoryTable] = {}

    def table(self, name: str) -> MemoryTable:
        """Return a table of this engine."""
        found = self._tables.get(name)
        if found is None:
            found = self._tables[name] = MemoryTable()
        return found

    def commit(self, changes: Mapping[str, Mapping[bytes, bytes | None]]) -> None:
        """Apply changes of all tables at once. None deletes a key."""
        for name, changed in changes.items():
            table = self._tables.get(name)
            (self.table(name) if table is None else table).apply(changed)
