"""The keyed sink of the runs, in SQLite: a row for each record by `SqlSink`, and how often it came and was written.

Several processes write at the same time, and each may be killed at any moment; a transaction of SQLite survives that.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from attrs import frozen

Key = tuple[str, int, int]
"""Topic, partition, offset."""

_KEY_COLUMNS = ("topic", "partition", "offset")
_BUSY_S = 30.0
_TABLES = """
PRAGMA journal_mode = WAL;
CREATE TABLE deliveries (topic TEXT, partition INTEGER, "offset" INTEGER, delivery_count INTEGER);
CREATE TABLE rewritten (number INTEGER PRIMARY KEY);
CREATE TABLE batches (batch_id INTEGER PRIMARY KEY);
CREATE TRIGGER rewrite AFTER UPDATE ON records BEGIN INSERT INTO rewritten (number) VALUES (NULL); END;
"""


@frozen
class Ledger:
    """The database of one run.

    Attributes:
        path: The file.
    """

    path: Path

    def create(self) -> None:
        """Make the tables."""
        self._sink().create_table()
        with self._transaction() as connection:
            connection.executescript(_TABLES)

    def saw(self, records: Any) -> None:
        """Records have come in an Arrow table, whatever becomes of them."""
        columns = [records.column(name).to_pylist() for name in (*_KEY_COLUMNS, "delivery_count")]
        with self._transaction() as connection:
            connection.executemany("INSERT INTO deliveries VALUES (?, ?, ?, ?)", zip(*columns, strict=True))

    def write(self, records: Any) -> None:
        """Make the records of an Arrow table durable, all or none of them; one that is there is written again."""
        self._sink().write(records)

    def begin_batch(self, batch_id: int) -> bool:
        """Note a micro-batch as sinks do that write each at most once; whether it is new."""
        with self._transaction() as connection:
            return connection.execute("INSERT OR IGNORE INTO batches VALUES (?)", (batch_id,)).rowcount == 1

    # ------------------------------------------------------------------------------------ the judge

    def values(self) -> dict[Key, bytes]:
        """What is in the sink."""
        rows = self._all('SELECT topic, partition, "offset", value FROM records')
        return {(topic, partition, offset): value for topic, partition, offset, value in rows}

    def size(self) -> int:
        """How many records are in the sink."""
        return self._number("SELECT count(*) FROM records")

    def rewrites(self) -> int:
        """How many writes were of records that were there already."""
        return self._number("SELECT count(*) FROM rewritten")

    def redelivered(self) -> int:
        """How many records came with a delivery count above one."""
        return self._number(
            'SELECT count(*) FROM (SELECT DISTINCT topic, partition, "offset" FROM deliveries WHERE delivery_count > 1)'
        )

    def highest_delivery_count(self) -> int:
        """The highest delivery count that any record came with."""
        return self._number("SELECT coalesce(max(delivery_count), 0) FROM deliveries")

    def _number(self, question: str) -> int:
        return int(self._all(question)[0][0])

    def _all(self, question: str) -> list[tuple[str, int, int, bytes]]:
        with self._transaction() as connection:
            return connection.execute(question).fetchall()

    def _sink(self) -> Any:
        from kafka_groups.spark import SqlSink  # noqa: PLC0415 - only where Spark is

        connect = partial(sqlite3.connect, self.path, timeout=_BUSY_S)
        return SqlSink(connect, table="records", columns={"value": "BLOB"}, key_columns=_KEY_COLUMNS)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, timeout=_BUSY_S)
        try:
            with connection:
                yield connection
        finally:
            connection.close()
