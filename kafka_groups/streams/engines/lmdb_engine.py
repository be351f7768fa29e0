"""The committed state of a task on disk: one LMDB environment, which one process writes to."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from struct import Struct
from types import ModuleType
from typing import Any, Final
from weakref import WeakSet

from attrs import define

from kafka_groups.streams.engines.files_errors import errors_of_files, files_error
from kafka_groups.streams.engines.lmdb_rows import EMPTY_KEYS, LmdbRows
from kafka_groups.streams.engines.mapped_files import MAP_BYTES, opened_environment
from kafka_groups.streams.engines.readable import check_readable
from kafka_groups.streams.errors import (
    CorruptedStateError,
    StateFilesError,
)
from kafka_groups.streams.state.engine import (
    NO_NOTES,
    NO_POSITIONS,
    Changes,
    EngineStatus,
    KeyedBytes,
    Notes,
    Positions,
)
from kafka_groups.types import TopicPartition

__all__ = [
    "MOST_READERS",
    "MOST_TABLES",
    "POSITIONS",
    "LmdbEngine",
    "LmdbSnapshot",
    "lmdb_module",
    "position_in",
]

POSITIONS: Final = "#positions"
"""The table of the positions in changelogs."""

_NOTES = "#notes"
_PLACE = Struct(">i")
_POSITION = Struct(">qi")
_UNKNOWN_EPOCH = -1
_META_PAGES = 2
MOST_TABLES: Final = 1_024
MOST_READERS: Final = 512


def lmdb_module() -> ModuleType:
    """Return the package, which is imported on first use: it is optional.

    Raises:
        ImportError: It is not installed.
    """
    import lmdb  # noqa: PLC0415

    return lmdb


class LmdbEngine:
    """A `TaskEngine` on disk.

    What it has after a commit is that commit or the one before, also if the process is killed: after a crash of the
    machine it may be damaged, as nothing waits for the disk before it is closed.

    The worker reads and writes from one thread. Queries read from others.

    Args:
        path: The folder of the environment. It must exist.
        map_bytes: The address space; it is doubled when that is full.

    Raises:
        CorruptedStateError: The files are damaged.
        StateDiskError: They cannot be read or written.

    Attributes:
        positions: How far each changelog has been applied.
        notes: The values that were stored with commits.
        status: What the owner does with the engine.
        is_damaged: Whether a read or a write has found damage.
    """

    def __init__(self, path: Path, map_bytes: int = MAP_BYTES) -> None:
        self._path = path
        self._lmdb = lmdb_module()
        self._gate = threading.RLock()  # scans that are given up end wherever the collector runs
        self._queries = 0
        self._unasked = threading.Condition(self._gate)  # notified when a query has ended
        self._snapshots: WeakSet[LmdbSnapshot] = WeakSet()
        self._dropped: set[str] = set()  # emptied, and not deleted yet, because something may read them
        self._reading: LmdbSnapshot | None = None
        self.status = EngineStatus.RESTORING
        self.is_damaged = False
        with self._told():
            self._env = self._opened(map_bytes)
            try:
                self._env.reader_check()
                self._tables = self._known_tables()
                self.positions = self._read_positions()
                self.notes = self._read_notes()
            except BaseException:
                # A process has an environment open once, and the handler of the error may make another one there.
                self._env.close()
                raise

    def __repr__(self) -> str:
        return f"<LmdbEngine {self._path}: {self.status.value}>"

    # ------------------------------------------------------------------------------------ reading

    @property
    def place(self) -> tuple[Path, int] | None:
        """None: nobody is told where its files are."""
        return None

    @property
    def is_open(self) -> bool:
        """False when the task has gone."""
        return self.status is not EngineStatus.CLOSED

    def table(self, name: str) -> "LmdbTable":
        """Return a table of this engine."""
        return LmdbTable(self, name)

    def tables(self, prefix: str) -> list[str]:
        """Return the names of the tables with rows that begin with a prefix."""
        with self._told():
            return self.reading().tables(prefix)

    def rows(self, name: str) -> LmdbRows | None:
        """Return the rows of a table, or None if it has never had any."""
        return self._tables.get(name)

    def reading(self) -> "LmdbSnapshot":
        """Return the snapshot that the worker reads until the next commit."""
        if self._reading is None:
            self._reading = self._snapshot()
        return self._reading

    def _snapshot(self) -> "LmdbSnapshot":
        with self._gate:
            made = LmdbSnapshot(self._env.begin(), self._tables)
            self._snapshots.add(made)
        return made

    def get(self, rows: LmdbRows, key: bytes) -> bytes | None:
        """Return the value of a key as the worker sees it, or None."""
        try:
            return rows.get((self._reading or self.reading()).txn, key)
        except self._lmdb.Error as error:
            raise self._error(error) from error

    def scan(self, rows: LmdbRows, low: bytes, high: bytes | None, *, reverse: bool) -> Iterator[KeyedBytes]:
        """Iterate over rows of the last commit before, even if another one follows."""
        # It keeps its snapshot, and the worker takes another one after a commit.
        return self._scanned(self.reading(), rows, low, high, reverse=reverse)

    def _scanned(
        self, snapshot: "LmdbSnapshot", rows: LmdbRows, low: bytes, high: bytes | None, *, reverse: bool
    ) -> Iterator[KeyedBytes]:
        with self._told():
            yield from rows.scan(snapshot.txn, low, high, reverse=reverse)

    @contextmanager
    def moment(self, store: str, *, allows_stale: bool = False) -> Iterator["LmdbSnapshot"]:
        """Read from another thread than the worker's, in a transaction. The files stay open until then.

        Raises:
            InvalidStateStoreError: The task has gone, or runs elsewhere and only has a copy here.
        """
        with self._told():
            with self._gate:
                check_readable(self.status, store, allows_stale=allows_stale)
                snapshot = self._snapshot()
                self._queries += 1
            try:
                yield snapshot
            finally:
                with self._gate:
                    self._queries -= 1
                    self._unasked.notify_all()

    def count(self, store: str) -> int:
        """Return how many rows of a store are committed. Some of them may have expired."""
        with self._gate, self._told():  # for metrics: who closes the files waits
            if not self.is_open:
                return 0
            snapshot = self._snapshot()
            tables = snapshot.rows.items()
            found = [rows for name, rows in tables if name == store or name.startswith(f"{store}@")]
            return sum(rows.count(snapshot.txn) for rows in found)

    # ------------------------------------------------------------------------------------ writing

    def commit(self, changes: Changes, positions: Positions = NO_POSITIONS, notes: Notes = NO_NOTES) -> None:
        """Apply the changes of all tables, positions and notes at once, or nothing of them.

        Raises:
            StateDiskError: The disk is full, or cannot be written. The engine has what it had before.
            CorruptedStateError: The files are damaged.
        """
        if not self._changes_anything(changes, positions, notes):
            return
        self._reading = None
        with self._told(partial(_bytes_of, changes)):
            while True:
                try:
                    self._write(changes, positions, notes)
                    break
                except self._lmdb.MapFullError:
                    with self._gate:
                        self._await_queries()
                        self._env.set_mapsize(2 * self._env.info()["map_size"])
        self.positions.update(positions)
        self.notes = {**self.notes, **notes}

    def _changes_anything(self, changes: Changes, positions: Positions, notes: Notes) -> bool:
        if self._dropped or any(rows is None or rows for rows in changes.values()):
            return True
        return not (positions.items() <= self.positions.items() and notes.items() <= self.notes.items())

    def load(self, changes: Changes, positions: Positions = NO_POSITIONS, notes: Notes = NO_NOTES) -> None:
        """Do the same with the changes of a restoration, which may be many."""
        self.commit(changes, positions, notes)

    def _write(self, changes: Changes, positions: Positions, notes: Notes) -> None:
        opened: dict[str, LmdbRows] = {}
        # A query that begins now waits until tables that are deleted are gone.
        with self._gate:
            with self._env.begin(write=True) as txn:
                emptied = self._without_rows(txn, [name for name, rows in changes.items() if rows is None])
                for name, changed in changes.items():
                    if changed:
                        rows = self._tables.get(name) or opened.setdefault(name, self._opened_table(txn, name))
                        rows.apply(txn, changed)
                for place, position in positions.items():
                    self._put(txn, POSITIONS, _place_bytes(place), _POSITION.pack(position, _UNKNOWN_EPOCH))
                for note, value in notes.items():
                    self._put(txn, _NOTES, note.encode(), value)
            # Handles that were opened in a transaction are valid from its commit on. Snapshots keep what they have.
            self._tables = {**self._tables, **opened}
            self._dropped |= emptied
            if self._dropped and not self._snapshots:
                self._delete_dropped()

    def _put(self, txn: Any, table: str, key: bytes, value: bytes) -> None:
        txn.put(key, value, db=self._tables[table].db)

    def _without_rows(self, txn: Any, names: list[str]) -> set[str]:
        """Empty tables, and return those that there are. They are deleted when nothing reads any more."""
        emptied = {name for name in names if name in self._tables}
        for name in emptied:
            self._tables[name].apply(txn, {b"": None})
            txn.drop(self._tables[name].db, delete=False)
        return emptied

    def _delete_dropped(self) -> None:
        """Delete the tables without rows. Nothing may read now: a reader must not lose a table that it has begun."""
        # In a transaction of its own: LMDB closes their handles at once, and does not open them again if it fails. Then
        # the tables stay there without rows, until the files are opened the next time.
        dropped, self._dropped = self._dropped & self._tables.keys(), set()
        gone: set[str] = set()
        with suppress(self._lmdb.Error), self._env.begin(write=True) as txn:
            for name in sorted(dropped):
                if not self._tables[name].count(txn):
                    gone.add(name)
                    txn.drop(self._tables[name].db, delete=True)
        self._tables = {name: rows for name, rows in self._tables.items() if name not in gone}

    def _await_queries(self) -> None:
        """Wait until no query reads, and let none begin while the gate is held: files may be mapped elsewhere now."""
        while self._queries:
            self._unasked.wait()

    def forget_dead_readers(self) -> None:
        """Let go of what processes have read that were killed: the file grows as long as they seem to read."""
        with self._gate, self._told():
            if self.is_open:
                self._env.reader_check()

    def set_status(self, status: EngineStatus) -> None:
        """Note what the owner does with the engine."""
        self.status = status

    def close(self) -> None:
        """Give the engine up. What was committed is on the disk then, unless it could not be written."""
        with self._gate, self._told():
            if not self.is_open:
                return
            self.status = EngineStatus.CLOSED
            self._reading = None
            self._await_queries()
            try:
                self._env.sync(True)  # noqa: FBT003 - lmdb has no keyword for it
            finally:
                self._env.close()

    @staticmethod
    def positions_in(folder: Path) -> dict[TopicPartition, int]:
        """Return the positions that a folder has, which nobody writes to now.

        Raises:
            StateFilesError: It cannot be read.
        """
        lmdb = lmdb_module()
        try:
            with opened_environment(lmdb, folder, readonly=True, max_dbs=1) as env, env.begin() as txn:
                table = env.open_db(POSITIONS.encode(), txn=txn, create=False)
                with txn.cursor(table) as cursor:
                    return {_place_in(key): _POSITION.unpack(value)[0] for key, value in cursor.iternext()}
        except lmdb.Error as error:
            raise files_error(lmdb, folder, error) from error

    @staticmethod
    def has_written(path: Path) -> bool:
        """Return whether there is an environment in a folder: a process may have been stopped while it made one."""
        data = path / "data.mdb"
        return data.exists() and data.stat().st_size > 0

    @staticmethod
    def free_bytes_in(folder: Path) -> int:
        """Return how many bytes of a folder's file nothing uses. Nobody writes to it now.

        Raises:
            StateFilesError: It cannot be read.
        """
        lmdb = lmdb_module()
        try:
            with (
                opened_environment(lmdb, folder, readonly=True, max_dbs=MOST_TABLES) as env,
                env.begin() as txn,
            ):
                with txn.cursor() as cursor:
                    names = [bytes(key) for key in cursor.iternext(keys=True, values=False)]
                tables = [env.stat(), *(txn.stat(env.open_db(name, txn=txn, create=False)) for name in names)]
                used = sum(each["branch_pages"] + each["leaf_pages"] + each["overflow_pages"] for each in tables)
                pages: int = env.info()["last_pgno"] + 1 - _META_PAGES - used
                return pages * int(env.stat()["psize"])
        except lmdb.Error as error:
            raise files_error(lmdb, folder, error) from error

    @staticmethod
    def copy(source: Path, target: Path) -> None:
        """Write what was committed in a folder into another one, compacted. It waits for no writer.

        Raises:
            OSError: It cannot be read or written.
            StateFilesError: The same, as LMDB tells it.
        """
        lmdb = lmdb_module()
        try:
            with opened_environment(lmdb, source, readonly=True, max_dbs=0) as env:
                # Without compact=True, lmdb takes the writer's lock, which a stopped process may hold.
                env.copy(str(target), compact=True)
        except lmdb.Error as error:
            raise files_error(lmdb, source, error) from error

    # ------------------------------------------------------------------------------------ opening

    def _opened(self, map_bytes: int) -> Any:
        return opened_environment(
            self._lmdb,
            self._path,
            map_bytes,
            max_dbs=MOST_TABLES,
            max_readers=MOST_READERS,
            sync=False,
            metasync=False,
            readahead=False,
        )

    def _known_tables(self) -> dict[str, LmdbRows]:
        with self._env.begin() as txn, txn.cursor() as cursor:
            names = [bytes(key).decode() for key in cursor.iternext(keys=True, values=False)]
        with self._env.begin(write=True) as txn:
            handles = {name: self._handle(txn, name) for name in {*names, EMPTY_KEYS, POSITIONS, _NOTES}}
            found = {name: LmdbRows(name, handle, handles[EMPTY_KEYS]) for name, handle in handles.items()}
            # Those of a process that has ended before it could delete them.
            self._dropped = {name for name, rows in found.items() if not name.startswith("#") and not rows.count(txn)}
        return found

    def _opened_table(self, txn: Any, name: str) -> LmdbRows:
        return LmdbRows(name, self._handle(txn, name), self._tables[EMPTY_KEYS].db)

    def _handle(self, txn: Any, name: str) -> Any:
        return self._env.open_db(name.encode(), txn=txn)

    def _read_positions(self) -> dict[TopicPartition, int]:
        found = self._all(POSITIONS)
        return dict(position_in(key, value) for key, value in found)

    def _read_notes(self) -> dict[str, bytes]:
        return {key.decode(): value for key, value in self._all(_NOTES)}

    def _all(self, table: str) -> list[KeyedBytes]:
        with self._env.begin() as txn, txn.cursor(self._tables[table].db) as cursor:
            return list(cursor.iternext())

    # ------------------------------------------------------------------------------------ errors

    def _told(self, needed: Callable[[], int] | None = None) -> AbstractContextManager[None]:
        return errors_of_files(self._lmdb, lambda error: self._error(error, None if needed is None else needed()))

    def _error(self, error: Exception, needed: int | None = None) -> StateFilesError:
        told = files_error(self._lmdb, self._path, error, needed)
        self.is_damaged |= isinstance(told, CorruptedStateError)
        return told


@define(eq=False)
class LmdbSnapshot:
    """A transaction that reads, and the tables that it sees. It ends with the last reference to it."""

    txn: Any
    rows: Mapping[str, LmdbRows]

    @property
    def notes(self) -> Notes:
        """The values that were stored with commits."""
        with self.txn.cursor(self.rows[_NOTES].db) as cursor:
            return {key.decode(): value for key, value in cursor.iternext()}

    def table(self, name: str) -> "SnapshotTable":
        """Return a table of the engine."""
        return SnapshotTable(self.rows.get(name), self.txn)

    def tables(self, prefix: str) -> list[str]:
        """Return the names of the tables with rows that begin with a prefix."""
        found = [(name, rows) for name, rows in self.rows.items() if name.startswith(prefix)]
        return [name for name, rows in found if not name.startswith("#") and rows.count(self.txn)]


@define
class LmdbTable:
    """A table as the worker sees it."""

    _engine: LmdbEngine
    _name: str

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        rows = self._engine.rows(self._name)
        return None if rows is None else self._engine.get(rows, key)

    def scan(self, low: bytes, high: bytes | None, *, reverse: bool = False) -> Iterator[KeyedBytes]:
        """Iterate over the pairs with `low` <= key < `high` in the order of their keys. None: to the last key."""
        rows = self._engine.rows(self._name)
        return iter(()) if rows is None else self._engine.scan(rows, low, high, reverse=reverse)


@define
class SnapshotTable:
    """A table as queries see it."""

    _rows: LmdbRows | None
    _txn: Any

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        return None if self._rows is None else self._rows.get(self._txn, key)

    def scan(self, low: bytes, high: bytes | None, *, reverse: bool = False) -> Iterator[KeyedBytes]:
        """Iterate over the pairs with `low` <= key < `high` in the order of their keys. None: to the last key."""
        return iter(()) if self._rows is None else self._rows.scan(self._txn, low, high, reverse=reverse)


def _bytes_of(changes: Changes) -> int:
    """Return the bytes of the keys and values of changes."""
    rows = (row for changed in changes.values() if changed is not None for row in changed.items())
    return sum(len(key) + len(value or b"") for key, value in rows)


def _place_bytes(place: TopicPartition) -> bytes:
    return _PLACE.pack(place.partition) + place.topic.encode()


def _place_in(key: bytes) -> TopicPartition:
    return TopicPartition(key[_PLACE.size :].decode(), _PLACE.unpack_from(key)[0])


def position_in(key: bytes, value: bytes) -> tuple[TopicPartition, int]:
    """Return the changelog and the position that a row of `POSITIONS` has."""
    return _place_in(key), _POSITION.unpack(value)[0]
