"""Record tables for tests of sinks, and a batch that is nothing but one."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import frozen

from kafka_groups.spark.deduplicate import compact, read_deduplicated
from kafka_groups.spark.records.schema import RECORD_SCHEMA
from kafka_groups.spark.sinks.parquet import ParquetSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["COMPACTED", "Batch", "compacted", "record_table"]


@frozen
class Batch:
    """What a sink needs of a batch."""

    table: pa.Table

    def to_arrow(self) -> pa.Table:
        return self.table


def record_table(
    offsets: Iterable[int],
    *,
    topic: str = "t",
    partition: int = 0,
    delivery_count: int = 1,
    values: Sequence[bytes] | None = None,
) -> pa.Table:
    """Records at the offsets; the value of each is its offset unless said otherwise."""
    rows: list[dict[str, Any]] = [
        {
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "timestamp": datetime.fromtimestamp(offset, tz=UTC),
            "timestampType": 0,
            "key": b"k%d" % offset,
            "value": b"%d" % offset,
            "headers": [{"key": "h", "value": b"x"}],
            "delivery_count": delivery_count,
        }
        for offset in offsets
    ]
    for row, value in zip(rows, values or [], strict=False):
        row["value"] = value
    return pa.Table.from_pylist(rows, schema=RECORD_SCHEMA)


COMPACTED = {"read": 7, "files_before": 4, "files_after": 2, "duplicates_removed": 3, "left": 7}
"""What `compacted` returns."""


def compacted(spark: "SparkSession", path: str) -> dict[str, int]:
    """Write records of two partitions, some twice, and have them read once and compacted."""
    sink = ParquetSink(path, partition_by=["partition"])
    for offsets, partition, count in ((range(4), 0, 1), (range(2, 4), 0, 2), (range(3), 1, 1), ([2], 1, 2)):
        sink(Batch(record_table(offsets, partition=partition, delivery_count=count)))
    read = read_deduplicated(spark, path).count()
    done = compact(spark, path, files=1)
    return {
        "read": read,
        "files_before": done.files_before,
        "files_after": done.files_after,
        "duplicates_removed": done.duplicates_removed,
        "left": spark.read.parquet(path).count(),
    }
