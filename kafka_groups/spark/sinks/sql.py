"""Write rows to an SQL database through DB-API 2.0: one row per record, however often it is delivered."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol

import pyarrow as pa
from attrs import field, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import counted, named
from kafka_groups.spark.records.schema import RECORD_KEY
from kafka_groups.spark.sinks.batches import SinkBatch, check_conversion, with_record_key

__all__ = ["MYSQL", "POSTGRESQL", "SQLITE", "Connection", "Dialect", "SqlSink"]

_KEY_TYPES = ("VARCHAR(249)", "INTEGER", "BIGINT")
"""The name of a topic has at most 249 characters."""

_PLACEHOLDERS: Mapping[str, str] = MappingProxyType({
    "qmark": "?",
    "format": "%s",
    "numeric": ":{number}",
    "named": ":{name}",
    "pyformat": "%({name})s",
})  # fmt: skip


class Connection(Protocol):
    """The part of a DB-API connection that is used. It must not be in autocommit mode."""

    def cursor(self) -> Any:
        """Return a cursor with `execute`, `executemany` and `close`."""
        ...

    def commit(self) -> object:
        """Commit the transaction."""
        ...

    def rollback(self) -> object:
        """Roll the transaction back."""
        ...

    def close(self) -> object:
        """Close the connection, or return it to its pool."""
        ...


def _known_style(_: object, attribute: Any, value: str) -> None:
    if value not in _PLACEHOLDERS:
        raise ConfigurationError(f"{attribute.name} is {value!r}; give one of {', '.join(_PLACEHOLDERS)}")


@frozen(kw_only=True)
class Dialect:
    """The syntax of an upsert for a database and its driver.

    Attributes:
        paramstyle: The driver's parameter style (`module.paramstyle`).
        quote: The quotation mark around names.
        conflict: The clause after the values that overwrites an existing row, with the placeholders `{keys}` and
            `{updates}`.
        update: The assignment of one column in `conflict`, with the placeholder `{column}`.
    """

    paramstyle: str = field(default="qmark", validator=_known_style)
    quote: str = '"'
    conflict: str = "ON CONFLICT ({keys}) DO UPDATE SET {updates}"
    update: str = "{column} = excluded.{column}"

    def quoted(self, name: str) -> str:
        """Return the name as a quoted identifier."""
        return f"{self.quote}{name.replace(self.quote, 2 * self.quote)}{self.quote}"

    def quoted_table(self, name: str) -> str:
        """Return the quoted name of a table, which may start with a schema and a dot."""
        return ".".join(map(self.quoted, name.split(".")))

    def upsert(self, table: str, keys: Sequence[str], columns: Sequence[str]) -> str:
        """Return the statement that inserts a row or overwrites the one with its key."""
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
        """Return the statement that creates the table if it does not exist."""
        typed = [*zip(keys, (f"{sql_type} NOT NULL" for sql_type in _KEY_TYPES), strict=True), *columns.items()]
        listed = ", ".join(f"{self.quoted(name)} {sql_type}" for name, sql_type in typed)
        key = ", ".join(map(self.quoted, keys))
        return f"CREATE TABLE IF NOT EXISTS {self.quoted_table(table)} ({listed}, PRIMARY KEY ({key}))"

    def parameters(self, names: Sequence[str], values: Sequence[Sequence[Any]]) -> Iterable[Any]:
        """Convert columns of values to the rows that the driver expects."""
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

    A redelivered record overwrites its row, so the table has one row per record. The sink opens a connection for each
    batch and closes it afterwards. If connecting is slow, pass a method of a connection pool, which may return the same
    connection again.

    Args:
        connect: Opens a DB-API connection that is not in autocommit mode; it is pickled and called in Spark's workers,
            once for each batch.
        table: Name of the table, optionally with its schema; `create_table` creates it.
        columns: The columns other than the key, with their SQL types.
        row: Converts the record table (`RECORD_SCHEMA`) to the values of `columns`, by name: Arrow arrays or sequences
            as long as the table. Without it, `columns` are columns of the record table itself.
        key_columns: The names of topic, partition and offset in the table.
        dialect: The syntax of the upsert: `SQLITE`, `POSTGRESQL`, `MYSQL` or your own.

    Raises:
        ConfigurationError: `connect` or `row` is not a function that fits.
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
        if not callable(connect):
            raise ConfigurationError(
                f"connect={connect!r} is not callable: give a function that opens a connection, because a connection"
                " cannot be sent to the workers"
            )
        check_conversion("row", row)
        self._connect = connect
        self._table = _Table(name=table, keys=key_columns, columns=dict(columns), dialect=dialect)
        self._row = row or partial(_columns_of, tuple(columns))
        self._closed: Connection | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_closed": None}  # connections belong to a process

    def __repr__(self) -> str:
        return f"<SqlSink to {self._table.name}>"

    def __call__(self, batch: SinkBatch) -> None:
        """Write a batch; see `write`."""
        self.write(batch.to_arrow())

    def write(self, table: pa.Table) -> None:
        """Write records; returns when the database has committed them.

        Args:
            table: Records with the columns of `RECORD_SCHEMA`, or a table that `row` accepts.

        Raises:
            ConfigurationError: `row` does not return the columns, or the key is missing. Or `connect` returns the
                connection of an earlier batch, which was closed.
            Exception: An error of the driver; nothing of the batch is written.
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
        """Create the table if it does not exist. Call it once, before the workers start."""
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
                values_given, records = counted(len(column), "value"), counted(table.num_rows, "record")
                raise ConfigurationError(f"row gave {values_given} of {name} for {records}")
        return values

    def _in_transaction(self, work: Callable[[Any], object]) -> None:
        connection = self._connect()
        try:
            self._write_with(connection, work)
        finally:
            connection.close()
            self._closed = connection

    def _write_with(self, connection: Connection, work: Callable[[Any], object]) -> None:
        # In autocommit mode, a failure in the middle would leave a part of the batch behind.
        if getattr(connection, "autocommit", False) is True:
            raise ConfigurationError(f"{self!r} needs connections that are not in autocommit mode")
        cursor = self._cursor(connection)
        try:
            with closing(cursor):
                work(cursor)
            connection.commit()
        except BaseException:
            # Drivers have errors of their own, and Ctrl-C may come as well. The transaction is rolled back, and
            # everything is raised.
            connection.rollback()
            raise

    def _cursor(self, connection: Connection) -> Any:
        """Return a cursor. A pool may return a connection again, but then it works."""
        try:
            return connection.cursor()
        except Exception as error:  # each driver has its own
            if connection is not self._closed:
                raise
            raise ConfigurationError(
                f"connect={self._connect!r} returns the same connection again, which {self!r} closed after the batch"
                f" before ({named(error)}). Give a function that opens a connection each time, or a method of a pool"
            ) from error


def _columns_of(names: tuple[str, ...], table: pa.Table) -> Mapping[str, Any]:
    return {name: table[name] for name in names}


def _sequence(column: Any) -> Sequence[Any]:
    made: Sequence[Any] = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return made
