"""Reads an environment of LMDB that another process, a worker of this one, writes to."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from kafka_groups.streams.engines.files_errors import errors_of_files, files_error
from kafka_groups.streams.engines.lmdb_engine import MOST_TABLES, LmdbSnapshot, lmdb_module
from kafka_groups.streams.engines.lmdb_rows import EMPTY_KEYS, LmdbRows
from kafka_groups.streams.engines.mapped_files import opened_environment
from kafka_groups.streams.engines.open_files import OpenFiles
from kafka_groups.streams.engines.readable import check_readable, migrated
from kafka_groups.streams.engines.status_file import StatusReader
from kafka_groups.streams.errors import StateFilesError, StateStoreMigratedError
from kafka_groups.streams.state.engine import EngineStatus

__all__ = ["EnvironmentReader"]


class EnvironmentReader:
    """Reads what a task has committed, without asking the worker that has it. Any thread may use it.

    Args:
        files: The files of the task.

    Raises:
        StateStoreMigratedError: They are not there any more.
        StateFilesError: They cannot be read.
    """

    def __init__(self, files: OpenFiles) -> None:
        self._path = files.folder
        self._lmdb = lmdb_module()
        self._gate = threading.Lock()
        self._queries = 0
        self._is_closed = False
        self._unasked = threading.Condition(self._gate)
        self._tables: dict[str, LmdbRows] = {}
        self._seen = -1  # the last commit, and the tables that there were then
        self._rows: dict[str, LmdbRows] = {}
        with self._told():
            self._status = self._opened_status(files)
            try:
                self._env = self._opened()
            except BaseException:
                self._status.close()
                raise
            if not self._status.is_there:  # they were replaced while they were being opened
                self.close()
                raise _gone(self._path)

    def __repr__(self) -> str:
        return f"<EnvironmentReader {self._path}>"

    @property
    def status(self) -> EngineStatus:
        """The use that the worker made of the files, at its last change.

        Raises:
            StateFilesError: It cannot be read.
        """
        with self._told():
            return self._read_status()[1]

    @property
    def is_there(self) -> bool:
        """False when the files have been deleted, perhaps because the task has been elsewhere for long."""
        with self._told():
            return self._status.is_there

    @contextmanager
    def moment(self, store: str, *, allows_stale: bool = False) -> Iterator[LmdbSnapshot]:
        """Return what was committed at one moment. Read all that you need within the context.

        Args:
            store: The store, for errors.
            allows_stale: Whether the task may be a standby, or be restored.

        Raises:
            InvalidStateStoreError: The task has gone, or runs elsewhere and only has a copy here.
            StateFilesError: The files cannot be read.
        """
        try:
            before = self._read_status()
            check_readable(before[1], store, allows_stale=allows_stale)
            snapshot = self._begun()
            try:
                yield snapshot
            finally:
                snapshot.txn.abort()
                with self._gate:
                    self._queries -= 1
                    self._unasked.notify_all()
            # The status was the same when the transaction began, so it is that of its moment.
            if not allows_stale and self._read_status() != before:
                raise migrated(store)
        except (OSError, self._lmdb.Error) as error:
            raise self._error(error) from error

    def close(self) -> None:
        """Let the files go. Waits until nobody reads them."""
        with self._gate:
            if not self._is_closed:
                self._is_closed = True
                self._await_queries()
                self._env.close()
                self._status.close()

    def _read_status(self) -> tuple[int, EngineStatus]:
        with self._gate:
            if self._is_closed:
                raise _gone(self._path)
            return self._status.read()

    def _begun(self) -> LmdbSnapshot:
        """Begin a transaction, and note that somebody reads."""
        while True:
            # Transactions must not begin while tables are opened, or while the files are mapped elsewhere.
            with self._gate:
                if self._is_closed:
                    raise _gone(self._path)
                try:
                    snapshot = self._snapshot()
                except self._lmdb.MapResizedError:
                    self._await_queries()
                    self._env.set_mapsize(0)
                    continue
                if snapshot is not None:
                    self._queries += 1
                    return snapshot
                self._open_tables()

    def _snapshot(self) -> LmdbSnapshot | None:
        """Return a transaction with the tables that it sees; None if some of them have not been opened."""
        txn = self._env.begin()
        if txn.id() != self._seen:  # tables come and go with commits
            names = _names(txn)
            if not self._tables.keys() >= names:
                txn.abort()
                return None
            self._seen, self._rows = txn.id(), {name: self._tables[name] for name in names}
        return LmdbSnapshot(txn, self._rows)

    def _open_tables(self) -> None:
        """Open the tables that are new. No transaction may be begun in the meantime."""
        with self._env.begin() as txn:
            names = _names(txn) - self._tables.keys()
        # Each in a transaction of its own, which lmdb commits: it only resets those that a program has begun, and then
        # LMDB forgets the handles that were opened in them.
        for name in sorted(names, key=lambda each: each != EMPTY_KEYS):
            with suppress(self._lmdb.NotFoundError, self._lmdb.BadDbiError):  # it has been deleted since
                handle = self._env.open_db(name.encode(), create=False)
                empties = handle if name == EMPTY_KEYS else self._tables[EMPTY_KEYS].db
                self._tables[name] = LmdbRows(name, handle, empties)

    def _await_queries(self) -> None:
        while self._queries:
            self._unasked.wait()

    def _opened_status(self, files: OpenFiles) -> StatusReader:
        try:
            found = StatusReader(files.folder.parent)
        except FileNotFoundError:
            raise _gone(files.folder) from None
        if found.inode != files.inode:
            found.close()
            raise _gone(files.folder)
        return found

    def _opened(self) -> Any:
        settings = {"max_dbs": MOST_TABLES, "readonly": True, "create": False, "readahead": False}
        return opened_environment(self._lmdb, self._path, **settings)

    def _told(self) -> AbstractContextManager[None]:
        return errors_of_files(self._lmdb, self._error)

    def _error(self, error: Exception) -> StateFilesError:
        return files_error(self._lmdb, self._path, error)


def _names(txn: Any) -> set[str]:
    with txn.cursor() as cursor:
        return {bytes(key).decode() for key in cursor.iternext(keys=True, values=False)}


def _gone(folder: Path) -> StateStoreMigratedError:
    return StateStoreMigratedError(f"The store files in {folder} are not there any more. Ask app.store again.")
