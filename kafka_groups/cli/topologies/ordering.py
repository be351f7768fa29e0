"""The order in which records are piped: by time, over all inputs."""

import heapq
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from attrs import frozen

from kafka_groups.cli.topologies.input_records import InputRecord
from kafka_groups.types import Headers

__all__ = ["InputFile", "merged"]

T = TypeVar("T")


@frozen(kw_only=True)
class InputFile:
    """A file with the records of a topic.

    Attributes:
        topic: The topic.
        path: The file.
        read: Iterates over the records in the order of the lines, from the first one with each call.
    """

    topic: str
    path: Path
    read: Callable[[], Iterator[InputRecord]]

    def in_order_of_time(self) -> Iterator[InputRecord]:
        """Iterate over the records by time, and by line where times are equal.

        An ordinary file is looked through first, and if its lines are in order, it is read as it is. Other files are
        sorted in a temporary database, so that a large file takes space on the disk and not in memory.
        """
        return self.read() if self.path.is_file() and _is_sorted(self.read()) else _sorted(self.read())


def merged(files: Sequence[InputFile], *, keep_order: bool) -> Iterator[tuple[InputFile, InputRecord]]:
    """Iterate over the records of all files by time, and in the order of the files where times are equal.

    Args:
        files: The files.
        keep_order: Keep the order of the lines of each file, as in a partition of a topic. The next record is always
            the earliest of those that are next in their files.
    """
    streams = (_placed(file, file.read() if keep_order else file.in_order_of_time()) for file in files)
    return heapq.merge(*streams, key=lambda placed: placed[1].timestamp_ms)


def _placed(file: InputFile, records: Iterable[InputRecord]) -> Iterator[tuple[InputFile, InputRecord]]:
    return ((file, record) for record in records)


def _is_sorted(records: Iterable[InputRecord]) -> bool:
    latest_ms: int | None = None
    for record in records:
        if latest_ms is not None and record.timestamp_ms < latest_ms:
            return False
        latest_ms = record.timestamp_ms
    return True


def _sorted(records: Iterable[InputRecord]) -> Iterator[InputRecord]:
    # A database without a name is a temporary file that SQLite removes. A small one stays in memory. Any thread may
    # close it: the garbage collector does, if a reader stops in the middle.
    with closing(sqlite3.connect("", check_same_thread=False)) as database:
        database.execute(
            "CREATE TABLE records (timestamp_ms INTEGER, line INTEGER, key BLOB, value BLOB, headers TEXT)"
        )
        rows = ((*record[:-1], _written(record.headers)) for record in records)
        database.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", rows)
        for timestamp_ms, line, key, value, headers in database.execute(
            "SELECT * FROM records ORDER BY timestamp_ms, line"
        ):
            yield InputRecord(timestamp_ms, line, key, value, _read(headers))


def _written(headers: Headers) -> str | None:
    if not headers:
        return None
    return json.dumps([[name, None if value is None else value.hex()] for name, value in headers])


def _read(text: str | None) -> Headers:
    written = [] if text is None else json.loads(text)
    return tuple((name, None if value is None else bytes.fromhex(value)) for name, value in written)
