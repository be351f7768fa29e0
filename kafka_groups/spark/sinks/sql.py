"""Rows in an SQL database through DB-API 2.0: one row per record, however often the record is delivered."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

import pyarrow as pa
from attrs import field, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.schema import RECORD_KEY
from kafka_groups.spark.sinks.batches import SinkBatch, with_record_key

__all__ = ["MYSQL", "POSTGRESQL", "SQLITE", "Connection", "Dialect", "SqlSink"]

_KEY_TYPES = ("VARCHAR(249)", "INTEGER", "BIGINT")
"""A topic's name has at most 249 characters."""

_PLACEHOLDERS: Mapping[str, str] = MappingProxyType({
    "qmark": "?",
    "format": "%s",
    "numeric": ":{number}",
    "named": ":{name}",
    "pyformat": "%({name})s",
})  # fmt: skip


class Connection(Protocol):
    """What is used of a DB-API connection, which must not be in autocommit mode."""

    def cursor(self) -> Any:
        """A cursor with `execute`, `executemany` and `close`."""
        ...

    def commit(self) -> object:
        """End the transaction and keep what it did."""
        ...

    def rollback(self) -> object:
        """End the transaction and drop what it did."""
        ...

    def close(self) -> object:
        """Give the connection back."""
        ...


def _known_style(_: object, attribute: Any, value: str) -> None:
    if value not in _PLACEHOLDERS:
        raise ConfigurationError(f"{attribute.name} is {value!r}; give one of {', '.join(_PLACEHOLDERS)}")


@frozen(kw_only=True)
class Dialect:
    """How a database and its driver want an upsert written.

    Attributes:
        paramstyle: The driver's, as its module says (`module.paramstyle`).
        quote: What stands on either side of a name.
        conflict: What follows the values so that a row that is there is overwritten; `{keys}` and `{updates}` are
            filled in.
        update: How one column is overwritten in `conflict`, with `{column}`.
    """

    paramstyle: str = field(default="qmark", validator=_known_style)
    quote: str = '"'
    conflict: str = "ON CONFLICT ({keys}) DO UPDATE SET {updates}"
    update: str = "{column} = excluded.{column}"

    def quoted(self, name: str) -> str:
        """The name as an identifier."""
        return f"{self.quote}{name.replace(self.quote, 2 * self.quote)}{self.quote}"

    def quoted_table(self, name: str) -> str:
        """The name of a table, which may have its schema before it with a dot between."""
        return ".".join(map(self.quoted, name.split(".")))

    def upsert(self, table: str, keys: Sequence[str], columns: Sequence[str]) -> str:
        """The statement that writes one row, or writes it over the one that has its key."""
        names = [*keys, *columns]
        quoted = {name: self.quoted(name) for name in names}
        # Without other columns a key is set to itself: nothing changes, and no database needs a clause of its own.
        updates = ", ".join(self.update.format(column=quoted[name]) for name in columns or keys[:1])
        conflict = self.conflict.format(keys=", ".join(quoted[name] for name in keys), updates=updates)
        return (
            f"INSERT INTO {self.quoted_table(table)} ({', '.join(quoted.values())})"  # noqa: S608 - names of the program
            f" VALUES ({', '.join(self._placeholders(names))}) {conflict}"
        )

    def create(self, table: str, keys: Sequence[str], columns: Mapping[str, str]) -> str:
        """The statement that makes the table if it is not there."""
        typed = [*zip(keys, (f"{sql_type} NOT NULL" for sql_type in _KEY_TYPES), strict=True), *columns.items()]
        listed = ", ".join(f"{self.quoted(name)} {sql_type}" for name, sql_type in typed)
        key = ", ".join(map(self.quoted, keys))
        return f"CREATE TABLE IF NOT EXISTS {self.quoted_table(table)} ({listed}, PRIMARY KEY ({key}))"

    def parameters(self, names: Sequence[str], values: Sequence[Sequence[Any]]) -> Iterable[Any]:
        """Columns of values as the rows that the driver takes."""
        rows = zip(*values, strict=True)
        if self.paramstyle in ("named", "pyformat"):
            return (dict(zip(names, row, strict=True)) for row in rows)
        return rows

    def _placeholders(self, names: Sequence[str]) -> list[str]:
        form = _PLACEHOLDERS[self.paramstyle]
        return [form.format(number=number, name=name) for number, name in enumerate(names, 1)]


