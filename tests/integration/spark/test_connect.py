"""Workers, source and drain with Spark Connect, on an embedded broker."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.support.connect_scenarios import drained, sourced, worked
from tests.support.spark_connect import Connect, connect_server

pytestmark = [pytest.mark.spark, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def connect(spark_or_skip: None) -> Iterator[Connect]:
    with connect_server() as server:
        yield server


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    settings = {"group.share.heartbeat.interval.ms": 500, "group.share.min.heartbeat.interval.ms": 500}
    with EmbeddedCluster(settings=settings) as cluster:
        yield cluster


def prepared(cluster: EmbeddedCluster, topic: str, records: int, partitions: int = 1) -> dict[str, object]:
    """A topic with records, and the configuration of a consumer of the group of the same name."""
    cluster.create_topic(topic, partitions)
    cluster.alter_group_configs(topic, {"share.auto.offset.reset": "earliest"})
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 5})
    for number in range(records):
        producer.produce(topic, b"v%d" % number, partition=number % partitions)
    assert producer.flush(10) == 0
    return {"bootstrap.servers": cluster.bootstrap_servers, "group.id": topic}


def test_drain(connect: Connect, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    config = prepared(cluster, "drained", records=10)
    answer = connect.run(drained, config=config, topic="drained", path=str(tmp_path / "drained"))
    assert answer == {
        "rejected": 5,
        "released": 1,
        "accepted": 4,
        "values": [f"v{number}" for number in range(10)],
        "left": [[0, 2]],
        "size": 1,
        "failed": "mine",
    }


def test_workers(connect: Connect, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    config = prepared(cluster, "worked", records=200, partitions=2)
    answer = connect.run(worked, config=config, topic="worked", path=str(tmp_path / "worked.db"))
    assert answer == {"accepted": 200, "stored": 200, "active": False}


def test_source(connect: Connect, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    config = prepared(cluster, "sourced", records=100, partitions=2)
    options = {f"kafka.{name}": value for name, value in config.items()} | {"subscribe": "sourced"}
    answer = connect.run(sourced, options=options, path=str(tmp_path / "sourced"))
    assert answer == {"finished": True, "rows": 100, "keys": 100}
