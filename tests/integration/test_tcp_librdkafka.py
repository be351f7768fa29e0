"""librdkafka (confluent-kafka) against the embedded cluster over TCP: administration and producing."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from kafka_groups.broker.cluster import EmbeddedCluster


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=3) as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: EmbeddedCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers})


def test_topics_are_listed(cluster: EmbeddedCluster, admin: AdminClient) -> None:
    cluster.create_topic("t", 4, replication_factor=2)
    listed: Any = admin.list_topics(timeout=10)
    assert listed.cluster_id == cluster.metadata.cluster_id
    assert sorted(listed.brokers) == [1, 2, 3]
    assert listed.controller_id == 1
    partitions = listed.topics["t"].partitions
    assert [partitions[number].leader for number in range(4)] == [1, 2, 3, 1]
    assert partitions[0].replicas == [1, 2]


def test_topics_are_created_grown_and_deleted(cluster: EmbeddedCluster, admin: AdminClient) -> None:
    created = admin.create_topics([NewTopic("t", 2, 1), NewTopic("not a name", 1, 1)])
    created["t"].result(60)
    with pytest.raises(KafkaException, match=r"INVALID_TOPIC|invalid"):
        created["not a name"].result(60)
    admin.create_partitions([NewPartitions("t", 5)])["t"].result(60)
    assert len(admin.list_topics(timeout=10).topics["t"].partitions) == 5
    admin.delete_topics(["t"])["t"].result(60)
    assert "t" not in admin.list_topics(timeout=10).topics


def test_cluster_is_described(cluster: EmbeddedCluster, admin: AdminClient) -> None:
    described = admin.describe_cluster().result(60)
    assert described.cluster_id == cluster.metadata.cluster_id
    assert sorted(node.id for node in described.nodes) == [1, 2, 3]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_go_in_and_come_out(cluster: EmbeddedCluster, compression: str) -> None:
    cluster.create_topic("t", 1)
    producer = Producer({
        "bootstrap.servers": cluster.bootstrap_servers, "compression.type": compression, "enable.idempotence": True,
        "linger.ms": 5,
    })  # fmt: skip
    for number in range(200):
        producer.produce("t", key=str(number), value=b"v" * 100, partition=0)
    assert producer.flush(10) == 0
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "unused"})
    consumer.assign([TopicPartition("t", 0, 0)])
    messages: list[Any] = []
    while len(messages) < 200:
        got = consumer.consume(200, timeout=10)
        assert got, f"only {len(messages)} records came"
        messages += got
    consumer.close()
    assert [message.key() for message in messages] == [str(number).encode() for number in range(200)]
    assert [message.offset() for message in messages] == list(range(200))
    assert {message.error() for message in messages} == {None}


def test_producer_follows_a_leader_that_moves(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("t", 1)
    delivered: list[int | None] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0})

    def produce(count: int) -> None:
        for _ in range(count):
            producer.produce("t", b"v", on_delivery=lambda error, message: delivered.append(message.offset()))
        assert producer.flush(10) == 0

    produce(5)
    cluster.move_leader("t", 0, 3)
    produce(5)
    assert delivered == list(range(10))


def test_producer_without_acknowledgements_loses_nothing_here(cluster: EmbeddedCluster) -> None:
    cluster.create_topic("t", 1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": 0})
    for _ in range(100):
        producer.produce("t", b"v")
    assert producer.flush(10) == 0
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "unused"})
    consumer.assign([TopicPartition("t", 0, 0)])
    assert len(consumer.consume(100, timeout=10)) == 100
    consumer.close()
