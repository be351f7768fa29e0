"""One row per record in SQL, however often the record comes and whatever fails."""

import pickle
import sqlite3
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.sinks.sql import MYSQL, POSTGRESQL, SQLITE, Dialect, SqlSink
from tests.support.spark.sink_batches import Batch, record_table


def number_and_length(table: pa.Table) -> Mapping[str, Any]:
    values = table["value"].to_pylist()
    return {"number": [int(value) for value in values], "length": pa.array(map(len, values))}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sink.sqlite"


def sink_to(path: Path, paramstyle: str = "qmark") -> SqlSink:
    made = SqlSink(
        partial(sqlite3.connect, path),
        table="numbers",
        columns={"number": "INTEGER", "length": "INTEGER"},
        row=number_and_length,
        dialect=Dialect(paramstyle=paramstyle),
    )
    made.create_table()
    return made


def rows(path: Path, query: str = "SELECT * FROM numbers ORDER BY 1, 2, 3") -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize(
    "paramstyle",
    [
        "qmark",
        pytest.param(
            "numeric",
            marks=pytest.mark.skipif(sys.version_info >= (3, 12), reason="sqlite3 deprecated its own numeric style"),
        ),
        "named",
    ],
)
def test_each_record_is_a_row_with_its_key(path: Path, paramstyle: str) -> None:
    sink: SqlSink = pickle.loads(pickle.dumps(sink_to(path, paramstyle)))
    sink(Batch(record_table([5, 10])))
    sink(Batch(record_table([5], topic="u", partition=3)))
    assert rows(path) == [("t", 0, 5, 5, 1), ("t", 0, 10, 10, 2), ("u", 3, 5, 5, 1)]


def test_a_record_that_comes_again_overwrites_its_row(path: Path) -> None:
    sink = sink_to(path)
    sink(Batch(record_table(range(3))))
    sink(Batch(record_table([2, 3], delivery_count=2, values=[b"222", b"333"])))
    assert [row[3] for row in rows(path)] == [0, 1, 222, 333]


def test_a_batch_is_written_as_a_whole_or_not_at_all(path: Path) -> None:
    sink = sink_to(path)
    refusal = "CREATE TRIGGER odd BEFORE INSERT ON numbers WHEN NEW.number = 7 BEGIN SELECT RAISE(ABORT, 'no'); END"
    assert rows(path, refusal) == []
    with pytest.raises(sqlite3.Error, match="no"):
        sink(Batch(record_table([6, 7, 8])))
    assert rows(path) == []


def test_an_empty_batch_does_not_connect() -> None:
    sink = SqlSink(lambda: pytest.fail("connected"), table="t", columns={})
    sink(Batch(record_table([])))


def test_columns_of_the_record_itself_need_no_function(path: Path) -> None:
    sink = SqlSink(partial(sqlite3.connect, path), table="main.raw", columns={"key": "BLOB", "value": "BLOB"})
    sink.create_table()
    sink.create_table()
    sink(Batch(record_table([4])))
    assert rows(path, "SELECT kafka_topic, kafka_partition, kafka_offset, key, value FROM raw") == [
        ("t", 0, 4, b"k4", b"4")
    ]


def test_a_table_of_keys_alone_takes_records_twice(path: Path) -> None:
    sink = SqlSink(partial(sqlite3.connect, path), table="seen", columns={}, key_columns=("a", "b", "offset"))
    sink.create_table()
    for _ in range(2):
        sink(Batch(record_table(range(3))))
    assert rows(path, "SELECT * FROM seen ORDER BY 3") == [("t", 0, 0), ("t", 0, 1), ("t", 0, 2)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (lambda table: {"number": table["offset"]}, "row gave the columns number,"),
        (lambda table: {"number": table["offset"], "length": [1]}, "1 value of length for 2 records"),
    ],
)
def test_a_row_function_that_gives_something_else_is_refused(path: Path, row: Any, message: str) -> None:
    sink = SqlSink(partial(sqlite3.connect, path), table="numbers", columns={"number": "X", "length": "X"}, row=row)
    sink.create_table()
    with pytest.raises(ConfigurationError, match=message):
        sink(Batch(record_table([1, 2])))


def test_rows_without_their_key_are_refused(path: Path) -> None:
    with pytest.raises(ConfigurationError, match="without offset"):
        sink_to(path).write(record_table([1]).drop_columns(["offset"]))


class AutocommitConnection(sqlite3.Connection):
    autocommit = True


def test_autocommit_is_refused_as_it_would_write_half_a_batch(path: Path) -> None:
    connect = partial(sqlite3.connect, path, factory=AutocommitConnection)
    with pytest.raises(ConfigurationError, match="autocommit"):
        SqlSink(connect, table="t", columns={}).create_table()


@pytest.mark.parametrize("does_first_fail", [False, True])
def test_a_connect_that_returns_the_connection_that_was_closed_is_refused(path: Path, does_first_fail: bool) -> None:
    connection = sqlite3.connect(path)
    sink = SqlSink(lambda: connection, table="t", columns={}, row=lambda _: {})
    if does_first_fail:
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            sink(Batch(record_table([1])))
    else:
        sink.create_table()
    message = "returns the same connection again, which <SqlSink to t> closed after the batch before .*closed database"
    with pytest.raises(ConfigurationError, match=message):
        sink(Batch(record_table([1])))


class PooledConnection(sqlite3.Connection):
    """Goes back to its pool when it is closed."""

    def close(self) -> None:
        self.rollback()


def test_a_pool_may_return_a_connection_again(path: Path) -> None:
    connection = sqlite3.connect(path, factory=PooledConnection)
    sink = SqlSink(lambda: connection, table="t", columns={})
    sink.create_table()
    for offset in range(2):
        sink(Batch(record_table([offset])))
    assert len(rows(path, "SELECT * FROM t")) == 2
    sqlite3.Connection.close(connection)


def test_another_connection_that_is_broken_raises_the_error_of_its_driver(path: Path) -> None:
    def broken() -> sqlite3.Connection:
        connection = sqlite3.connect(path)
        connection.close()
        return connection

    sink = SqlSink(broken, table="t", columns={})
    for _ in range(2):
        with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
            sink.create_table()


def test_dialects_write_the_upsert_that_their_database_has() -> None:
    keys, columns = ("t", "p", "o"), ["a", "b"]
    assert SQLITE.upsert("x", keys, columns) == (
        'INSERT INTO "x" ("t", "p", "o", "a", "b") VALUES (?, ?, ?, ?, ?) ON CONFLICT ("t", "p", "o") '
        'DO UPDATE SET "a" = excluded."a", "b" = excluded."b"'
    )
    assert POSTGRESQL.upsert("s.x", keys, []).startswith('INSERT INTO "s"."x" ("t", "p", "o") VALUES (%s, %s, %s) ON')
    assert MYSQL.upsert("x", keys, ["a"]) == (
        "INSERT INTO `x` (`t`, `p`, `o`, `a`) VALUES (%s, %s, %s, %s) ON DUPLICATE KEY UPDATE `a` = VALUES(`a`)"
    )
    named = Dialect(paramstyle="pyformat")
    assert "VALUES (%(t)s, %(p)s, %(o)s, %(a)s, %(b)s)" in named.upsert("x", keys, columns)
    with pytest.raises(ConfigurationError, match="paramstyle is 'dollar'"):
        Dialect(paramstyle="dollar")
    assert Dialect().quoted('a"b') == '"a""b"'
