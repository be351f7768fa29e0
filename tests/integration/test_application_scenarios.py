"""What applications write, by kinds of topologies: the same on the embedded broker and a real Kafka.

Each scenario pipes some records through a running application, and compares every record of its output topics. The
operators themselves are compared with Java in `tests/topologies`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from attrs import field, frozen
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place

from kafka_groups.librdkafka.deliveries import OutgoingRecord
from kafka_groups.librdkafka.record_writer import RecordWriter
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.net.clock import SystemClock
from kafka_groups.streams import (
    ErrorResponse,
    JoinWindows,
    KafkaStreams,
    KeyValueStore,
    KStream,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    Windowed,
    serdes,
    stores,
)
from kafka_groups.testing import EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.integration.test_streams_applications import FAST
from tests.recording.profile_capture import RELEASES
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique

pytestmark = pytest.mark.slow

S = serdes.string
MINUTE = timedelta(minutes=1)
NO_GRACE = timedelta(0)
SEEN = stores.key_value("seen", S, S)
Given = tuple[str, str | None, str | None, int]
"""Topic, key, value and seconds."""

Written = tuple[int, str | None, str | None]
"""Partition, key and value of a record."""


class Names:
    """The topics of a scenario, whose names are other ones in each run."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __call__(self, name: str) -> str:
        return f"{self._prefix}-{name}"


@frozen
class Scenario:
    """A topology, what it reads, and what it writes.

    Attributes:
        build: Adds the topology to a builder.
        given: The records that it reads. Those of a topic come in this order.
        written: The records of each output topic.
        partitions: The partitions of the topics.
        settings: Further configuration of the application.
    """

    build: Callable[[StreamsBuilder, Names], None]
    given: Sequence[Given]
    written: dict[str, list[Written]]
    partitions: int = 1
    settings: dict[str, Any] = field(factory=dict)


def texts(builder: StreamsBuilder, topic: str) -> KStream[str, str]:
    return builder.stream(topic, key=S, value=S)


def stateless(builder: StreamsBuilder, names: Names) -> None:
    kept = texts(builder, names("in")).filter(lambda _, value: value != "no").map_values(str.upper, value=S)
    kept.flat_map(lambda key, value: [(key, value), (f"{key}2", value)], key=S, value=S).to(names("out"))


def branches(builder: StreamsBuilder, names: Names) -> None:
    split = texts(builder, names("in")).split()
    split.branch(lambda _, value: value < "m").to(names("low"))
    split.default_branch().to(names("high"))


def merged(builder: StreamsBuilder, names: Names) -> None:
    texts(builder, names("a")).merge(texts(builder, names("b"))).map_values(str.upper, value=S).to(names("out"))


def dynamic(builder: StreamsBuilder, names: Names) -> None:
    texts(builder, names("in")).to(lambda _, value, _context: names(value))


def partitioned(builder: StreamsBuilder, names: Names) -> None:
    last = texts(builder, names("in"))
    last.to(names("out"), partitioner=lambda _topic, _key, _value, partitions: partitions - 1)


def several_partitions(builder: StreamsBuilder, names: Names) -> None:
    texts(builder, names("in")).to(names("out"), partitioner=lambda _topic, _key, _value, count: range(count))


def counted_again(builder: StreamsBuilder, names: Names) -> None:
    by_value = texts(builder, names("in")).group_by(lambda _, value: value, key=S, value=S)
    by_value.count(caching=False).to_stream().map_values(str, value=S).to(names("out"))


def plainly(windowed: Windowed[str], value: object) -> str:
    return f"{(windowed.window.end_ms - windowed.window.start_ms) // 1_000} s: {value}"


def windows(kind: str) -> Callable[[StreamsBuilder, Names], None]:
    def build(builder: StreamsBuilder, names: Names) -> None:
        grouped = texts(builder, names("in")).group_by_key()
        if kind == "session":
            sessions = grouped.windowed_by(SessionWindows(MINUTE, grace=NO_GRACE))
            counts = sessions.count(caching=False)
        elif kind == "sliding":
            counts = grouped.windowed_by(SlidingWindows(MINUTE, grace=NO_GRACE)).count(caching=False)
        else:
            counts = grouped.windowed_by(TimeWindows(MINUTE, grace=NO_GRACE)).count(caching=False)
        if kind == "suppressed":
            counts = counts.suppress(Suppressed.until_window_closes())
        results = counts.to_stream().filter(lambda _, count: count is not None)
        named = results.map(lambda key, count: (key.key, plainly(key, count)), key=S, value=S)
        named.to(names("out"))

    return build


