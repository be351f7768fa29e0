"""Applications of Kafka Streams in classic groups with static members, row (s): a bounce moves no task."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.conditions import wait_until
from tests.support.kafka.java_streams import JavaStreams, StreamsApplication
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip
from tests.support.kafka.real_kafka import unique
from tests.support.members.classic_brokers import classic_brokers
from tests.support.members.confluent_reader import PATIENCE_S

__all__ = ["classic_brokers"]

PARTITIONS, THREADS = 4, 2
APPLICATIONS = ("alpha", "beta")
KEYS = tuple(f"key {number}" for number in range(12))

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaStreams]:
    """A JVM for all tests of this module."""
    with JavaStreams(tmp_path_factory.mktemp("java-streams"), streams_classpath_or_skip()) as applications:
        yield applications


@pytest.fixture
def streams(jvm: JavaStreams, bootstrap_servers: str) -> Iterator[JavaStreams]:
    """Applications that are closed while the broker is there."""
    assert bootstrap_servers
    yield jvm
    jvm.close(*jvm.state())


class Deployment:
    """Applications that count the records of a topic by key."""

    def __init__(self, streams: JavaStreams, bootstrap_servers: str, directory: Path) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.application_id, self.source, self.sink = unique("counts"), unique("in"), unique("out")
        self.admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        self._streams = streams
        self._directory = directory
        for topic in (self.source, self.sink):
            self.admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(PATIENCE_S)

    def start(self, name: str) -> None:
        """Start an application with two threads."""
        self._streams.open(
            name,
            self.source,
            self.sink,
            bootstrap_servers=self.bootstrap_servers,
            application_id=self.application_id,
            group_protocol="classic",
            group_instance_id=name,
            num_stream_threads=str(THREADS),
            state_dir=str(self._directory / name),
            session_timeout_ms="20000",
            heartbeat_interval_ms="200",
            commit_interval_ms="100",
            statestore_cache_max_bytes="0",
        )

    def running(self) -> dict[str, StreamsApplication]:
        """Wait until all run, and each thread has tasks; returns them by name."""
        wait_until(lambda: _all_run(self._streams.state()), PATIENCE_S)
        return self._streams.state()

    def produce(self) -> None:
        """Append a record for each key."""
        producer = Producer({"bootstrap.servers": self.bootstrap_servers})
        for key in KEYS:
            producer.produce(self.source, key=key, value="one more")
        assert producer.flush(PATIENCE_S) == 0

    def instances(self) -> set[str | None]:
        """The instance ids of the members of the group."""
        described = self.admin.describe_consumer_groups([self.application_id])[self.application_id]
        return {member.group_instance_id for member in described.result(PATIENCE_S).members}

    def counted(self, count: int) -> bool:
        """Whether the output comes to this count for each key, within some time."""
        properties = {"bootstrap.servers": self.bootstrap_servers, "group.id": unique("check")}
        consumer = Consumer({**properties, "auto.offset.reset": "earliest"})
        consumer.subscribe([self.sink])
        counts = dict.fromkeys((key.encode() for key in KEYS), 0)

        def is_reached() -> bool:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                counts[message.key() or b""] = int(message.value() or 0)
            return set(counts.values()) == {count}

        wait_until(is_reached, PATIENCE_S)
        consumer.close()
        return len(counts) == len(KEYS)


def _all_run(found: dict[str, StreamsApplication]) -> bool:
    assert not [each.error for each in found.values() if each.error]
    threads = [each for each in found.values() if each.state == "RUNNING" and len(each.tasks) == THREADS]
    return len(threads) == len(APPLICATIONS)


def test_s_a_bounce_moves_no_task(streams: JavaStreams, bootstrap_servers: str, tmp_path: Path) -> None:
    deployment = Deployment(streams, bootstrap_servers, tmp_path)
    deployment.produce()
    for name in APPLICATIONS:
        deployment.start(name)
    before = deployment.running()
    assert deployment.counted(1)
    assert deployment.instances() == {f"{name}-{thread}" for name in APPLICATIONS for thread in (1, 2)}
    assert set().union(*(each.tasks for each in before.values())) == {f"0_{number}" for number in range(PARTITIONS)}
    for name, other in (APPLICATIONS, APPLICATIONS[::-1]):
        settled = deployment.running()[other].rebalances
        streams.close(name)
        deployment.start(name)
        after = deployment.running()
        assert {each: after[each].tasks for each in after} == {each: before[each].tasks for each in before}
        assert after[other].rebalances == settled, "the other application goes on undisturbed"
    deployment.produce()
    assert deployment.counted(2), "the state is there again"
