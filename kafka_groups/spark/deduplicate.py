"""Remove duplicate rows from the files of an at-least-once sink, when you read them or by rewriting them.

Both need files with the columns topic, partition and offset, as `ParquetSink` writes them. They use only DataFrames, so
they work with classic Spark and with Spark Connect.

`compact` follows one rule: it deletes a file only when each of its rows is in files that are complete, durable and in
place. Readers therefore see every row at least once, and `read_deduplicated` removes the duplicates. This may happen
during a compaction:

- Writers add files. Files that appear after the compaction has begun are not touched.
- Readers. A read that listed the files before they were deleted fails with a missing file; repeat it. Keep
  `spark.sql.files.ignoreMissingFiles` off: with it, such a read would skip rows.
- A crash. Before the deletion, only work is lost. After it, there may be duplicate rows, which the next compaction
  removes.
- Another compaction. Nothing is lost, but one may fail or repeat the work of the other, so run one at a time.
"""

import secrets
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
from attrs import frozen

from kafka_groups.spark.processes.interpreter import choose_python, explained, use_driver_python
from kafka_groups.spark.records.schema import RECORD_KEY
from kafka_groups.spark.sinks.replacement import Replacement, path_of_uri, replace_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Compaction", "compact", "read_deduplicated"]


@frozen
class Compaction:
    """The result of a compaction.

    Attributes:
        files_before: Files that were replaced.
        files_after: Files that replaced them.
        rows_before: Rows of the files that were replaced.
        rows_after: Rows of the files that replaced them: one for each record.
    """

    files_before: int
    files_after: int
    rows_before: int
    rows_after: int

    @property
    def duplicates_removed(self) -> int:
        """The number of duplicate rows that were removed."""
        return self.rows_before - self.rows_after


def read_deduplicated(spark: "SparkSession", path: str) -> "DataFrame":
    """Read the Parquet files under a path with one row per record, by topic, partition and offset.

    If a record has several rows, any one of them is kept. They should differ only in the delivery count.

    Args:
        spark: The session, classic or Connect.
        path: The directory, as Spark writes it (`s3a://…` for what pyarrow calls `s3://…`).
    """
    choose_python(spark)
    return spark.read.option("mergeSchema", "true").parquet(path).dropDuplicates([*RECORD_KEY])


def compact(spark: "SparkSession", path: str, *, files: int | None = None) -> Compaction:
    """Rewrite the Parquet files under a path as fewer files with one row for each record; see the module for the rule.

    Blocks until the files are replaced. Spark reads and writes the rows. A task renames and deletes files, so it
    must be able to reach the storage through pyarrow, as the sink does.

    Args:
        spark: The session, classic or Connect.
        path: The directory, as Spark writes it.
        files: The most files to write in each directory of `partition_by`; None lets Spark decide.

    Raises:
        ConfigurationError: Spark's Python lacks this package; nothing was changed.
        pyspark.errors.AnalysisException: There is no Parquet file under the path.
        OSError: The storage failed. Nothing is lost, and the next call continues from there.
    """
    use_driver_python(spark)
    directory = path if ":" in path else str(Path(path).absolute())
    before = tuple(sorted(spark.read.parquet(directory).inputFiles()))
    rows = _read(spark, directory, before)
    counts = _counts(rows)
    staging = f".compact-{secrets.token_hex(8)}"
    kept = rows.dropDuplicates([*RECORD_KEY])
    writer = (kept if files is None else kept.repartition(files)).write
    writer.partitionBy(*_partition_columns(directory, before[0])).parquet(f"{directory}/{staging}")
    plan = Replacement(directory, staging, before, counts.records)
    done = _replaced(spark, plan)
    return Compaction(len(before), done["files"], counts.rows, done["rows"])


def _replaced(spark: "SparkSession", plan: Replacement) -> Any:
    """Run the task that changes the directory, and return its row."""
    try:
        return spark.range(0, 1, 1, 1).mapInArrow(partial(_replace, plan), "files BIGINT, rows BIGINT").collect()[0]
    except Exception as error:
        # Errors of py4j, of gRPC or of Spark, whose text is the only sign of a Python without this package. Others are
        # raised.
        explanation = explained(error)
        if explanation is None:
            raise
        raise explanation from None  # which says in a line what Spark says on screens


def _read(spark: "SparkSession", directory: str, files: Sequence[str]) -> "DataFrame":
    # What a sink writes may get more columns with time: without merging, one file would decide which there are.
    reader = spark.read.option("mergeSchema", "true").option("basePath", directory)
    return reader.parquet(*map(unquote, files))


@frozen
class _Counts:
    rows: int
    records: int


def _counts(rows: "DataFrame") -> _Counts:
    by_record = rows.groupBy(*RECORD_KEY).count()
    (counted,) = by_record.selectExpr("sum(`count`) AS number", "count(1) AS records").collect()
    return _Counts(counted["number"] or 0, counted["records"])


def _partition_columns(directory: str, file: str) -> list[str]:
    """Return the columns in the names of the directories between the directory and one of its files."""
    whole = path_of_uri(file) if file.startswith("file:") else unquote(file)
    folders = whole.removeprefix(path_of_uri(directory)).split("/")[:-1]
    return [unquote(folder.partition("=")[0]) for folder in folders if "=" in folder]


def _replace(plan: Replacement, batches: Iterator[Any]) -> Iterator[Any]:
    """Return the task that changes the directory: one row in, one row out."""
    for batch in batches:
        if batch.num_rows:
            done = replace_files(plan)
            yield pa.RecordBatch.from_pydict({"files": [done.files], "rows": [done.rows]})
