"""A task assignor in Python decides for members of Kafka Streams 4.3.1, as long as the one member in Python leads."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    AssignmentError,
    GroupAssignment,
    GroupSubscription,
    KafkaStreamsAssignment,
    KafkaStreamsState,
    TaskAssignment,
    TaskAssignmentError,
    TaskAssignor,
)
from kafka_groups.streams import KafkaStreams, StreamsBuilder, Topology, serdes
from tests.support.conditions import wait_until
from tests.support.kafka.java_streams import JavaStreams
from tests.support.kafka.java_word_count import PARTITIONS, TASKS, WordCount
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip
from tests.support.kafka.started_broker import started_broker

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(400)]

SETTINGS = {"group.initial.rebalance.delay.ms": 100, "group.min.session.timeout.ms": 1_000}
PATIENCE_S = 120.0
NAMES = ("one", "two", "three")
FIRST, SECOND = ({f"{subtopology}_{partition}" for partition in range(PARTITIONS)} for subtopology in "01")
KEYS = {
    "group.protocol": "classic", "session.timeout.ms": "6000", "heartbeat.interval.ms": "300",
    "commit.interval.ms": "100", "num.standby.replicas": "1",
}  # fmt: skip
"""The keys of all instances."""


class ForOthers(TaskAssignor):
    """Gives a process all tasks of sub-topology 0, another those of 1, and a third copies of these.

    A process that has the tag `leads` gets nothing, unless it is alone.
    """

    def __init__(self) -> None:
        self.heard: list[AssignmentError] = []
        self.refused = 0
        self.can_tell = True

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        if not self.can_tell:
            self.refused += 1
            raise TaskAssignmentError("the inventory is away")
        states = application_state.kafka_streams_states(compute_task_lags=True)
        others = [each for each in states.values() if not each.client_tags] or [*states.values()]
        given: dict[object, list[AssignedTask]] = {process: [] for process in states}
        for task in application_state.all_tasks:
            runs, copies = places(task.subtopology_id, others)
            given[runs.process_id].append(AssignedTask.active(task))
            if copies is not runs:
                given[copies.process_id].append(AssignedTask.standby(task))
        return TaskAssignment(KafkaStreamsAssignment.of(process, given[process]) for process in states)

    def on_assignment_computed(
        self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
    ) -> None:
        self.heard.append(error)


def places(subtopology_id: str, processes: Sequence[KafkaStreamsState]) -> tuple[KafkaStreamsState, KafkaStreamsState]:
    """The process that runs a task, and the one that has its copy, which is the same if there is none."""
    if subtopology_id == "0":
        return processes[0], processes[0]
    return processes[1 % len(processes)], processes[2 % len(processes)]


def count_words(source: str, sink: str) -> Topology:
    """The topology of `StreamsRunner.java`."""
    text = serdes.string
    builder = StreamsBuilder()
    words = builder.stream(source, key=text, value=text).flat_map(
        lambda line, words: [(word, line) for word in words.split(" ")], key=text, value=text
    )
    lines = words.group_by_key(key=text, value=text, name="words").aggregate(str, with_line, value=text, store="lines")
    counts = lines.to_stream().map_values(lambda ids: str(len(ids.split(","))), value=text)
    counts.to(sink, key=text, value=text)
    return builder.build()


def with_line(_word: str, line: str, lines: str) -> str:
    return ",".join(sorted({*lines.split(","), line} - {""}))


@pytest.fixture(
    params=["embedded", pytest.param("4.4.0", marks=pytest.mark.long), pytest.param("3.9.1", marks=pytest.mark.long)]
)
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    with started_broker(request.param, SETTINGS) as address:
        yield address


@pytest.fixture
def java(tmp_path: Path) -> Iterator[JavaStreams]:
    with JavaStreams(tmp_path, streams_classpath_or_skip()) as program:
        yield program


def test_members_in_java_run_and_copy_what_the_assignor_in_python_returns(
    servers: str, java: JavaStreams, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kafka_groups.group")
    words, assignor = WordCount(servers, tmp_path), ForOthers()
    python = instance(words, assignor)
    words.write(20)
    with python:
        python.wait_until_running(PATIENCE_S)
        for name in NAMES:
            open_java(java, name, words, tmp_path)
        wait_until(lambda: active(java) == [set(), FIRST, SECOND], PATIENCE_S, lambda: active(java))
        wait_until(lambda: copies(java) == [set(), set(), SECOND], PATIENCE_S, lambda: copies(java))
        words.write(20)
        words.wait_for_counts()
        assert set(assignor.heard) == {AssignmentError.NONE}
        rounds = len(assignor.heard)
        [line] = leads(caplog)
        assert line.endswith(f" leads group {words.application_id} from generation 1 on, and assigns its tasks with "
                             f"{__name__}:ForOthers.")  # fmt: skip
    # A member in Java leads now, with Java's default: each process gets a part of both.
    wait_until(lambda: is_spread(active(java)), PATIENCE_S, lambda: active(java))
    words.write(20)
    words.wait_for_counts()
    assert len(assignor.heard) == rounds
    assert len(leads(caplog)) == 1


def instance(words: WordCount, assignor: TaskAssignor) -> KafkaStreams:
    """The instance in Python."""
    return KafkaStreams(
        count_words(words.source, words.sink),
        {**KEYS, "client.tag.leads": "yes"},
        application_id=words.application_id,
        bootstrap_servers=words.servers,
        task_assignor_class=assignor,
    )


def open_java(java: JavaStreams, name: str, words: WordCount, directory: Path) -> None:
    """Start an instance in Java with two threads."""
    java.open_words(
        name, words.source, words.sink, bootstrap_servers=words.servers, application_id=words.application_id,
        num_stream_threads="2", state_dir=str(directory / name), statestore_cache_max_bytes="0",
        **{key.replace(".", "_"): value for key, value in KEYS.items()},
    )  # fmt: skip


@pytest.mark.long
def test_members_in_java_keep_their_tasks_while_the_assignor_in_python_cannot_tell(
    servers: str, java: JavaStreams, tmp_path: Path
) -> None:
    words, assignor = WordCount(servers, tmp_path), ForOthers()
    words.write(20)
    with instance(words, assignor) as python:
        python.wait_until_running(PATIENCE_S)
        for name in NAMES[:2]:
            open_java(java, name, words, tmp_path)
        wait_until(lambda: active(java, 2) == [FIRST, SECOND], PATIENCE_S, lambda: active(java, 2))
        words.wait_for_counts()
        assignor.can_tell = False
        open_java(java, NAMES[2], words, tmp_path)
        wait_until(lambda: assignor.refused > 2, PATIENCE_S)
        words.write(20)
        words.wait_for_counts()
        shares = sorted(({*",".join(each.tasks).split(",")} - {""} for each in java.state().values()), key=sorted)
        assert shares[-2:] == [FIRST, SECOND]
        assert not [each.error for each in java.state().values() if each.error]
        assignor.can_tell = True
        wait_until(lambda: active(java) == [set(), FIRST, SECOND], PATIENCE_S, lambda: active(java))
        words.write(20)
        words.wait_for_counts()


def active(java: JavaStreams, instances: int = len(NAMES)) -> list[set[str]]:
    """The active tasks of each instance in Java, the smallest sets first; none while one of them does not run."""
    states = java.state().values()
    assert not [each.error for each in states if each.error]
    if len(states) < instances or any(each.state != "RUNNING" for each in states):
        return []
    return sorted(({*",".join(each.tasks).split(",")} - {""} for each in states), key=sorted)


def is_spread(shares: list[set[str]]) -> bool:
    is_complete = sorted(task for tasks in shares for task in tasks) == TASKS
    return is_complete and all(each & FIRST and each & SECOND for each in shares)


def copies(java: JavaStreams) -> list[set[str]]:
    return sorted((set(each) for each in java.copies().values()), key=sorted)


def leads(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if " leads group " in each.getMessage()]