SQLITE = Dialect()
"""The standard library's `sqlite3`; SQLite 3.24 or newer."""

POSTGRESQL = Dialect(paramstyle="format")
"""`psycopg` and `psycopg2`."""

MYSQL = Dialect(
    paramstyle="format", quote="`", conflict="ON DUPLICATE KEY UPDATE {updates}", update="{column} = VALUES({column})"
)
"""`PyMySQL`, `mysqlclient` and `mysql-connector-python`."""


@frozen(kw_only=True)
class _Table:
    name: str
    keys: tuple[str, ...]
    columns: Mapping[str, str]
    dialect: Dialect


class SqlSink:
    """Writes a batch in one transaction: each record is one row, keyed by topic, partition and offset.

    A record that is delivered again overwrites its row, so that the table has one row per record whatever fails. The
    sink connects for each batch and closes the connection after it; give a pool's method where connecting is dear.

    Args:
        connect: Makes a DB-API connection that is not in autocommit mode; it is pickled and called in Spark's workers.
        table: Name of the table, with its schema before it if need be; `create_table` makes it.
        columns: The columns other than the key, with their SQL types.
        row: From the record table (`RECORD_SCHEMA`) to values for `columns`, by name and as long as the table:
            Arrow arrays or sequences. Without it, `columns` are columns of the record table itself.
        key_columns: What the table calls topic, partition and offset.
        dialect: How the upsert is written; `SQLITE`, `POSTGRESQL`, `MYSQL` or one of your own.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        *,
        table: str,
        columns: Mapping[str, str],
        row: Callable[[pa.Table], Mapping[str, Any]] | None = None,
        key_columns: tuple[str, str, str] = ("kafka_topic", "kafka_partition", "kafka_offset"),
        dialect: Dialect = SQLITE,
    ) -> None:
        self._connect = connect
        self._table = _Table(name=table, keys=key_columns, columns=dict(columns), dialect=dialect)
        self._row = row or partial(_columns_of, tuple(columns))

    def __repr__(self) -> str:
        return f"<SqlSink to {self._table.name}>"

    def __call__(self, batch: SinkBatch) -> None:
        """Write a batch; see `write`."""
        self.write(batch.to_arrow())

    def write(self, table: pa.Table) -> None:
        """Write records; returns when the database has committed them.

        Args:
            table: Records of `RECORD_SCHEMA`, or what `row` makes columns of.

        Raises:
            ConfigurationError: `row` does not give the columns, or the key is missing.
            Exception: Whatever the driver raises; nothing of the batch is written then.
        """
        if not table.num_rows:
            return
        with_record_key(table, repr(self))
        values = [*(table[name].to_pylist() for name in RECORD_KEY), *self._values(table)]
        names = [*self._table.keys, *self._table.columns]
        dialect = self._table.dialect
        statement = dialect.upsert(self._table.name, self._table.keys, list(self._table.columns))
        self._in_transaction(lambda cursor: cursor.executemany(statement, dialect.parameters(names, values)))

    def create_table(self) -> None:
        """Make the table if it is not there; call it once, before the workers start."""
        statement = self._table.dialect.create(self._table.name, self._table.keys, self._table.columns)
        self._in_transaction(lambda cursor: cursor.execute(statement))

    def _values(self, table: pa.Table) -> list[Sequence[Any]]:
        made = self._row(table)
        if set(made) != set(self._table.columns):
            raise ConfigurationError(
                f"row gave the columns {', '.join(map(str, made)) or 'none'}, but the table of {self!r} has "
                f"{', '.join(self._table.columns)}"
            )
        values = [_sequence(made[name]) for name in self._table.columns]
        for name, column in zip(self._table.columns, values, strict=True):
            if len(column) != table.num_rows:
                raise ConfigurationError(f"row gave {len(column)} values of {name} for {table.num_rows} records")
        return values

    def _in_transaction(self, work: Callable[[Any], object]) -> None:
        with closing(self._connect()) as connection:
            if getattr(connection, "autocommit", False) is True:
                raise ConfigurationError(f"{self!r} needs connections that are not in autocommit mode")
            try:
                with closing(connection.cursor()) as cursor:
                    work(cursor)
                connection.commit()
            except BaseException:
                connection.rollback()
                raise


def _columns_of(names: tuple[str, ...], table: pa.Table) -> Mapping[str, Any]:
    return {name: table[name] for name in names}


def _sequence(column: Any) -> Sequence[Any]:
    made: Sequence[Any] = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return made