def table_join(builder: StreamsBuilder, names: Names) -> None:
    people = builder.table(names("people"), key=S, value=S)
    joined = texts(builder, names("in")).left_join(people, lambda value, name: f"{value} of {name}", value=S)
    joined.to(names("out"))


def global_join(builder: StreamsBuilder, names: Names) -> None:
    people = builder.global_table(names("people"), key=S, value=S)
    orders = texts(builder, names("in"))
    orders.join(people, lambda order, name: f"{order} of {name}", on=lambda _, order: order[0]).to(
        names("out"), value=S
    )


def foreign_key_join(builder: StreamsBuilder, names: Names) -> None:
    orders = builder.table(names("in"), key=S, value=S)
    people = builder.table(names("people"), key=S, value=S)
    joined = orders.join(people, lambda order, name: f"{order} of {name}", on=lambda _, order: order[0], value=S)
    joined.to_stream().to(names("out"))


def stream_join(builder: StreamsBuilder, names: Names) -> None:
    both = JoinWindows(before=MINUTE, after=MINUTE, grace=NO_GRACE)
    left, right = texts(builder, names("a")), texts(builder, names("b"))
    left.join(right, lambda one, two: f"{one}+{two}", windows=both, value=S).to(names("out"))


def outer_join(builder: StreamsBuilder, names: Names) -> None:
    both = JoinWindows(before=MINUTE, after=MINUTE, grace=NO_GRACE)
    left, right = texts(builder, names("a")), texts(builder, names("b"))
    left.outer_join(right, lambda one, two: f"{one}+{two}", windows=both, value=S).to(names("out"))


def tombstones(builder: StreamsBuilder, names: Names) -> None:
    table = builder.table(names("in"), key=S, value=S)
    table.filter(lambda _, value: value != "no").to_stream().to(names("out"))


def first_only(record: Record[str, str], seen: KeyValueStore[str, str]) -> Iterator[Record[str, str]]:
    if seen.put_if_absent(record.key, record.value) is None:
        yield record


def deduplicated(builder: StreamsBuilder, names: Names) -> None:
    texts(builder, names("in")).process(first_only, stores=(SEEN,), key=S, value=S).to(names("out"))


