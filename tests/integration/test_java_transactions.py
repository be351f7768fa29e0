"""Transactional producers of Java, embedded and on a real Kafka: commit, abort, offsets, fencing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Position

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.integration.test_transactional_producers import PATIENCE_S, values_of, with_topics
from tests.support.kafka.java_program import JavaProgram
from tests.support.kafka.kafka_classpath import kafka_classpath, libs_or_skip
from tests.support.kafka.real_kafka import unique

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProgram]:
    """A JVM for all tests of this module."""
    directory: Path = tmp_path_factory.mktemp("java-transactions")
    with JavaProgram("TransactionRunner", directory, kafka_classpath(libs_or_skip())) as program:
        yield program


@pytest.fixture(params=["4.2", "4.3", "4.4", "kafka"])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an embedded broker with each profile, and of a real Kafka."""
    if request.param == "kafka":
        yield request.getfixturevalue("real_kafka").bootstrap_servers
        return
    with EmbeddedCluster(profile=request.param) as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


class JavaProducer:
    """One of Java's producers."""

    def __init__(self, java: JavaProgram, servers: str, transactional_id: str) -> None:
        self._java = java
        self._name = unique("producer")
        assert self.does("open", servers, transactional_id) == "ok"

    def does(self, order: str, *words: str) -> str:
        """Carry out an order; returns "ok" or the name of an exception."""
        [answer] = self._java.ask(order, self._name, *words)
        return answer

    def send(self, topic: str, *values: str) -> None:
        for value in values:
            assert self.does("send", topic, "0", value) == "ok"


def committed(servers: str, group_id: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group_id})
    [position] = consumer.committed([Position(topic, 0)], timeout=PATIENCE_S)
    consumer.close()
    return int(position.offset)


def test_commit_abort_and_offsets(java: JavaProgram, servers: str) -> None:
    source, target, group_id = unique("in"), unique("out"), unique("group")
    with_topics(servers, source, target)
    producer = JavaProducer(java, servers, unique("tx"))
    assert producer.does("begin") == "ok"
    producer.send(target, "a", "b")
    assert producer.does("offset", group_id, source, "1") == "ok"
    assert producer.does("commit") == "ok"
    assert producer.does("begin") == "ok"
    producer.send(target, "c")
    assert producer.does("offset", group_id, source, "2") == "ok"
    assert producer.does("abort") == "ok"
    assert producer.does("begin") == "ok"
    producer.send(target, "d")
    assert producer.does("commit") == "ok"
    assert values_of(servers, target, 4) == [b"first", b"a", b"b", b"d"]
    assert values_of(servers, target, 5, "read_uncommitted") == [b"first", b"a", b"b", b"c", b"d"]
    assert committed(servers, group_id, source) == 1


def test_a_second_producer_fences_the_first(java: JavaProgram, servers: str) -> None:
    target, transactional_id = unique("out"), unique("tx")
    with_topics(servers, target)
    first = JavaProducer(java, servers, transactional_id)
    assert first.does("begin") == "ok"
    first.send(target, "a")
    second = JavaProducer(java, servers, transactional_id)
    assert second.does("begin") == "ok"
    second.send(target, "b")
    assert first.does("send", target, "0", "c") == "InvalidProducerEpochException"
    assert first.does("commit") == "InvalidProducerEpochException"
    assert second.does("commit") == "ok"
    assert values_of(servers, target, 2) == [b"first", b"b"]
