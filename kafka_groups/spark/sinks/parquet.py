"""Write Parquet files atomically, for at-least-once writers and Spark as the reader."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.records.schema import RECORD_KEY
from kafka_groups.spark.sinks.batches import SinkBatch, Transform, check_conversion, with_record_key
from kafka_groups.spark.sinks.storage import Storage, storage_of

__all__ = ["ParquetSink"]

_ESCAPED = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{\[\]^]""")
"""The characters that Spark escapes in the names of directories."""

_NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value in the directory name of rows whose value is null or empty."""


class ParquetSink:
    """Writes a batch as a new Parquet file, or as one file in each directory of `partition_by`.

    A file appears under its name when it is complete and durable. On a local disk it is written under a hidden name,
    synced and renamed; in an object store it is uploaded as one object. Its name depends on the records and their
    delivery counts, so writing the same delivery twice leaves one file. Redelivered records are written to other files:
    `read_deduplicated` and `compact` keep one row of each. A worker that is killed while it writes may leave a hidden
    file (`.….tmp`). Nobody reads it, and you may delete it when it is older than any running batch.

    Args:
        path: A directory, or a URI that pyarrow understands (`s3://bucket/folder`, `gs://`, `hdfs://` …).
        transform: Converts the record table (`RECORD_SCHEMA`) to the rows to write: at most one row per record, with
            the columns topic, partition and offset. Without it, the records are written unchanged.
        partition_by: Columns that become directories `name=value`, as Spark writes them.
        options: More arguments for `pyarrow.parquet.write_table`.
        filesystem: The `pyarrow.fs.FileSystem` of `path`, if the URI does not determine it.

    Raises:
        ConfigurationError: `transform` is not an ordinary function of one argument.
    """

    def __init__(
        self,
        path: str,
        *,
        transform: Transform | None = None,
        partition_by: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        filesystem: Any = None,
    ) -> None:
        self._path = str(path)
        check_conversion("transform", transform)
        self._transform = transform
        self._partition_by = tuple(partition_by)
        self._options = dict(options or {})
        self._filesystem = filesystem
        self._storage: Storage | None = None

    def __repr__(self) -> str:
        return f"<ParquetSink to {self._path}>"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_storage": None}

    def __call__(self, batch: SinkBatch) -> None:
        """Transform and write a batch; see `write`."""
        records = batch.to_arrow()
        self._put(_name_of(records), records if self._transform is None else self._transform(records))

    def write(self, table: pa.Table) -> None:
        """Write rows; returns when they are durable. An empty table creates no file.

        Args:
            table: Any columns, including those of `RECORD_KEY`; one row per record.

        Raises:
            ConfigurationError: A column of the key or of `partition_by` is missing.
            OSError: The storage failed; if there are several files, some may have been written.
        """
        self._put(_name_of(with_record_key(table, repr(self))), table)

    def _put(self, name: str, table: pa.Table) -> None:
        with_record_key(table, repr(self))
        missing = [name for name in self._partition_by if name not in table.column_names]
        if missing:
            raise ConfigurationError(f"{self!r} has no column {', '.join(missing)} to make directories from")
        self._storage = self._storage or storage_of(self._path, self._filesystem)
        for directory, part in _parts(table, self._partition_by) if table.num_rows else ():
            content = pa.BufferOutputStream()
            pq.write_table(part, content, **self._options)
            self._storage.put(directory, name, content.getvalue())


def _parts(table: pa.Table, by: Sequence[str]) -> Iterator[tuple[tuple[str, ...], pa.Table]]:
    """Yield the rows of each directory, without the columns that are part of its name."""
    if not by:
        yield (), table
        return
    texts = pa.table({name: table[name].cast(pa.string()) for name in by})
    rest = table.drop_columns(list(by))
    for values in texts.group_by(list(by)).aggregate([]).to_pylist():
        names = tuple(f"{_escaped(name)}={_escaped(value) if value else _NULL}" for name, value in values.items())
        yield names, rest.filter(reduce(pc.and_, (_equal(texts[name], value) for name, value in values.items())))


def _equal(column: Any, value: str | None) -> Any:
    return pc.is_null(column) if value is None else pc.fill_null(pc.equal(column, value), fill_value=False)


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def _name_of(records: pa.Table) -> str:
    """Return a name for exactly these deliveries, independent of their order."""
    columns = [name for name in (*RECORD_KEY, "delivery_count") if name in records.column_names]
    ordered = records.select(columns).sort_by([(name, "ascending") for name in columns]).combine_chunks()
    content = pa.BufferOutputStream()
    with pa.ipc.new_stream(content, ordered.schema) as stream:
        stream.write_table(ordered)
    return f"{hashlib.sha256(content.getvalue()).hexdigest()[:32]}.parquet"
