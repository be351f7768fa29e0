"""The durable producer against an embedded broker: what it says is written is there, and what is not is named."""

import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import DeliveryFailedError
from kafka_groups.librdkafka import durable_producer
from kafka_groups.librdkafka.durable_producer import DurableProducer

COUNT = 50


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("t", 2)
        yield cluster
        durable_producer._producers.clear()  # they would go on looking for a broker that is gone


@pytest.fixture
def producer(cluster: EmbeddedCluster) -> DurableProducer:
    return DurableProducer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"})


def read_all(cluster: EmbeddedCluster, partition: int, count: int) -> list[Any]:
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "reader", "enable.auto.commit": False}
    )
    try:
        consumer.assign([TopicPartition("t", partition, 0)])
        messages: list[Any] = []
        while len(messages) < count:
            messages += consumer.consume(count - len(messages), timeout=5.0)
        return messages
    finally:
        consumer.close()


def test_what_was_flushed_is_there_with_all_its_parts(cluster: EmbeddedCluster, producer: DurableProducer) -> None:
    headers = [("a", b"1"), ("a", None)]
    for number in range(COUNT):
        producer.produce("t", key=b"k", value=b"%d" % number, headers=headers, partition=1, timestamp_ms=1_000 + number)
    producer.produce("t", key=None, value=None, partition=1)
    producer.flush(10.0)
    *messages, last = read_all(cluster, 1, COUNT + 1)
    assert [message.value() for message in messages] == [b"%d" % number for number in range(COUNT)]
    assert [message.timestamp()[1] for message in messages] == list(range(1_000, 1_000 + COUNT))
    assert {message.key() for message in messages} == {b"k"}
    assert messages[0].headers() == headers
    assert (last.key(), last.value(), last.headers()) == (None, None, None)


def test_refused_records_are_counted_and_the_first_is_named(producer: DurableProducer) -> None:
    producer.produce("t", key=None, value=b"fine")
    producer.produce("t", key=None, value=b"v", partition=7)
    producer.produce("t", key=None, value=b"x" * 2_000_000, partition=0)
    with pytest.raises(DeliveryFailedError, match=r"2 records; the first: t-(0|7)") as raised:
        producer.flush(10.0)
    assert (raised.value.failed, raised.value.unanswered) == (2, 0)
    producer.flush(10.0)  # the failures were told of once, and the producer goes on
    producer.produce("t", key=None, value=b"fine")
    producer.flush(10.0)


def test_a_broker_that_does_not_answer_is_told_of_in_time() -> None:
    producer = DurableProducer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    producer.produce("t", key=None, value=b"v")
    with pytest.raises(DeliveryFailedError, match=r"1 record; the first: no answer within 0\.2 s") as raised:
        producer.flush(0.2)
    assert (raised.value.failed, raised.value.unanswered) == (0, 1)
    producer.flush(0.2)  # nothing was handed over since


def test_producers_of_one_configuration_share_connections(producer: DurableProducer) -> None:
    other = pickle.loads(pickle.dumps(producer))
    before = len(durable_producer._producers)
    for each in (producer, other):
        each.produce("t", key=None, value=b"v")
        each.flush(10.0)
    assert len(durable_producer._producers) == before + 1


def _write(producer: DurableProducer) -> None:
    signal.alarm(30)
    producer.produce("t", key=None, value=b"child", partition=0)
    producer.flush(10.0)
    os._exit(17)


@pytest.mark.parametrize(
    "process_class", [multiprocessing.get_context("fork").Process, multiprocessing.get_context("spawn").Process]
)
def test_another_process_makes_its_own(
    cluster: EmbeddedCluster, producer: DurableProducer, process_class: Callable[..., BaseProcess]
) -> None:
    producer.produce("t", key=None, value=b"parent", partition=0)
    producer.flush(10.0)
    child = process_class(target=_write, args=(producer,))
    child.start()
    child.join(40)
    assert child.exitcode == 17
    assert [message.value() for message in read_all(cluster, 0, 2)] == [b"parent", b"child"]
