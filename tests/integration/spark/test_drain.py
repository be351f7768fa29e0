"""Drains with classic Spark, on an embedded broker."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.spark import RECORD_DDL, drain
from tests.support.spark.sessions import topic_with_records
from tests.support.spark.spark_scenarios import DRAINED, drained

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.spark_versions]


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    settings = {"group.share.heartbeat.interval.ms": 500, "group.share.min.heartbeat.interval.ms": 500}
    with EmbeddedCluster(settings=settings) as cluster:
        yield cluster


def test_records_are_stored_rejected_released_and_given_back(
    spark: "SparkSession", cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    config = topic_with_records(cluster, "drained", records=10)
    assert drained(spark, config, "drained", str(tmp_path / "drained")) == DRAINED


def test_an_empty_drain_has_all_columns_in_spark_s_spelling(spark: "SparkSession", cluster: EmbeddedCluster) -> None:
    config = topic_with_records(cluster, "empty", records=0)
    with drain(spark, config, topics=["empty"], idle_seconds=0.5) as batch:
        assert batch.df.count() == 0
        assert batch.df.schema == spark.createDataFrame([], RECORD_DDL).schema
