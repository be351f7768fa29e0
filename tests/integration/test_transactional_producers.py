"""Transactional producers of other clients, embedded and on a real Kafka: commit, abort, offsets, fencing."""

from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Position
from kafka import KafkaProducer

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import SystemClock
from tests.support.kafka.real_kafka import unique

PATIENCE_S = 30.0


@pytest.fixture(params=["embedded", pytest.param("real", marks=[pytest.mark.real_kafka, pytest.mark.slow])])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a broker."""
    if request.param == "real":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
        return
    with EmbeddedCluster() as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


def values_of(servers: str, topic: str, count: int, isolation: str = "read_committed") -> list[bytes]:
    """The first values of partition 0, and whether there are more."""
    consumer = Consumer({
        "bootstrap.servers": servers,
        "group.id": unique("reader"),
        "isolation.level": isolation,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    })  # fmt: skip
    consumer.assign([Position(topic, 0, 0)])
    clock, found = SystemClock(), list[bytes]()
    deadline_ms = clock.now_ms() + round(PATIENCE_S * 1000)
    while len(found) < count and clock.now_ms() < deadline_ms:
        found += [message.value() or b"" for message in consumer.consume(count, 0.2) if message.error() is None]
    found += [message.value() or b"" for message in consumer.consume(1, 0.5) if message.error() is None]
    consumer.close()
    return found


def with_topics(servers: str, *topics: str) -> None:
    """Let topics exist: producers make them."""
    producer = Producer({"bootstrap.servers": servers})
    for topic in topics:
        producer.produce(topic, b"first")
    assert producer.flush(PATIENCE_S) == 0


def confluent_producer(servers: str, name: str) -> Producer:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": name, "enable.metrics.push": False})
    producer.init_transactions(PATIENCE_S)
    return producer


def test_confluents_producer_commits_aborts_and_is_fenced(servers: str) -> None:
    topic, source, group_id, name = unique("out"), unique("in"), unique("group"), unique("tx")
    with_topics(servers, topic, source)
    producer = confluent_producer(servers, name)
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group_id})
    for number, is_committed in enumerate((True, False, True)):
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number)
        assert producer.flush(PATIENCE_S) == 0
        positions = [Position(source, 0, number + 1)]
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), PATIENCE_S)
        (producer.commit_transaction if is_committed else producer.abort_transaction)(PATIENCE_S)
    assert values_of(servers, topic, 3) == [b"first", b"0", b"2"]
    assert values_of(servers, topic, 4, "read_uncommitted") == [b"first", b"0", b"1", b"2"]
    assert consumer.committed([Position(source, 0)], PATIENCE_S)[0].offset == 3
    consumer.close()
    second = confluent_producer(servers, name)
    producer.begin_transaction()
    producer.produce(topic, b"zombie")
    with pytest.raises(KafkaException) as caught:
        producer.commit_transaction(PATIENCE_S)
    assert caught.value.args[0].code() == KafkaError._FENCED
    second.begin_transaction()
    second.produce(topic, b"new")
    second.commit_transaction(PATIENCE_S)
    assert values_of(servers, topic, 4) == [b"first", b"0", b"2", b"new"]


def test_kafka_pythons_producer(servers: str) -> None:
    topic = unique("out")
    with_topics(servers, topic)
    producer: Any = KafkaProducer(bootstrap_servers=servers, transactional_id=unique("tx"))  # type: ignore[no-untyped-call]
    producer.init_transactions()
    for number, is_committed in enumerate((True, False, True)):
        producer.begin_transaction()
        producer.send(topic, b"%d" % number, partition=0).get(PATIENCE_S)
        (producer.commit_transaction if is_committed else producer.abort_transaction)()
    producer.close()
    assert values_of(servers, topic, 3) == [b"first", b"0", b"2"]


async def test_aiokafkas_producer(servers: str) -> None:
    topic, source, group_id = unique("out"), unique("in"), unique("group")
    with_topics(servers, topic, source)
    producer: Any = AIOKafkaProducer(  # type: ignore[no-untyped-call]
        bootstrap_servers=servers, transactional_id=unique("tx")
    )
    await producer.start()
    for number, is_committed in enumerate((True, False, True)):
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"%d" % number, partition=0)
        await producer.send_offsets_to_transaction({TopicPartition(source, 0): number + 1}, group_id)
        await (producer.commit_transaction if is_committed else producer.abort_transaction)()
    await producer.stop()
    assert values_of(servers, topic, 3) == [b"first", b"0", b"2"]
    reader = Consumer({"bootstrap.servers": servers, "group.id": group_id})
    assert reader.committed([Position(source, 0)], PATIENCE_S)[0].offset == 3
    reader.close()
