"""confluent-kafka's share consumer against the embedded cluster over TCP."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer, ShareConsumer

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import SystemClock

QUICK = {
    "group.share.min.heartbeat.interval.ms": 200,
    "group.share.heartbeat.interval.ms": 200,
    "group.share.assignment.interval.ms": 0,
}


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, settings=QUICK) as cluster:
        cluster.create_topic("t", 4)
        cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
        yield cluster


def produce(cluster: EmbeddedCluster, count: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 5})
    for number in range(count):
        producer.produce("t", key=str(number), value=b"v" * 50, partition=number % 4)
    assert producer.flush(10) == 0


def consume(consumer: Any, expected: set[tuple[int, int]]) -> list[Any]:
    """Poll until every expected (partition, offset) came; all messages that came."""
    clock = SystemClock()
    deadline_ms = clock.now_ms() + 30_000
    messages: list[Any] = []
    while not expected <= {place(message) for message in messages}:
        assert clock.now_ms() < deadline_ms, f"only {len(messages)} messages came"
        messages += consumer.poll(1.0)
    assert {message.error() for message in messages} == {None}
    return messages


def place(message: Any) -> tuple[int, int]:
    return message.partition(), message.offset()


def places(first: int, last: int) -> set[tuple[int, int]]:
    return {(partition, offset) for partition in range(4) for offset in range(first, last + 1)}


def test_every_record_is_delivered_once(cluster: EmbeddedCluster) -> None:
    produce(cluster, 2000)
    consumer = ShareConsumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"})
    consumer.subscribe(["t"])
    messages = consume(consumer, places(0, 499))
    consumer.close()
    assert Counter(place(message) for message in messages) == Counter(places(0, 499))
    assert sorted(int(message.key()) for message in messages) == list(range(2000))


def test_leader_that_moves_is_followed(cluster: EmbeddedCluster) -> None:
    produce(cluster, 40)
    consumer = ShareConsumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"})
    consumer.subscribe(["t"])
    assert len(consume(consumer, places(0, 9))) == 40
    for partition in range(4):
        cluster.move_leader("t", partition, 1 if cluster.leader_of("t", partition) == 2 else 2)
    produce(cluster, 80)
    # What was delivered and not acknowledged before the leaders moved comes again, so there may be more.
    assert len(consume(consumer, places(10, 29))) >= 80
    consumer.close()
