"""Workers, source and drain reach a cluster with SASL, and no secret shows in plans, checkpoints or errors."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.security import BrokerSecurity
from tests.support.spark.sessions import topic_with_records
from tests.support.spark.spark_scenarios import DRAINED, drained, sourced, worked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark]

SECRET = "Tr0ub4dor-and-3"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    settings = {"group.share.heartbeat.interval.ms": 500, "group.share.min.heartbeat.interval.ms": 500}
    security = BrokerSecurity(mechanisms=("SCRAM-SHA-512",), users={"ann": SECRET})
    with EmbeddedCluster(settings=settings, security=security) as cluster:
        yield cluster


def secured(cluster: EmbeddedCluster, topic: str, records: int) -> dict[str, object]:
    """A topic with records, and the keys of a consumer in the group of the same name."""
    keys = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "ann",
        "sasl.password": SECRET,
    }
    return topic_with_records(cluster, topic, records=records, keys=keys)


def test_drain(spark: "SparkSession", cluster: EmbeddedCluster, tmp_path: Path) -> None:
    config = secured(cluster, "drained", 10)
    assert drained(spark, config, "drained", str(tmp_path / "drained")) == DRAINED


def test_workers(spark: "SparkSession", cluster: EmbeddedCluster, tmp_path: Path) -> None:
    config = secured(cluster, "worked", 20)
    answer = worked(spark, config, "worked", str(tmp_path / "worked.db"))
    assert (answer["accepted"], answer["stored"]) == (20, 20)


@pytest.mark.slow
def test_source_and_its_plan_and_checkpoint(spark: "SparkSession", cluster: EmbeddedCluster, tmp_path: Path) -> None:
    given = secured(cluster, "sourced", 10)
    options = {f"kafka.{name}": str(value) for name, value in given.items()} | {"subscribe": "sourced"}
    answer = sourced(spark, options, str(tmp_path / "sourced"))
    if "refused" in answer:
        pytest.skip(answer["refused"])
    assert (answer["finished"], answer["rows"]) == (True, 10)
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 5
    assert not [content for content in written if SECRET.encode() in content]
    frame: Any = spark.readStream.format("kafka-share").options(**options).load()
    shown = frame._jdf.queryExecution().toString() + repr(frame)
    assert "kafka-share" in shown
    assert SECRET not in shown
