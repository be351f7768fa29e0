"""The committed state of a task in memory, which queries of other threads may read while the worker commits."""

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from attrs import frozen

from kafka_groups.streams.engines.readable import check_readable
from kafka_groups.streams.state.engine import (
    NO_NOTES,
    NO_POSITIONS,
    Changes,
    EngineStatus,
    KeyedBytes,
    MemoryEngine,
    MemoryTable,
    Notes,
    Positions,
)
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.types import TaskId

__all__ = ["MemoryEngines", "SharedEngine"]


class MemoryEngines:
    """Makes engines in memory. What they have is lost with their tasks."""

    def open(self, _task_id: TaskId, _stores: Collection[StoreDefinition]) -> "SharedEngine":
        """Return an engine without rows."""
        return SharedEngine()

    def open_global(self, _stores: Mapping[str, StoreDefinition]) -> "SharedEngine":
        """Return an engine without rows."""
        return SharedEngine()

    def give_up(self, _task_id: TaskId) -> None:
        """Forget nothing: each opening succeeds."""

    def give_up_global(self) -> None:
        """Forget nothing, either."""

    def wipe(self, _task_id: TaskId) -> None:
        """Delete nothing: the engine was all that there was."""

    def wipe_global(self) -> None:
        """Delete nothing, either."""

    def positions_left(self) -> dict[TaskId, int]:
        """Return nothing: no state outlasts its task."""
        return {}

    def tidy(self) -> None:
        """Delete nothing."""


class SharedEngine(MemoryEngine):
    """A `TaskEngine` in memory, whose commits and queries exclude each other. The worker's own reads need no lock.

    Attributes:
        lock: Held during commits and questions.
        is_damaged: False: nothing in memory is.
        place: None: it has no files.
    """

    is_damaged = False
    place = None

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        """False when the task has gone."""
        return self.status is not EngineStatus.CLOSED

    def close(self) -> None:
        """Let queries fail from now on."""
        with self.lock:
            super().close()

    def commit(self, changes: Changes, positions: Positions = NO_POSITIONS, notes: Notes = NO_NOTES) -> None:
        """Apply the changes of all tables, positions and notes at once."""
        with self.lock:
            super().commit(changes, positions, notes)

    @contextmanager
    def moment(self, store: str, *, allows_stale: bool = False) -> Iterator["_Moment"]:
        """Let the worker wait with its next commit while a query reads.

        Raises:
            InvalidStateStoreError: The task has gone, or runs elsewhere and only has a copy here.
        """
        with self.lock:
            check_readable(self.status, store, allows_stale=allows_stale)
            yield _Moment(self)

    def count(self, store: str) -> int:
        """Return how many rows of a store are committed. Some of them may have expired."""
        with self.lock:
            return sum(len(self.table(name)) for name in (store, *self.tables(f"{store}@")))


@frozen
class _Moment:
    """A `SharedEngine` that does not change now."""

    _engine: SharedEngine

    @property
    def notes(self) -> Notes:
        """The values that were stored with commits."""
        return self._engine.notes

    def table(self, name: str) -> "_UnchangedTable":
        """Return a table of the engine."""
        return _UnchangedTable(self._engine.table(name))

    def tables(self, prefix: str) -> list[str]:
        """Return the names of the tables with rows that begin with a prefix."""
        return self._engine.tables(prefix)


@frozen
class _UnchangedTable:
    """A table that does not change while it is scanned, so that a page of it costs no copy of the rest."""

    _table: MemoryTable

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        return self._table.get(key)

    def scan(self, low: bytes, high: bytes | None, *, reverse: bool = False) -> Iterator[KeyedBytes]:
        """Iterate over the pairs with `low` <= key < `high` in the order of their keys. None: to the last key."""
        return self._table.walk(low, high, reverse=reverse)
