"""Applications that read topics by a pattern, in Python alone and beside Java: topics come and go while they run."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.streams import KafkaStreams, StreamsBuilder, StreamsState, serdes
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import AT_LEAST_ONCE, EXACTLY_ONCE, Guarantee, MixedApplication, keys_of
from tests.support.kafka.mixed_topologies import PATTERN, mixed_topology
from tests.support.kafka.real_kafka import unique
from tests.support.kafka.started_broker import started_broker
from tests.support.members.confluent_reader import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SETTINGS = {"group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 1_000}
AGE_MS = 2_000


class PatternApplication(MixedApplication):
    """An application that reads all topics whose names begin alike. Lines go to the topic that was named last."""

    more_keys: Mapping[str, str] = MappingProxyType({"metadata.max.age.ms": str(AGE_MS)})

    def __init__(self, servers: str, directory: Path, guarantee: Guarantee) -> None:
        super().__init__("words", servers, directory, guarantee, protocol="classic")
        self.prefix = f"{self.source}-of"
        self._others: list[KafkaStreams] = []
        self._topic = ""

    def create(self, part: str, partitions: int = 2) -> None:
        self._topic = f"{self.prefix}-{part}"
        create_topics({"bootstrap.servers": self.servers}, {self._topic: partitions})

    def delete_committed(self, part: str) -> None:
        wait_until(lambda: self._has_committed_all_of(f"{self.prefix}-{part}"), PATIENCE_S)
        self.delete(part)

    def delete(self, part: str) -> None:
        topic = f"{self.prefix}-{part}"
        admin = AdminClient({"bootstrap.servers": self.servers})  # it must live until the response has arrived
        admin.delete_topics([topic])[topic].result(PATIENCE_S)

    def _has_committed_all_of(self, topic: str) -> bool:
        """Whether nothing is left to commit: an instance in Java repeats a commit of a deleted topic for a minute."""
        with self._consumer(unique("ends")) as consumer:
            numbers = consumer.list_topics(topic).topics[topic].partitions
            ends = {number: consumer.get_watermark_offsets(TopicPartition(topic, number))[1] for number in numbers}
        group = Consumer({"bootstrap.servers": self.servers, "group.id": self.application_id})
        try:
            found = group.committed([TopicPartition(topic, number) for number in numbers], PATIENCE_S)
        finally:
            group.close()
        return all(each.offset == ends[each.partition] for each in found if ends[each.partition])

    def write(self, count: int) -> None:
        source, self.source = self.source, self._topic
        try:
            super().write(count)
            assert self._producer.flush(PATIENCE_S) == 0
        finally:
            self.source = source

    def wait_for_line(self, line: str) -> None:
        """Wait until the output has results of a line."""
        with self._reading(self.sink) as consumer:
            wait_until(lambda: any(line in value for value in values_of(consumer)), 2 * PATIENCE_S)

    def start_all(self, instances: int) -> None:
        """Start instances in Python."""
        self.source = f"{PATTERN}{self.prefix}-.*"
        for _ in range(instances):
            started = KafkaStreams(
                partial(mixed_topology, self.kind, self.source, self.sink),
                {**keys_of("classic"), **self.more_keys},
                application_id=self.application_id,
                bootstrap_servers=self.servers,
                commit_interval_ms=100,
                processing_guarantee=self.guarantee,
            )
            self._others.append(started)
            started.start()

    def java_error(self) -> str:
        assert self._java is not None
        return self._java.ask_line("state").strip().partition(":")[2]

    def check_python(self) -> None:
        assert self._python is not None
        assert self._python.error is None

    def check_running(self) -> None:
        assert [each.state for each in self._others] == [StreamsState.RUNNING] * len(self._others)

    def end(self) -> None:
        for each in self._others:
            each.close(PATIENCE_S)
        super().end()


def values_of(consumer: Consumer) -> Iterator[str]:
    for message in consumer.consume(100, 0.1):
        if message.error() is None:
            yield (message.value() or b"").decode()


Make = Callable[[Guarantee], PatternApplication]


@pytest.fixture(
    scope="module",
    params=[
        "embedded",
        *(pytest.param(release, marks=[pytest.mark.real_kafka, pytest.mark.long]) for release in ("4.4.0", "3.9.1")),
    ],
)
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker that allows short sessions."""
    with started_broker(request.param, SETTINGS) as address:
        yield address


