"""Engines keep the committed state of a task, as ordered tables of bytes."""

import enum
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from kafka_groups.types import TopicPartition

__all__ = [
    "NO_NOTES",
    "NO_POSITIONS",
    "Changes",
    "Engine",
    "EngineReader",
    "EngineStatus",
    "KeyedBytes",
    "MemoryEngine",
    "MemoryTable",
    "Notes",
    "Positions",
    "Table",
]

Changes = Mapping[str, Mapping[bytes, bytes | None] | None]
"""New values by table and key. None deletes the key, or the whole table.

A table has the name of its store, and behind `@` the number of a segment if it is one of several."""

Positions = Mapping[TopicPartition, int]
"""For each partition of a changelog, the offset of the next record to apply."""

Notes = Mapping[str, bytes]
"""Small values by name, which are stored together with changes. A name is that of the store, `#` and what it is.

One that begins with `#` is about the task, and belongs to all its stores."""

NO_POSITIONS: Final[Positions] = MappingProxyType({})
NO_NOTES: Final[Notes] = MappingProxyType({})

KeyedBytes = tuple[bytes, bytes]
"""A key and its value."""

_FEW = 64  # keys that enter or leave the sorted index one by one; for more, it is rebuilt


class Table(Protocol):
    """One ordered map from bytes to bytes."""

    def get(self, key: bytes, /) -> bytes | None:
        """Return the value of a key, or None."""

    def scan(self, low: bytes, high: bytes | None, *, reverse: bool = False) -> Iterator[KeyedBytes]:
        """Iterate over the pairs with `low` <= key < `high` in the order of their keys. None: to the last key.

        It is a snapshot: commits while it lasts do not change what it returns.
        """


class EngineStatus(enum.Enum):
    """The use that its owner makes of an engine."""

    RESTORING = "restoring"
    ACTIVE = "active"
    STANDBY = "standby"
    CLOSED = "closed"


class EngineReader(Protocol):
    """The committed state of one task, to read it. Tables are made on first use."""

    @property
    def notes(self) -> Notes:
        """The values that were stored with commits."""

    def table(self, name: str) -> Table:
        """Return a table of this engine."""

    def tables(self, prefix: str) -> list[str]:
        """Return the names of the tables with rows that begin with a prefix."""


class Engine(EngineReader, Protocol):
    """The committed state of one task, to read and to change it."""

    @property
    def positions(self) -> Positions:
        """The position in each changelog whose stores the engine keeps: everything before it has been applied."""

    def commit(self, changes: Changes, positions: Positions = NO_POSITIONS, notes: Notes = NO_NOTES) -> None:
        """Apply the changes of all tables, positions and notes at once, or nothing of them.

        Positions and notes that are not named keep their values.
        """

    def load(self, changes: Changes, positions: Positions = NO_POSITIONS, notes: Notes = NO_NOTES) -> None:
        """Do the same with the changes of a restoration, which may be many."""

    def set_status(self, status: EngineStatus) -> None:
        """Note what the owner does with the engine."""

    def close(self) -> None:
        """Give the engine up. Nothing may be read from it or written to it any more."""


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

    def scan(self, low: bytes, high: bytes | None, *, reverse: bool = False) -> Iterator[KeyedBytes]:
        """Iterate over the pairs with `low` <= key < `high` in the order of their keys. None: to the last key."""
        found = list(self.walk(low, high))
        return reversed(found) if reverse else iter(found)

    def walk(self, low: bytes, high: bytes | None, *, reverse: bool = False) -> Iterator[KeyedBytes]:
        """Do the same without a snapshot: nothing may change while it lasts. It reads only what is asked for."""
        keys, values = self._index(), self._values
        places = range(bisect_left(keys, low), len(keys) if high is None else bisect_left(keys, high))
        return ((keys[at], values[keys[at]]) for at in (reversed(places) if reverse else places))

    def forget_index(self) -> None:
        """Forget the index until the next scan: what follows is many changes, and no scan in between."""
        self._sorted = None

    def apply(self, changes: Mapping[bytes, bytes | None]) -> None:
        """Apply changes. None deletes a key."""
        values = self._values
        added: list[bytes] = []
        deleted: list[bytes] = []
        for key, value in changes.items():
            # A tombstone of a row that was never committed deletes nothing, and must not be looked for in the index.
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
        # Stores that are never scanned pay nothing for an index.
        if self._sorted is None:
            self._sorted = sorted(self._values)
        return self._sorted

    def _follow(self, index: list[bytes], added: list[bytes], deleted: list[bytes]) -> None:
        # Each insertion moves what follows it, so for many keys sorting once is faster.
        if len(added) + len(deleted) > _FEW:
            self._sorted = None
            return
        for key in added:
            insort(index, key)
        for key in deleted:
            del index[bisect_left(index, key)]


class MemoryEngine:
    """Keeps the committed state of a task in memory. It is lost with the object.

    Attributes:
        positions: How far each changelog has been applied.
        notes: The values that were stored with commits.
        status: What the owner does with the engine.
    """

    def __init__(self) -> None:
        self._tables: dict[str, MemoryTable] = {}
        self.positions: dict[TopicPartition, int] = {}
        self.notes: dict[str, bytes] = {}
        self.status = EngineStatus.RESTORING

    def table(self, name: str) -> MemoryTable:
        """Return a table of this engine."""
        found = self._tables.get(name)
        if found is None:
            found = self._tables[name] = MemoryTable()
        return found

    def tables(self, prefix: str) -> list[str]:
        """Return the names of the tables with rows that begin with a prefix."""
        return [name for name, table in self._tables.items() if name.startswith(prefix) and len(table)]

    def commit(self, changes: Changes, positions: Positions = NO_POSITIONS, notes: Notes = NO_NOTES) -> None:
        """Apply the changes of all tables, positions and notes at once."""
        for name, changed in changes.items():
            if changed is None:
                self._tables.pop(name, None)
            else:
                self.table(name).apply(changed)
        self.positions.update(positions)
        self.notes.update(notes)

    def load(self, changes: Changes, positions: Positions = NO_POSITIONS, notes: Notes = NO_NOTES) -> None:
        """Do the same with the changes of a restoration, which may be many."""
        for name in changes:
            self.table(name).forget_index()
        self.commit(changes, positions, notes)

    def set_status(self, status: EngineStatus) -> None:
        """Note what the owner does with the engine."""
        self.status = status

    def close(self) -> None:
        """Give the engine up."""
        self.status = EngineStatus.CLOSED
