"""Reads an environment of LMDB without changing its data, whether or not a process writes to it.

Damaged files can end the process that reads them, so this runs in a process of its own: see `reading_process`.
"""

import os
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from kafka_groups.errors.texts import counted
from kafka_groups.streams.engines.files_errors import files_error
from kafka_groups.streams.engines.lmdb_engine import (
    MOST_READERS,
    MOST_TABLES,
    POSITIONS,
    lmdb_module,
    position_in,
)
from kafka_groups.streams.engines.lmdb_rows import EMPTY_KEYS, LmdbRows
from kafka_groups.streams.engines.lock_holders import has_environment_open
from kafka_groups.streams.engines.mapped_files import opened_environment
from kafka_groups.streams.errors import CorruptedStateError, StateDiskError, StateFilesError
from kafka_groups.types import TopicPartition

__all__ = ["FoundState", "StoreSize", "found_state"]

_PART_BYTES: Final = 64 << 20
"""The most that one transaction reads: the file of an application grows while somebody reads what it had before."""
_ROW_BYTES: Final = 100
"""The cost of a row in addition to its bytes."""


@frozen
class StoreSize:
    """The size of a store.

    Attributes:
        rows: The number of its rows. Some of them may have expired.
        pages_bytes: The bytes of its pages.
    """

    rows: int = 0
    pages_bytes: int = 0

    def __add__(self, other: "StoreSize") -> "StoreSize":
        return StoreSize(self.rows + other.rows, self.pages_bytes + other.pages_bytes)


@frozen(kw_only=True)
class FoundState:
    """The content of an environment.

    Attributes:
        stores: The size of each store that has a table. Stores of windows and sessions have a table for each segment.
        positions: The next offset in each changelog.
        file_bytes: The size of the file.
    """

    stores: Mapping[str, StoreSize]
    positions: Mapping[TopicPartition, int]
    file_bytes: int


def found_state(folder: Path, *, check: bool) -> FoundState:
    """Return the content of an environment.

    Args:
        folder: Its folder.
        check: Whether to read all its rows.

    Raises:
        CorruptedStateError: The files are damaged.
        StateDiskError: They cannot be read.
    """
    if not has_environment_open(folder):
        found = _read_alone(folder, check=check)
        if found is not None:
            return found
    _check_lock(folder)
    return _read(folder, check=check, lock=True)


def _read_alone(folder: Path, *, check: bool) -> FoundState | None:
    """Read what nobody has open, without a trace: a change of a file would count as use, and put off its deletion.

    Returns:
        None: somebody has opened it in the meantime, and may have written over what was read.
    """
    try:
        found = _read(folder, check=check, lock=False)
    except StateFilesError:
        if has_environment_open(folder):
            return None
        raise
    return None if has_environment_open(folder) else found


def _check_lock(folder: Path) -> None:
    """Check that writers can be told that somebody reads, so that they keep the pages: an entry in `lock.mdb` does.

    Raises:
        StateDiskError: They cannot.
    """
    if not os.access(folder / "lock.mdb", os.W_OK):
        raise StateDiskError(
            f"A process has the store files in {folder} open. Reading them needs the right to write to lock.mdb: "
            "run the command as the user of the application."
        )


def _read(folder: Path, *, check: bool, lock: bool) -> FoundState:
    with _told(folder), _opened(folder, lock=lock) as env:
        tables = dict(_tables(env))
        with env.begin() as txn:
            found = FoundState(
                stores=_sizes(txn, tables),
                positions=_positions(txn, tables),
                file_bytes=(folder / "data.mdb").stat().st_size,
            )
        for name, table in tables.items() if check else ():
            _read_table(env, name, table)
    return found


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    lmdb = lmdb_module()
    try:
        yield
    except KeyError as error:
        raise CorruptedStateError(f"the store files in {folder} are damaged: they lack table {error}") from error
    except (lmdb.CursorFullError, struct.error, UnicodeDecodeError) as error:
        raise CorruptedStateError(f"the store files in {folder} are damaged: {error}") from error
    except (OSError, lmdb.Error) as error:
        raise files_error(lmdb, folder, error) from error


@contextmanager
def _opened(folder: Path, *, lock: bool) -> Iterator[Any]:
    with opened_environment(
        lmdb_module(),
        folder,
        max_dbs=MOST_TABLES,
        # If the writer has just gone, this is the first process, which decides for others how many may read.
        max_readers=MOST_READERS,
        readonly=True,
        create=False,
        readahead=False,
        lock=lock,
    ) as env:
        yield env


def _tables(env: Any) -> Iterator[tuple[str, Any]]:
    with env.begin() as txn, txn.cursor() as cursor:
        names = [bytes(key) for key in cursor.iternext(keys=True, values=False)]
    for name in names:
        with _unless_dropped():
            yield name.decode(), env.open_db(name, create=False)


@contextmanager
def _unless_dropped() -> Iterator[None]:
    """Leave a table out that a writer has dropped in the meantime, because what it had has expired."""
    with suppress(lmdb_module().BadDbiError, lmdb_module().NotFoundError):
        yield


def _sizes(txn: Any, tables: Mapping[str, Any]) -> dict[str, StoreSize]:
    found: defaultdict[str, StoreSize] = defaultdict(StoreSize)
    for name, table in tables.items():
        if not name.startswith("#"):
            with _unless_dropped():
                found[name.partition("@")[0]] += _size(txn, LmdbRows(name, table, tables[EMPTY_KEYS]))
    return dict(found)


def _size(txn: Any, rows: LmdbRows) -> StoreSize:
    pages = txn.stat(rows.db)
    count = pages["branch_pages"] + pages["leaf_pages"] + pages["overflow_pages"]
    return StoreSize(rows.count(txn), count * pages["psize"])


def _positions(txn: Any, tables: Mapping[str, Any]) -> dict[TopicPartition, int]:
    if POSITIONS not in tables:
        return {}
    with txn.cursor(tables[POSITIONS]) as cursor:
        return dict(position_in(key, value) for key, value in cursor.iternext())


def _read_table(env: Any, name: str, table: Any) -> None:
    """Read all rows of a table in parts, each in a transaction."""
    after: bytes | None = b""
    with _unless_dropped():
        while after is not None:
            with env.begin() as txn:
                after = _read_part(txn, name, table, after)


def _read_part(txn: Any, name: str, table: Any, after: bytes) -> bytes | None:
    """Read rows behind a key. Return the last one's key, or None if no row follows."""
    last, count, size = after, 0, 0
    key: bytes
    with txn.cursor(table) as cursor:
        is_there = cursor.set_range(after) if after else cursor.first()
        # The row that was read last shows that its neighbour is in order. A writer may have deleted it.
        if is_there and cursor.key() == after:
            is_there = cursor.next()
        for key, value in cursor.iternext() if is_there else ():
            # Damaged pages may lead to rows again, or to others, without an error of LMDB's.
            if key <= last:
                raise CorruptedStateError(f"the rows of table {name!r} are not in the order of their keys")
            last, count, size = key, count + 1, size + len(key) + len(value) + _ROW_BYTES
            if size >= _PART_BYTES:
                return last
    if not after and count != (known := txn.stat(table)["entries"]):
        raise CorruptedStateError(f"{counted(known, 'row')} should be in table {name!r}, and {count:,} were read")
    return None
