"""Applications of Kafka Streams in streams groups (KIP-1071): tasks move, topics are made, counts are exact."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.support.conditions import wait_until
from tests.support.kafka.java_streams import JavaStreams
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip
from tests.support.kafka.real_kafka import unique
from tests.support.members.confluent_reader import PATIENCE_S

PARTITIONS, THREADS = 4, 2
KEYS = tuple(f"key {number}" for number in range(12))
TASKS = {f"0_{number}" for number in range(PARTITIONS)}
SETTINGS = {
    "group.streams.initial.rebalance.delay.ms": 100,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.min.heartbeat.interval.ms": 200,
    "group.streams.heartbeat.interval.ms": 200,
}

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


@pytest.fixture
def streams(tmp_path: Path) -> Iterator[JavaStreams]:
    """A JVM with applications."""
    with JavaStreams(tmp_path / "classes", streams_classpath_or_skip()) as applications:
        yield applications
        applications.close(*applications.state())


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    """An embedded broker over TCP."""
    with EmbeddedCluster(settings=SETTINGS) as embedded:
        yield embedded
        assert embedded.unexpected_errors == ()


def produce(bootstrap_servers: str, topic: str) -> None:
    """Append a record for each key."""
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for key in KEYS:
        producer.produce(topic, key=key, value="one more")
    assert producer.flush(PATIENCE_S) == 0


def wait_for_counts(bootstrap_servers: str, topic: str, count: int) -> None:
    """Wait until the output comes to this count for each key."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap_servers, "group.id": unique("check"), "auto.offset.reset": "earliest",
    })  # fmt: skip
    consumer.subscribe([topic])
    counts: dict[bytes, int] = {}

    def is_reached() -> bool:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            counts[message.key() or b""] = int(message.value() or 0)
        return len(counts) == len(KEYS) and set(counts.values()) == {count}

    wait_until(is_reached, PATIENCE_S)
    consumer.close()


def test_two_applications_share_tasks_and_one_takes_over(
    streams: JavaStreams, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    servers = cluster.bootstrap_servers
    application_id, source, sink = unique("counts"), unique("in"), unique("out")
    admin = AdminClient({"bootstrap.servers": servers})
    for topic in (source, sink):
        admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(PATIENCE_S)

    def start(name: str) -> None:
        streams.open(
            name,
            source,
            sink,
            bootstrap_servers=servers,
            application_id=application_id,
            group_protocol="streams",
            num_stream_threads=str(THREADS),
            state_dir=str(tmp_path / name),
            commit_interval_ms="100",
            statestore_cache_max_bytes="0",
        )

    def has_tasks(*names: str) -> bool:
        found = streams.state()
        assert not [each.error for each in found.values() if each.error]
        running = [found[name] for name in names if found[name].state == "RUNNING"]
        owned = sorted(task for each in running for thread in each.tasks for task in thread.split(","))
        return len(running) == len(names) and owned == sorted(TASKS) and all(each.tasks for each in running)

    produce(servers, source)
    start("alpha")
    wait_until(lambda: has_tasks("alpha"), PATIENCE_S)
    assert f"{application_id}-counts-changelog" in admin.list_topics().topics
    start("beta")
    wait_until(lambda: has_tasks("alpha", "beta"), PATIENCE_S)
    wait_for_counts(servers, sink, 1)
    produce(servers, source)
    wait_for_counts(servers, sink, 2)
    streams.close("alpha")
    wait_until(lambda: has_tasks("beta"), PATIENCE_S)
    produce(servers, source)
    wait_for_counts(servers, sink, 3)
