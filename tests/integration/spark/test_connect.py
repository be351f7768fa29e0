"""Workers, source, drain and compaction with Spark Connect, on an embedded broker."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.support.spark.sessions import topic_with_records
from tests.support.spark.sink_batches import COMPACTED, compacted
from tests.support.spark.spark_connect import Connect, Scenario, connect_server
from tests.support.spark.spark_scenarios import DRAINED, drained, sourced, worked

pytestmark = [pytest.mark.spark, pytest.mark.spark_versions, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def connect(spark_or_skip: None) -> Iterator[Connect]:
    with connect_server() as server:
        yield server


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    settings = {"group.share.heartbeat.interval.ms": 500, "group.share.min.heartbeat.interval.ms": 500}
    with EmbeddedCluster(settings=settings) as cluster:
        yield cluster


def test_drain_workers_source_and_compaction(connect: Connect, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    config = topic_with_records(cluster, "drained", records=10)
    drain = Scenario(drained, {"config": config, "topic": "drained", "path": str(tmp_path / "drained")})
    config = topic_with_records(cluster, "worked", records=200, partitions=2)
    workers = Scenario(worked, {"config": config, "topic": "worked", "path": str(tmp_path / "worked.db")})
    config = topic_with_records(cluster, "sourced", records=100, partitions=2)
    options = {f"kafka.{name}": value for name, value in config.items()} | {"subscribe": "sourced"}
    source = Scenario(sourced, {"options": options, "path": str(tmp_path / "sourced")})
    compaction = Scenario(compacted, {"path": str(tmp_path / "compacted")})
    of_drain, of_workers, of_source, of_compaction = connect.run(drain, workers, source, compaction)
    assert of_drain == DRAINED
    assert of_compaction == COMPACTED
    assert of_workers == {"accepted": 200, "stored": 200, "active": False}
    if tells_where_batches_start():
        assert of_source == {"finished": True, "rows": 100, "keys": 100}
    else:
        assert "needs 4.2 or newer" in of_source["refused"]


def tells_where_batches_start() -> bool:
    """Whether this PySpark has `latestOffset(start)`."""
    major, minor = version("pyspark").split(".")[:2]
    return (int(major), int(minor)) >= (4, 2)
