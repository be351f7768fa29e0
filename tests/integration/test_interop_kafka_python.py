"""kafka-python's consumer against the embedded broker over TCP."""

from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaConsumer

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import SystemClock

TOPIC, PATIENCE_S = "t", 30


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"group.initial.rebalance.delay.ms": 100}) as cluster:
        cluster.create_topic(TOPIC, 2)
        yield cluster
        assert cluster.unexpected_errors == ()


@pytest.mark.parametrize("instance", [None, "one"])
def test_it_joins_commits_and_goes_on(cluster: EmbeddedCluster, instance: str | None) -> None:
    cluster.produce(TOPIC, ["a", "b", "c"])
    assert consume(cluster, 3, instance) == [b"a", b"b", b"c"]
    cluster.produce(TOPIC, ["d"])
    assert consume(cluster, 1, instance) == [b"d"]


def consume(cluster: EmbeddedCluster, count: int, instance: str | None) -> list[bytes | None]:
    """Read so many records in a group, and commit."""
    consumer: Any = KafkaConsumer(  # type: ignore[no-untyped-call]
        TOPIC,
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="g",
        group_instance_id=instance,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    found: list[bytes | None] = []
    clock = SystemClock()
    deadline_ms = clock.now_ms() + PATIENCE_S * 1000
    while len(found) < count and clock.now_ms() < deadline_ms:
        found += [record.value for records in consumer.poll(timeout_ms=200).values() for record in records]
    consumer.commit()
    consumer.close()
    return sorted(found, key=str)
