"""Topics that gain partitions while instances in Java and in Python read them exactly once, with both protocols."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from kafka_groups.admin import KafkaAdmin
from kafka_groups.errors import GroupIdNotFoundError
from kafka_groups.streams import KafkaStreams, StreamsError, StreamsState
from kafka_groups.types import TaskId
from tests.integration.test_grown_topics import Topics
from tests.support.conditions import wait_until
from tests.support.kafka.java_program import LineProgram, java_command, pairs
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip
from tests.support.kafka.mixed_topologies import mixed_topology
from tests.support.kafka.real_kafka import unique
from tests.support.kafka.started_broker import started_broker
from tests.support.members.described_classic_group import described_members

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(400)]

PATIENCE_S = 120.0
SERDE = "org.apache.kafka.common.serialization.Serdes$StringSerde"
SETTINGS = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.heartbeat.interval.ms": "300",
    "group.initial.rebalance.delay.ms": "100",
    "group.min.session.timeout.ms": "1000",
}
CLASSIC = {"group.protocol": "classic", "session.timeout.ms": "3000", "heartbeat.interval.ms": "300"}
KEYS = {
    "streams": {"group.protocol": "streams"},
    "classic": CLASSIC,
}  # fmt: skip
COMMON = {"metadata.max.age.ms": "500", "commit.interval.ms": "100", "processing.guarantee": "exactly_once_v2"}
Make = Callable[[str, str, str], "Both"]
cases = pytest.mark.parametrize(
    ("protocol", "first"), [("streams", "python"), ("classic", "python"), ("classic", "java")]
)


class Both:
    """Two instances of an application of a kind, in Java and in Python.

    Args:
        topics: The broker, and the name of the application.
        sources: The parts of the names of its sources.
        kind: A kind of `mixed_topology`.
        protocol: The protocol of its group.
        directory: For programs and state.
    """

    def __init__(self, topics: Topics, sources: str, kind: str, protocol: str, directory: Path) -> None:
        self.topics, self.protocol, self._kind, self._directory = topics, protocol, kind, directory
        self._source = "+".join(map(topics.of, sources.split("+")))
        self._keys = {**KEYS[protocol], **COMMON}
        self._java: LineProgram | None = None
        self.python = KafkaStreams(
            partial(mixed_topology, kind, self._source, topics.of("out")), self._keys,
            application_id=topics.name, bootstrap_servers=topics.servers,
        )  # fmt: skip

    def start(self, first: str) -> None:
        """Start both. In a classic group, the first one leads."""
        starts = [self._start_python, self._start_java]
        for start in starts if first == "python" else reversed(starts):
            start()
            wait_until(self.shares, PATIENCE_S)
        wait_until(lambda: len(self.shares()) == 2 and self.runs(), PATIENCE_S, self.shares)

    def _start_python(self) -> None:
        self.python.start()

    def _start_java(self) -> None:
        classpath = streams_classpath_or_skip()
        self._java = LineProgram(java_command("MixedInstance", self._directory, classpath))
        properties = {
            "bootstrap_servers": self.topics.servers, "application_id": self.topics.name,
            "state_dir": str(self._directory / "state"), "default_key_serde": SERDE, "default_value_serde": SERDE,
            "auto_offset_reset": "earliest", **{name.replace(".", "_"): value for name, value in self._keys.items()},
        }  # fmt: skip
        self._java.say("open", self._kind, self._source, self.topics.of("out"), *pairs(properties))

    def shares(self) -> list[int]:
        """The numbers of active tasks of the members of a stable group; empty if one has none."""
        if self.protocol == "classic":
            found = [len(each.active) for each in described_members(self.topics.servers, self.topics.name)]
        else:
            found = self._shares_of_streams()
        return sorted(found) if all(found) else []

    def _shares_of_streams(self) -> list[int]:
        with KafkaAdmin(bootstrap_servers=self.topics.servers) as admin:
            try:
                group = admin.describe_streams_groups([self.topics.name])[self.topics.name]
            except GroupIdNotFoundError:
                return []
        members = group.members if group.state == "Stable" else ()
        return [sum(map(len, each.assignment.active.values())) for each in members]

    def java_tasks(self) -> set[TaskId]:
        """The tasks of Java's member in a classic group."""
        members = described_members(self.topics.servers, self.topics.name)
        return {task for each in members if "StreamThread" in each.member_id for task in each.active}

    def runs(self) -> bool:
        assert self.python.error is None
        return self.java_state() == ("RUNNING", "") and self.python.state is StreamsState.RUNNING

    def java_state(self) -> tuple[str, str]:
        """Its state, and the error that ended it."""
        assert self._java is not None
        state, _, error = self._java.ask_line("state").strip().partition(":")
        return state, error

    def end(self) -> None:
        self.python.close(60)
        if self._java is not None:
            self._java.kill()
            self._java.__exit__(None, None, None)