@pytest.fixture
def make(servers: str, tmp_path: Path) -> Iterator[Make]:
    """Make an application."""
    with ExitStack() as stack:

        def made(guarantee: Guarantee) -> PatternApplication:
            app = PatternApplication(servers, tmp_path, guarantee)
            stack.callback(app.end)
            return app

        yield made


@pytest.mark.parametrize("guarantee", [pytest.param(AT_LEAST_ONCE, marks=pytest.mark.long), EXACTLY_ONCE])
def test_topics_that_are_created_are_read_and_those_that_are_deleted_end_nothing_else(
    make: Make, guarantee: Guarantee
) -> None:
    app = make(guarantee)
    app.create("a")
    app.write(10)
    app.start_all(2)
    app.wait_for_output()
    app.create("b", 1)
    app.write(10)
    app.wait_for_output()
    app.delete_committed("a")
    app.write(10)
    app.wait_for_output()
    app.create("c")
    app.write(10)
    app.wait_for_output()
    app.check_running()


def test_a_topic_with_records_that_were_not_committed_may_be_deleted(make: Make) -> None:
    app = make(AT_LEAST_ONCE)
    app.create("a")
    app.write(10)
    app.start_all(1)
    app.wait_for_output()
    app.write(500)
    app.delete("a")
    app.create("b")
    app.write(1)
    app.wait_for_line(app.lines[-1].id)
    app.check_running()


@pytest.mark.long
@pytest.mark.real_kafka
@pytest.mark.timeout(500)
@pytest.mark.parametrize("guarantee", [AT_LEAST_ONCE, EXACTLY_ONCE])
def test_beside_java_a_group_reads_the_topics_that_exist_whoever_leads(make: Make, guarantee: Guarantee) -> None:
    app = make(guarantee)
    app.create("a")
    app.write(10)
    app.source = f"{PATTERN}{app.prefix}-.*"
    app.start_python()
    app.wait_until_shared()
    app.start_java()
    app.wait_until_shared()
    app.create("b")  # a leader in Java ends if internal topics have more partitions than the topics that are left
    app.write(10)
    app.wait_for_output()
    app.close_python()  # Java leads from now on
    app.wait_until_shared()
    app.create("c")
    app.write(10)
    app.wait_for_output()
    app.start_python()
    app.wait_until_shared()
    app.create("d")
    app.write(10)
    app.wait_for_output()
    app.delete_committed("a")
    app.write(10)
    app.wait_for_output()
    app.check_python()


@pytest.mark.long
@pytest.mark.real_kafka
def test_where_kafka_streams_ends_because_a_topic_is_deleted_python_continues(make: Make) -> None:
    """Kafka Streams 4.3.1 alone ends, too, if a task loses one of several topics."""
    app = make(AT_LEAST_ONCE)
    for part in ("a", "b"):
        app.create(part)
        app.write(10)
    app.source = f"{PATTERN}{app.prefix}-.*"
    app.start_java()
    app.wait_for_output()
    app.delete_committed("a")
    wait_until(lambda: "IllegalStateException" in app.java_error(), PATIENCE_S)
    app.start_python()
    app.write(10)
    app.wait_for_output()
    app.check_python()


def test_a_topic_that_two_patterns_match_ends_the_application_with_its_name(servers: str) -> None:
    name, sink = unique("lines"), unique("results")
    builder = StreamsBuilder()
    for pattern in (f"{name}-.*", f".*{name}-1"):
        builder.stream(re.compile(pattern), key=serdes.string, value=serdes.string).to(sink)
    keys = {**keys_of("classic"), "metadata.max.age.ms": str(AGE_MS)}
    with KafkaStreams(builder.build(), keys, application_id=unique("two"), bootstrap_servers=servers) as app:
        app.wait_until_running(PATIENCE_S)
        create_topics({"bootstrap.servers": servers}, {f"{name}-1": 1})
        wait_until(lambda: app.state is StreamsState.ERROR, PATIENCE_S)
        assert f"Topic '{name}-1' matches the pattern" in str(app.error)


def test_streams_groups_refuse_patterns_before_anything_starts(servers: str) -> None:
    topology = mixed_topology("words", f"{PATTERN}{unique('lines')}-.*", unique("results"))
    with pytest.raises(KafkaGroupsError, match=r"no release of Kafka accepts patterns in streams groups"):
        KafkaStreams(topology, application_id=unique("words"), bootstrap_servers=servers)
