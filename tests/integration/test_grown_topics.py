"""Topics that gain partitions while an application reads them, on the embedded broker and a real Kafka."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Literal

import pytest
from attrs import frozen
from confluent_kafka.admin import AdminClient, NewPartitions

from kafka_groups.librdkafka.deliveries import OutgoingRecord
from kafka_groups.librdkafka.partition_reader import BEGINNING, PartitionReader
from kafka_groups.librdkafka.record_writer import RecordWriter
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.streams import KafkaStreams, StreamsBuilder, StreamsError, StreamsState, Topology, serdes, stores
from kafka_groups.testing import EmbeddedCluster
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique

FAST = {
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.min.heartbeat.interval.ms": 100,
    "group.streams.heartbeat.interval.ms": 200,
    "group.initial.rebalance.delay.ms": 0,
}

pytestmark = pytest.mark.slow  # the unit tests of the watch have each case over brokers in memory


@frozen
class Topics:
    """The topics of a test on one of the brokers."""

    servers: str
    name: str

    def of(self, part: str) -> str:
        return f"{self.name}-{part}"

    @property
    def config(self) -> dict[str, object]:
        return {"bootstrap.servers": self.servers}

    def create(self, **partitions: int) -> None:
        create_topics(self.config, {self.of(part): count for part, count in partitions.items()})

    def grow(self, part: str, count: int) -> None:
        admin = AdminClient({"bootstrap.servers": self.servers})  # it must live until the response has arrived
        admin.create_partitions([NewPartitions(self.of(part), count)])[self.of(part)].result(30)

    def write(self, part: str, values: dict[int, str]) -> None:
        writer = RecordWriter(self.config)
        for partition, value in values.items():
            writer.write(OutgoingRecord(self.of(part), b"key", value.encode(), partition=partition))
        writer.flush(30)

    def wait_for_values(self, part: str, wanted: set[str]) -> Counter[str]:
        """Return the committed values of a topic when all of these are among them."""
        found: Counter[str] = Counter()
        with PartitionReader(self.config, "reader") as reader:
            reader.assign({TopicPartition(self.of(part), 0): BEGINNING})

            def has_all() -> bool:
                found.update((record.value or b"").decode() for record in reader.read(100, 0.1))
                return found.keys() >= wanted

            wait_until(has_all, 60)
        return found


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real_kafka)])
def topics(request: pytest.FixtureRequest) -> Iterator[Topics]:
    with ExitStack() as stack:
        if request.param == "real":
            servers = request.getfixturevalue("real_kafka").bootstrap_servers
        else:
            servers = stack.enter_context(EmbeddedCluster(settings=FAST)).bootstrap_servers
        yield Topics(servers, unique("grown"))


def merged_and_named(topics: Topics) -> Topology:
    builder = StreamsBuilder()
    many, few = (builder.stream(topics.of(each), key=serdes.string, value=serdes.string) for each in ("many", "few"))
    names = builder.global_table(topics.of("names"), key=serdes.string, value=serdes.string, store="names")
    merged = many.merge(few)
    named = merged.left_join(names, lambda value, name: f"{value} of {name or 'nobody'}", on=lambda _, value: value)
    named.to(topics.of("out"), value=serdes.string)
    return builder.build()


PROTOCOLS: dict[str, dict[str, object]] = {
    "streams": {},
    "classic": {
        "group.protocol": "classic", "session.timeout.ms": 6_000, "heartbeat.interval.ms": 300,
        "metadata.max.age.ms": 500,  # the leader looks as often
    },
}  # fmt: skip
protocols = pytest.mark.parametrize("protocol", PROTOCOLS)


@protocols
@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_new_partitions_of_sources_and_global_topics_are_read(
    topics: Topics, guarantee: Literal["at_least_once", "exactly_once_v2"], protocol: str
) -> None:
    topics.create(many=4, few=2, names=1, out=1)
    with KafkaStreams(
        merged_and_named(topics), PROTOCOLS[protocol], application_id=topics.name, bootstrap_servers=topics.servers,
        commit_interval_ms=100, processing_guarantee=guarantee,
    ) as app:  # fmt: skip
        app.wait_until_running(60)
        topics.write("few", {0: "b0", 1: "b1"})
        first = {f"{value} of nobody" for value in ("b0", "b1")}
        topics.wait_for_values("out", first)
        topics.grow("few", 4)
        topics.grow("names", 2)
        grown = {at: f"c{at}" for at in range(4)}
        topics.write("few", grown)
        second = {f"{value} of nobody" for value in grown.values()}
        found = topics.wait_for_values("out", first | second)
        if guarantee == "exactly_once_v2":
            assert found == Counter(first | second)
        topics.write("names", {1: "ann"})
        wait_until(lambda: app.store("names").get("key") == "ann", 60)
        topics.write("few", {3: "key"})
        topics.wait_for_values("out", {"key of ann"})
        assert app.error is None


def counted(topics: Topics) -> Topology:
    builder = StreamsBuilder()
    many = builder.stream(topics.of("many"), key=serdes.string, value=serdes.string)
    many.group_by_key().count(store=stores.key_value("counts", serdes.string, serdes.int64))
    return builder.build()


@protocols
def test_a_source_with_changelogs_behind_it_is_an_error_that_names_the_numbers(topics: Topics, protocol: str) -> None:
    topics.create(many=2)
    with KafkaStreams(
        counted(topics), PROTOCOLS[protocol], application_id=topics.name, bootstrap_servers=topics.servers,
        commit_interval_ms=100, processing_guarantee="exactly_once_v2",
    ) as app:  # fmt: skip
        app.wait_until_running(60)
        topics.grow("many", 3)
        wait_until(lambda: app.state is StreamsState.ERROR, 90, lambda: app.state)
        assert isinstance(app.error, StreamsError)
        told, changelog = str(app.error), f"{topics.name}-counts-changelog"
        if protocol == "classic":
            needed = "one for each task of sub-topology 0, which reads"
            assert f"Topic {changelog} has 2 partitions, but the application needs 3: {needed}" in told
            assert f"{topics.of('many')} (3)" in told
            assert "elete" not in told
        else:
            assert changelog in told
            assert "Do not delete the changelog" in told


def copying(topics: Topics) -> KafkaStreams:
    builder = StreamsBuilder()
    many = builder.stream(topics.of("many"), key=serdes.string, value=serdes.string, offset_reset="latest")
    many.to(topics.of("out"), value=serdes.string)
    return KafkaStreams(
        builder.build(), application_id=topics.name, bootstrap_servers=topics.servers, commit_interval_ms=100
    )


def test_latest_skips_what_is_written_before_a_new_partition_is_noticed(topics: Topics) -> None:
    topics.create(many=1, out=1)
    with copying(topics) as app:
        app.wait_until_running(60)
        write_until_read(topics, 0, "first")
    topics.grow("many", 2)
    topics.write("many", {1: "too early"})
    with copying(topics) as app:
        app.wait_until_running(60)
        assert "too early" not in write_until_read(topics, 1, "late")


def write_until_read(topics: Topics, partition: int, value: str) -> Counter[str]:
    """Write a value until the application has copied one. A new task may begin behind the first ones."""
    found: Counter[str] = Counter()
    with PartitionReader(topics.config, "reader") as reader:
        reader.assign({TopicPartition(topics.of("out"), 0): BEGINNING})

        def is_read() -> bool:
            topics.write("many", {partition: value})
            found.update((record.value or b"").decode() for record in reader.read(100, 0.1))
            return value in found

        wait_until(is_read, 60)
    return found
