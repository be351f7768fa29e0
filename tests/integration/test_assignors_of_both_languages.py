"""Instances in Java (Kafka Streams 4.3.1) and in Python lead one classic group in turn, with an assignor each.

The leader is killed again and again while records flow. Counts stay exact.
"""

import logging
import multiprocessing
import random
import re
from collections.abc import Iterator, Mapping, Set
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from uuid import UUID

import pytest
from attrs import define, field, frozen

from kafka_groups.assignment import ApplicationState, AssignedTask, KafkaStreamsAssignment, TaskAssignment
from kafka_groups.streams import KafkaStreams
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TaskId
from tests.support.conditions import wait_until
from tests.support.kafka.java_program import LineProgram, java_command
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip
from tests.support.kafka.mixed_application import EXACTLY_ONCE, MixedApplication, keys_of
from tests.support.kafka.mixed_topologies import expected, mixed_topology
from tests.support.members.described_classic_group import described_members

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.timeout(900)]

SETTINGS = {"group.initial.rebalance.delay.ms": "100", "group.min.session.timeout.ms": "1000"}
PATIENCE_S = 120.0
# Whichever process is killed, each of the others gets a whole number of tasks for each of its threads. Without that,
# the sticky assignor itself may exchange tasks with state of processes that live.
PARTITIONS = 10
TASKS = frozenset(TaskId(subtopology, partition) for subtopology in "01" for partition in range(PARTITIONS))
_LED = re.compile(r"Generation (\d+) of group \S+: member \S+ (leads|follows)\.")
_DECIDES = re.compile(r" leads group \S+ from generation \d+ on, and assigns its tasks with (\S+)\.$", re.MULTILINE)

Owners = Mapping[UUID, frozenset[TaskId]]
"""The active tasks of each process."""


def pinned(state: ApplicationState) -> TaskAssignment:
    """Give the tasks of each sub-topology to one process."""
    processes = sorted(state.kafka_streams_states(compute_task_lags=False))
    given: dict[object, list[AssignedTask]] = {process: [] for process in processes}
    for task in state.all_tasks:
        given[processes[0 if task.subtopology_id == "0" else -1]].append(AssignedTask.active(task))
    return TaskAssignment(KafkaStreamsAssignment.of(process, given[process]) for process in processes)


@frozen
class Assignors:
    """The assignors of a group: their names in Python and in Java; None in Java is its default."""

    python: str
    java: str | None


STICKY = Assignors("StickyTaskAssignor", "org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor")
DIFFERENT = Assignors(f"{__name__}:pinned", None)


@define
class Mixed:
    """The instances of an application. Those in Python are processes of their own, with a log each."""

    app: MixedApplication
    assignors: Assignors
    directory: Path
    command: list[str]
    pythons: dict[Path, BaseProcess] = field(factory=dict)
    javas: list[LineProgram] = field(factory=list)
    decided: set[str] = field(factory=set)

    @property
    def size(self) -> int:
        return len(self.pythons) + len(self.javas)

    def start_python(self) -> None:
        log = self.directory / f"python-{len(list(self.directory.glob('python-*.log')))}.log"
        log.touch()
        app = self.app
        names = (app.servers, app.application_id, app.source, app.sink)
        target = partial(run_python, *names, self.assignors.python, log)
        process = multiprocessing.get_context("spawn").Process(target=target)
        process.start()
        self.pythons[log] = process

    def start_java(self) -> None:
        more = {} if self.assignors.java is None else {"task_assignor_class": self.assignors.java}
        self.javas.append(self.app.new_java(self.command, num_stream_threads="2", **more))

    def leader(self) -> Path | None:
        """The log of the instance in Python that leads, or None if one in Java does."""
        assert all(each.is_alive() for each in self.pythons.values()), "one ended by itself"
        told = {log: _LED.findall(log.read_text(encoding="utf-8")) for log in self.pythons}
        last = {log: (int(lines[-1][0]), lines[-1][1]) for log, lines in told.items() if lines}
        newest = max((generation for generation, _ in last.values()), default=0)
        leading = [log for log, (generation, role) in last.items() if generation == newest and role == "leads"]
        return leading[0] if leading else None

    def kill_leader(self, choose: random.Random) -> str:
        """Kill the leader; brokers do not tell which of those in Java it is. Returns the language."""
        if (log := self.leader()) is None:
            java = self.javas.pop(choose.randrange(len(self.javas)))
            java.kill()
            java.__exit__(None, None, None)
            return "java"
        self.decided |= set(_DECIDES.findall(log.read_text(encoding="utf-8")))
        process = self.pythons.pop(log)
        process.kill()
        process.join()
        return "python"

    def owners(self) -> Owners:
        """The active tasks of each process; none unless the group is stable, complete and runs all tasks once."""
        found: dict[UUID, frozenset[TaskId]] = {}
        for each in described_members(self.app.servers, self.app.application_id):
            found[each.process_id] = found.get(each.process_id, frozenset()) | each.active
        tasks = [task for its in found.values() for task in its]
        return found if len(found) == self.size and sorted(tasks) == sorted(TASKS) else {}

    def settled(self) -> Owners:
        """Wait until the group has an assignment that belongs to the assignor of its leader."""
        wait_until(lambda: self._is_settled(self.owners()), PATIENCE_S, self._shown)
        return self.owners()

    def _is_settled(self, owners: Owners) -> bool:
        if not owners:
            return False
        if self.assignors is STICKY:
            return True
        # Java's default gives each process a share.
        return self.size == 1 or (
            is_pinned(owners) if self.leader() else all(owners.values()) and not is_pinned(owners)
        )

    def _shown(self) -> object:
        members = described_members(self.app.servers, self.app.application_id)
        return self.leader(), [(each.member_id, sorted(map(str, each.active))) for each in members]

    def end(self) -> None:
        for each in self.pythons.values():
            each.kill()
            each.join()
        for java in self.javas:
            java.kill()
            java.__exit__(None, None, None)
        self.app.end()