class Gathered(Processor[str, str, str, str]):
    """Forwards what it has gathered a little later, by the clock."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        self.gathered: list[Record[str, str]] = []
        context.schedule(timedelta(milliseconds=50), PunctuationType.WALL_CLOCK_TIME, self.forward)

    def process(self, record: Record[str, str]) -> None:
        self.gathered.append(record)

    def forward(self, _now_ms: int) -> None:
        for record in self.gathered:
            self.context.forward(record)
        self.gathered = []


def punctuated(builder: StreamsBuilder, names: Names) -> None:
    texts(builder, names("in")).process(factory=Gathered, key=S, value=S).to(names("out"))


def refusing(builder: StreamsBuilder, names: Names) -> None:
    texts(builder, names("in")).map_values(lambda value: str(int(value)), value=S).to(names("out"))


def one_each(*values: str, topic: str = "in") -> list[Given]:
    return [(topic, f"k{at}", value, at) for at, value in enumerate(values)]


def written(*records: tuple[str | None, str | None]) -> list[Written]:
    return [(0, *record) for record in records]


SCENARIOS = {
    "operators of single records": Scenario(
        stateless, one_each("a", "no"), {"out": written(("k0", "A"), ("k02", "A"))}
    ),
    "branches": Scenario(
        branches, one_each("a", "z", "b"), {"low": written(("k0", "a"), ("k2", "b")), "high": written(("k1", "z"))}
    ),
    "two merged topics": Scenario(
        merged, [("a", "k", "x", 0), ("b", "k", "y", 1)], {"out": written(("k", "X"), ("k", "Y"))}
    ),
    "topics that a function chooses": Scenario(
        dynamic, one_each("red", "blue"), {"red": written(("k0", "red")), "blue": written(("k1", "blue"))}
    ),
    "a partitioner": Scenario(partitioned, one_each("a"), {"out": [(2, "k0", "a")]}, partitions=3),
    "a partitioner that chooses several partitions": Scenario(
        several_partitions, one_each("a"), {"out": [(0, "k0", "a"), (1, "k0", "a")]}, partitions=2
    ),
    "a repartition topic": Scenario(
        counted_again, one_each("x", "y", "x"), {"out": written(("x", "1"), ("y", "1"), ("x", "2"))}
    ),
    "tumbling windows": Scenario(
        windows("tumbling"),
        [("in", "k", "a", 0), ("in", "k", "b", 59), ("in", "k", "c", 60)],
        {"out": written(("k", "60 s: 1"), ("k", "60 s: 2"), ("k", "60 s: 1"))},
    ),
    "sessions": Scenario(
        windows("session"),
        [("in", "k", "a", 0), ("in", "k", "b", 50), ("in", "k", "c", 200)],
        {"out": written(("k", "0 s: 1"), ("k", "50 s: 2"), ("k", "0 s: 1"))},
    ),
    "sliding windows": Scenario(
        windows("sliding"),
        [("in", "k", "a", 100), ("in", "k", "b", 130)],
        {"out": written(("k", "60 s: 1"), ("k", "60 s: 1"), ("k", "60 s: 2"))},
    ),
    "windows that are closed": Scenario(
        windows("suppressed"),
        [("in", "k", "a", 0), ("in", "k", "b", 59), ("in", "k", "c", 60)],
        {"out": written(("k", "60 s: 2"))},
    ),
    "a stream and a table": Scenario(
        table_join,
        [("people", "k", "ann", 0), ("in", "k", "tea", 1), ("in", "other", "nuts", 2)],
        {"out": written(("k", "tea of ann"), ("other", "nuts of None"))},
    ),
    "a stream and a global table": Scenario(
        global_join, [("people", "a", "ann", 0), ("in", "k", "a1", 1)], {"out": written(("k", "a1 of ann"))}
    ),
    "tables by foreign key": Scenario(
        foreign_key_join,
        [("people", "a", "ann", 0), ("in", "1", "a1", 1)],
        {"out": written(("1", "a1 of ann"))},
        # With a cache, a subscription may find a row that its subscribers are told about later: two equal results.
        settings={"statestore_cache_max_bytes": 0},
    ),
    "two streams": Scenario(
        stream_join, [("a", "k", "x", 0), ("b", "k", "y", 60), ("b", "k", "z", 61)], {"out": written(("k", "x+y"))}
    ),
    "two streams, also records alone": Scenario(
        outer_join,
        [("a", "k", "x", 0), ("b", "k", "y", 200), ("a", "k", "z", 400)],
        {"out": written(("k", "x+None"), ("k", "None+y"))},
    ),
    "tombstones": Scenario(
        tombstones,
        [("in", "k", "a", 0), ("in", "k", None, 1), ("in", "l", "b", 2)],
        {"out": written(("k", "a"), ("k", None), ("l", "b"))},
        settings={"statestore_cache_max_bytes": 0},
    ),
    "a processor with a store": Scenario(
        deduplicated,
        [("in", "k", "a", 0), ("in", "k", "b", 1), ("in", "l", "c", 2)],
        {"out": written(("k", "a"), ("l", "c"))},
    ),
    "a processor that waits": Scenario(punctuated, one_each("a", "b"), {"out": written(("k0", "a"), ("k1", "b"))}),
    "dead letters": Scenario(
        refusing,
        one_each("1", "x", "2"),
        {"out": written(("k0", "1"), ("k2", "2")), "dead": written(("k1", "x"))},
        settings={"processing_exception_handler": lambda *_: ErrorResponse.DEAD_LETTER},
    ),
    "skipped records": Scenario(
        refusing,
        one_each("x", "2"),
        {"out": written(("k1", "2"))},
        settings={"processing_exception_handler": lambda *_: ErrorResponse.RESUME},
    ),
}


SMOKE = (
    "operators of single records",
    "a repartition topic",
    "tumbling windows",
    "sessions",
    "a stream and a table",
    "a stream and a global table",
    "two streams",
    "dead letters",
)
"""What also runs on the releases before the newest one."""


def cases() -> Iterator[Any]:
    """Brokers and names of scenarios."""
    for name in SCENARIOS:
        yield "embedded", name
        yield pytest.param("real", name, marks=pytest.mark.real_kafka)
    for release in (RELEASES["4.2"], RELEASES["4.3"]):
        for name in SMOKE:
            yield pytest.param(release, name, marks=[pytest.mark.real_kafka, pytest.mark.long])


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """The broker of all scenarios."""
    if request.param == "real":
        kafka: KafkaProcess = request.getfixturevalue("real_kafka")
        yield kafka.bootstrap_servers
    elif request.param == "embedded":
        with EmbeddedCluster(settings=FAST) as cluster:
            yield cluster.bootstrap_servers
            assert cluster.unexpected_errors == ()
    else:
        request.getfixturevalue("real_kafka")  # skips the test where there can be none
        with KafkaProcess(request.param) as older:
            yield older.bootstrap_servers


def publish(servers: str, names: Names, given: Sequence[Given]) -> None:
    """Write the records. Their times are in the last hours, as brokers delete older ones."""
    begin_ms = (SystemClock().wall_ms() // 3_600_000 - 2) * 3_600_000
    writer = RecordWriter({"bootstrap.servers": servers})
    for topic, key, value, seconds in given:
        key_bytes, value_bytes = (None if each is None else each.encode() for each in (key, value))
        writer.write(
            OutgoingRecord(names(topic), key_bytes, value_bytes, partition=0, timestamp_ms=begin_ms + 1_000 * seconds)
        )
    writer.flush(30)


def read(servers: str, topic: str, partitions: int) -> list[Written]:
    """Return what a topic has, by partitions."""
    settings = {"bootstrap.servers": servers, "group.id": "reader", "enable.auto.commit": False}
    found: list[Written] = []
    with closing(Consumer(settings)) as consumer:
        for partition in range(partitions):
            _, end = consumer.get_watermark_offsets(Place(topic, partition), timeout=30)
            consumer.assign([Place(topic, partition, 0)])
            for message in consumer.consume(end, 30) if end else []:
                key, value = (None if each is None else each.decode() for each in (message.key(), message.value()))
                found.append((partition, key, value))
    return found


def application(name: str, servers: str, names: Names) -> KafkaStreams:
    scenario = SCENARIOS[name]
    builder = StreamsBuilder()
    scenario.build(builder, names)
    topology: Topology = builder.build()
    dead: dict[str, Any] = {"errors_dead_letter_queue_topic_name": names("dead")} if "dead" in scenario.written else {}
    return KafkaStreams(
        topology,
        application_id=names("app"),
        bootstrap_servers=servers,
        commit_interval_ms=100,
        **scenario.settings,
        **dead,
    )


@pytest.mark.parametrize(("servers", "name"), [*cases()], indirect=["servers"])
def test_an_application_writes_what_its_topology_says(servers: str, name: str) -> None:
    scenario, names = SCENARIOS[name], Names(unique("scene"))
    topics = {topic for topic, *_ in scenario.given} | scenario.written.keys()
    create_topics({"bootstrap.servers": servers}, {names(topic): scenario.partitions for topic in topics})
    publish(servers, names, scenario.given)
    with application(name, servers, names) as app:
        app.wait_until_running(60)
        wait_until(lambda: all(read_all(servers, names, scenario).values()), 60)
        found = partial(read_all, servers, names, scenario)
        wait_until(lambda: found() == scenario.written, 60, found)
    assert read_all(servers, names, scenario) == scenario.written, "nothing more comes with the last commit"


def read_all(servers: str, names: Names, scenario: Scenario) -> dict[str, list[Written]]:
    return {topic: read(servers, names(topic), scenario.partitions) for topic in scenario.written}
