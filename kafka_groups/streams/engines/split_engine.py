"""The engine of a task that has stores on disk and stores in memory, and that of global stores of both kinds."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.state.engine import (
    NO_NOTES,
    NO_POSITIONS,
    Changes,
    EngineReader,
    EngineStatus,
    Notes,
    Positions,
    Table,
)

__all__ = ["SplitEngine"]

Named = TypeVar("Named")


class SplitEngine:
    """Sends each store to one of two engines. Positions are kept on disk.

    Args:
        disk: The engine on disk.
        memory: The one in memory.
        persistent: The names of the stores on disk.
    """

    def __init__(self, disk: TaskEngine, memory: TaskEngine, persistent: Collection[str]) -> None:
        self._disk, self._memory = disk, memory
        self._persistent = frozenset(persistent)

    def __repr__(self) -> str:
        return f"<SplitEngine of {self._disk!r} and {self._memory!r}>"

    @property
    def is_open(self) -> bool:
        """False when the task has gone."""
        return self._disk.is_open

    @property
    def status(self) -> EngineStatus:
        """The use that its owner makes of it."""
        return self._disk.status

    @property
    def place(self) -> tuple[Path, int] | None:
        """The folder of the files on disk, and the inode of the file with their status."""
        return self._disk.place

    @property
    def is_damaged(self) -> bool:
        """True if a read or a write of the disk has found damage."""
        return self._disk.is_damaged

    @property
    def positions(self) -> Positions:
        """The positions in the changelogs of the stores on disk."""
        return self._disk.positions

    @property
    def notes(self) -> Notes:
        """The values that were stored with commits."""
        return {**self._memory.notes, **self._disk.notes}

    def table(self, name: str) -> Table:
        """Return a table of the engine that has its store."""
        return self._of(name).table(name)

    def tables(self, prefix: str) -> list[str]:
        """Return the names of the tables with rows that begin with a prefix."""
        return [*self._disk.tables(prefix), *self._memory.tables(prefix)]

    def moment(self, store: str, *, allows_stale: bool = False) -> AbstractContextManager[EngineReader]:
        """Return what queries of other threads read a store from: what was committed at one moment.

        Raises:
            InvalidStateStoreError: The task has gone, or runs elsewhere and only has a copy here.
        """
        return self._of(store).moment(store, allows_stale=allows_stale)

    def count(self, store: str) -> int:
        """Return how many rows of a store are committed. Some of them may have expired."""
        return self._of(store).count(store)

    def commit(self, changes: Changes, positions: Positions = NO_POSITIONS, notes: Notes = NO_NOTES) -> None:
        """Apply the changes of all tables, positions and notes: at once on disk, and then in memory.

        Raises:
            StateFilesError: Nothing was applied.
        """
        # What is in memory is lost with the task if the disk refuses, so both have the same commits.
        self._disk.commit(self._own(changes), positions, {**_shared(notes), **self._own(notes)})
        self._memory.commit(self._others(changes), notes=self._others(notes))

    def load(self, changes: Changes, positions: Positions = NO_POSITIONS, notes: Notes = NO_NOTES) -> None:
        """Do the same with the changes of a restoration, which may be many."""
        self._disk.load(self._own(changes), positions, {**_shared(notes), **self._own(notes)})
        self._memory.load(self._others(changes), notes=self._others(notes))

    def set_status(self, status: EngineStatus) -> None:
        """Note what the owner does with the engine."""
        for each in (self._disk, self._memory):
            each.set_status(status)

    def close(self) -> None:
        """Give both up."""
        self._memory.close()
        self._disk.close()

    def _of(self, name: str) -> TaskEngine:
        return self._disk if _store_of(name) in self._persistent else self._memory

    def _own(self, named: Mapping[str, Named]) -> dict[str, Named]:
        return _only(named, (name for name in named if _store_of(name) in self._persistent))

    def _others(self, named: Mapping[str, Named]) -> dict[str, Named]:
        return _only(named, (name for name in named if _store_of(name) not in self._persistent))


def _shared(notes: Notes) -> Notes:
    """Return the notes about the task, which both engines have: the others' store has no name."""
    return _only(notes, (name for name in notes if not _store_of(name)))


def _only(named: Mapping[str, Named], names: Iterable[str]) -> dict[str, Named]:
    return {name: named[name] for name in names}


def _store_of(name: str) -> str:
    """Return the store of a table or a note. Its name has neither of the two characters that may follow."""
    return name.partition("@")[0].partition("#")[0]