@pytest.fixture(scope="module", params=["embedded", "4.4.0"])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    with started_broker(request.param, SETTINGS) as address:
        yield address


@pytest.fixture
def topics(servers: str) -> Topics:
    return Topics(servers, unique("grown"))


@pytest.fixture
def make(topics: Topics, tmp_path: Path) -> Iterator[Make]:
    with ExitStack() as stack:

        def made(sources: str, kind: str, protocol: str) -> Both:
            both = Both(topics, sources, kind, protocol, tmp_path)
            stack.callback(both.end)
            return both

        yield made


@contextmanager
def flow(topics: Topics, written: set[str]) -> Iterator[None]:
    """Write to all partitions that both topics had in the beginning, all the time."""
    stopped = threading.Event()

    def write() -> None:
        for number in count():
            if stopped.wait(0.1):
                return
            for part, partitions in (("many", 4), ("few", 2)):
                values = {at: f"{part}-{at}-{number}" for at in range(partitions)}
                topics.write(part, values)
                written.update(values.values())

    thread = threading.Thread(target=write, name="flow")
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


@cases
def test_new_partitions_of_the_smaller_of_two_merged_sources_are_counted_exactly(
    make: Make, topics: Topics, protocol: str, first: str
) -> None:
    topics.create(many=4, few=2, out=1)
    both = make("many+few", "merged", protocol)
    both.start(first)
    written = {"early"}
    topics.write("few", {1: "early"})
    topics.wait_for_values("out", written)
    with flow(topics, written):
        topics.grow("few", 4)
        for number in range(10):
            values = {at: f"new-{at}-{number}" for at in range(4)}
            topics.write("few", values)
            written |= set(values.values())
        topics.wait_for_values("out", {f"new-{at}-{number}" for at in range(4) for number in range(10)})
    assert topics.wait_for_values("out", written) == Counter(written)
    assert both.runs()
    if protocol == "classic":
        assert {task.partition for task in both.java_tasks()} & {2, 3}, "Java has read none of the new partitions"


@cases
def test_a_source_with_changelogs_behind_it_is_an_error_that_names_the_numbers(
    make: Make, topics: Topics, protocol: str, first: str
) -> None:
    topics.create(many=2, out=1)
    both = make("many", "lines", protocol)
    both.start(first)
    topics.grow("many", 3)
    wait_until(lambda: both.python.state is StreamsState.ERROR, PATIENCE_S, lambda: both.python.state)
    assert isinstance(both.python.error, StreamsError)
    told, changelog = str(both.python.error), f"{topics.name}-lines-changelog"
    if protocol == "classic":
        assert f"Topic {changelog} has 2 partitions, but the application needs 3: one for each task" in told
        assert f"{topics.of('many')} (3)" in told
        assert "elete" not in told
    else:
        assert changelog in told
        assert "Do not delete the changelog" in told
    wait_until(lambda: both.java_state()[0] == "ERROR", PATIENCE_S, both.java_state)
    assert "partitions" in both.java_state()[1]
