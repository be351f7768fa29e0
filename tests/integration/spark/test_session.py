"""The session that the other tests stand on."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.spark_versions]


def _package_of_the_worker(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa  # noqa: PLC0415 - runs in a worker of Spark

    import kafka_groups  # noqa: PLC0415

    for _ in batches:
        pass
    yield pa.RecordBatch.from_pydict({"package": [kafka_groups.__name__]})


def test_workers_import_the_package_of_this_checkout(spark: "SparkSession") -> None:
    rows = spark.range(2, numPartitions=2).mapInArrow(_package_of_the_worker, "package string").collect()
    assert [row.package for row in rows] == ["kafka_groups", "kafka_groups"]
