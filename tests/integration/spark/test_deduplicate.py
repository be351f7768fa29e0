"""Duplicates of an at-least-once sink disappear when its files are read, or rewritten."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kafka_groups.spark.deduplicate import Compaction, compact, read_deduplicated
from kafka_groups.spark.sinks import replacement
from kafka_groups.spark.sinks.parquet import ParquetSink
from tests.support.spark.sink_batches import Batch, record_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KINDS = ["a/b c", None]


def with_kind(table: pa.Table) -> pa.Table:
    kinds = [KINDS[offset % 2] for offset in table["offset"].to_pylist()]
    return table.append_column("kind", pa.array(kinds, pa.string()))


def write(path: Path, *, partition_by: list[str]) -> None:
    """Ten records in five files or ten, two of the records three times."""
    sink = ParquetSink(str(path), transform=with_kind, partition_by=partition_by)
    for offsets, count in (((0, 1, 2, 3), 1), ((3, 4), 2), ((3, 4), 3), ((4, 5, 6), 1), ((7, 8, 9), 1)):
        sink(Batch(record_table(offsets, delivery_count=count)))


def records(frame: "DataFrame") -> Counter[tuple[str, int, int, bytes, str | None]]:
    rows = frame.select("topic", "partition", "offset", "value", "kind").collect()
    return Counter((row[0], row[1], row[2], bytes(row[3]), row[4]) for row in rows)


EXPECTED = Counter(("t", 0, offset, b"%d" % offset, KINDS[offset % 2]) for offset in range(10))


@pytest.mark.spark
@pytest.mark.parametrize("partition_by", [pytest.param([], marks=pytest.mark.slow), ["partition", "kind"]])
def test_one_row_per_record_remains(spark: "SparkSession", tmp_path: Path, partition_by: list[str]) -> None:
    path = tmp_path / "the table=1"
    write(path, partition_by=partition_by)
    before = set(path.rglob("*.parquet"))
    assert records(read_deduplicated(spark, str(path))) == EXPECTED
    done = compact(spark, str(path), files=1)
    after = set(path.rglob("*.parquet"))
    assert done == Compaction(files_before=len(before), files_after=len(after), rows_before=14, rows_after=10)
    assert done.duplicates_removed == 4
    assert not before & after
    assert {file.parent for file in after} == {file.parent for file in before}
    assert records(spark.read.parquet(str(path))) == EXPECTED
    assert not list(path.glob(".compact-*"))


@pytest.mark.spark
def test_columns_that_came_later_are_kept(spark: "SparkSession", tmp_path: Path) -> None:
    path = str(tmp_path)
    ParquetSink(path)(Batch(record_table([0])))
    ParquetSink(path, transform=with_kind)(Batch(record_table([1, 2])))
    assert compact(spark, path).duplicates_removed == 0
    rows = read_deduplicated(spark, path).select("offset", "kind").sort("offset").collect()
    assert [tuple(row) for row in rows] == [(0, None), (1, None), (2, KINDS[0])]


@pytest.mark.spark
def test_what_is_written_meanwhile_stays(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table"
    write(path, partition_by=[])
    real = replacement.Replacement

    def while_compacting(*arguments: object) -> object:
        ParquetSink(str(path), transform=with_kind)(Batch(record_table([0, 10], delivery_count=2)))
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("kafka_groups.spark.deduplicate.Replacement", while_compacting)
    assert compact(spark, str(path)).rows_after == 10
    assert records(read_deduplicated(spark, str(path))) == EXPECTED | Counter({("t", 0, 10, b"10", KINDS[0]): 1})