def is_pinned(owners: Owners) -> bool:
    """Whether one process has the tasks of one sub-topology, and another those of the other."""
    shares = [{task.subtopology_id for task in its} for its in owners.values() if its]
    return sorted(map(sorted, shares)) == [["0"], ["1"]]


def with_state(tasks: Set[TaskId]) -> Set[TaskId]:
    """The tasks that have a store. The sticky assignor may exchange the others."""
    return {task for task in tasks if task.subtopology_id == "1"}


def run_python(servers: str, application_id: str, source: str, sink: str, assignor: str, log: Path) -> None:
    """Run an instance in Python until it is killed."""
    logging.basicConfig(filename=log, level=logging.INFO, format="%(message)s")
    KafkaStreams(
        partial(mixed_topology, "words", source, sink),
        {**keys_of("classic"), "task.assignor.class": assignor, "commit.interval.ms": 100},
        application_id=application_id,
        bootstrap_servers=servers,
        processing_guarantee=EXACTLY_ONCE,
    ).run()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for each seed of `--kill-seeds`."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--kill-seeds")))


@pytest.fixture(scope="module", params=["4.4.0", pytest.param("3.9.1", marks=pytest.mark.long)])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    with KafkaProcess(request.param, SETTINGS) as kafka:
        yield kafka.bootstrap_servers


@frozen
class Case:
    """A run of the test.

    Attributes:
        assignors: The assignors.
        each: The instances in each language.
        kills: How often the leader is killed.
    """

    assignors: Assignors
    each: int
    kills: int


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case(STICKY, 1, 2), id="one each, the same"),
        pytest.param(Case(DIFFERENT, 1, 2), id="one each, different ones", marks=pytest.mark.long),
        pytest.param(Case(STICKY, 2, 6), id="two each, the same", marks=pytest.mark.long),
        pytest.param(Case(DIFFERENT, 2, 6), id="two each, different ones", marks=pytest.mark.long),
    ],
)
def test_each_language_leads_and_counts_stay_exact(
    servers: str, tmp_path: Path, request: pytest.FixtureRequest, case: Case, seed: int
) -> None:
    app = MixedApplication("words", servers, tmp_path, EXACTLY_ONCE, protocol="classic", partitions=PARTITIONS)
    mixed = Mixed(app, case.assignors, tmp_path, java_command("MixedInstance", tmp_path, streams_classpath_or_skip()))
    request.addfinalizer(mixed.end)
    choose, killed = random.Random(seed), list[str]()
    app.write(40)
    mixed.start_python()  # which leads
    wait_until(mixed.owners, PATIENCE_S)
    for _ in range(case.each - 1):
        mixed.start_python()
    for _ in range(case.each):
        mixed.start_java()
    with app.flow():
        for _ in range(case.kills):
            before = mixed.settled()
            app.wait_for_commit()
            assert mixed.owners() == before  # the change of leader has changed it once
            killed.append(mixed.kill_leader(choose))
            after = mixed.settled()
            assert after.keys() < before.keys()
            if case.assignors is STICKY:
                assert all(with_state(before[process]) <= its for process, its in after.items())
            (mixed.start_python if killed[-1] == "python" else mixed.start_java)()
        mixed.settled()
        app.wait_for_commit()
    assert "python" in killed
    assert case.each > 1 or killed == ["python", "java"]
    assert mixed.decided == {case.assignors.python}
    app.wait_for_output()
    wait_until(lambda: app.changelog() == expected("words", app.lines), PATIENCE_S)
    wait_until(lambda: app.committed() == len(app.lines), PATIENCE_S, app.committed)
    assert all(process.is_alive() for process in mixed.pythons.values())
    app.check_committed()
