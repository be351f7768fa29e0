"""A process with three workers beside an instance in Java in one classic group, with either as leader: exact counts."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from uuid import UUID

import pytest
from attrs import frozen

from kafka_groups.streams import KafkaStreams, UncaughtErrorResponse
from kafka_groups.types import TaskId
from tests.integration.test_killed_streams_applications import workers_of
from tests.support.conditions import wait_until
from tests.support.kafka.mixed_application import EXACTLY_ONCE, MixedApplication
from tests.support.kafka.mixed_topologies import expected, mixed_topology
from tests.support.kafka.started_broker import started_broker
from tests.support.members.described_classic_group import DescribedMember, described_members

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(600)]

PATIENCE_S = 120.0
KIND, WORKERS = "counts", 3
SETTINGS = {"group.initial.rebalance.delay.ms": "100", "group.min.session.timeout.ms": "1000"}
STATEFUL = {TaskId("1", number) for number in range(2)}
Make = Callable[[int], "Beside"]
leaders = pytest.mark.parametrize("leader", ["java", "python"])


@frozen
class Strike:
    """Fails at the first line that any worker meets once it is armed, for processes of their own."""

    armed: Path
    struck: Path

    def __call__(self, _id: str, _text: str) -> None:
        if self.armed.exists() and not self.struck.exists():
            self.struck.touch()
            raise ValueError("struck")


def replace(_error: Exception) -> UncaughtErrorResponse:
    return UncaughtErrorResponse.REPLACE_WORKER


def run(names: tuple[str, str, str], servers: str, strike: Strike, session_ms: int) -> None:
    """Run an instance in Python with three workers until it is killed."""
    application_id, source, sink = names
    keys = {
        "group.protocol": "classic", "session.timeout.ms": session_ms, "heartbeat.interval.ms": 300,
        "num.standby.replicas": 1,
    }  # fmt: skip
    KafkaStreams(
        partial(mixed_topology, KIND, source, sink, strike), keys, application_id=application_id,
        bootstrap_servers=servers, commit_interval_ms=100, num_workers=WORKERS, processing_guarantee=EXACTLY_ONCE,
        uncaught_exception_handler=replace,
    ).run()  # fmt: skip


class Beside:
    """An application with two instances, four tasks, and standbys of those with state.

    Args:
        servers: The broker.
        directory: For files.
        session_ms: The session of the workers.
    """

    def __init__(self, servers: str, directory: Path, session_ms: int) -> None:
        self.app = MixedApplication(KIND, servers, directory, EXACTLY_ONCE, protocol="classic")
        self.app.more_keys = {"num.standby.replicas": "1"}
        self.strike = Strike(directory / "armed", directory / "struck")
        self._session_ms = session_ms
        self._python: BaseProcess | None = None

    def start(self, leader: str) -> None:
        """Start both. The one that joins first leads."""
        starts = [self.app.start_java, self.start_python]
        for start in starts if leader == "java" else reversed(starts):
            start()
            wait_until(self.members, PATIENCE_S)
        wait_until(self.is_shared, PATIENCE_S, self.members)

    def start_python(self) -> None:
        app = self.app
        names = app.application_id, app.source, app.sink
        given = names, app.servers, self.strike, self._session_ms
        self._python = multiprocessing.get_context("spawn").Process(target=run, args=given)
        self._python.start()

    def members(self) -> dict[UUID, list[DescribedMember]]:
        found: dict[UUID, list[DescribedMember]] = {}
        for each in described_members(*self.app.group):
            found.setdefault(each.process_id, []).append(each)
        return found

    def is_shared(self) -> bool:
        """Whether the leader sees a process of three threads and one of one: no process has a task and its standby."""
        processes = sorted(self.members().values(), key=len)
        shares = [(len(members), sum(len(each.active) for each in members)) for members in processes]
        return shares == [(1, 1), (WORKERS, 3)] and all(map(_is_apart, processes)) and _standbys(processes) == STATEFUL

    def workers(self) -> set[str]:
        """The ids of the members in Python; none while the group rebalances."""
        found = [its for its in self.members().values() if len(its) == WORKERS]
        return {each.member_id for each in found[0]} if found else set()

    def kill_a_worker(self) -> None:
        assert self._python is not None
        os.kill(max(workers_of(self._python.pid)), signal.SIGKILL)

    def wait_until_replaced(self, before: set[str]) -> None:
        """Wait until one member in Python is another one, and all is shared as before."""
        wait_until(lambda: len(self.workers() - before) == 1 and self.is_shared(), PATIENCE_S, self.members)

    def check(self) -> None:
        """Check that each word is counted once."""
        app = self.app
        app.wait_for_output()
        wait_until(lambda: app.changelog() == expected(KIND, app.lines), PATIENCE_S)
        wait_until(lambda: app.committed() == len(app.lines), PATIENCE_S, app.committed)
        assert self._python is not None
        assert self._python.is_alive()
        app.check_committed()

    def end(self) -> None:
        if self._python is not None:
            self._python.kill()
            self._python.join()
        self.app.end()


def _is_apart(members: list[DescribedMember]) -> bool:
    active = {task for each in members for task in each.active}
    return not any(active & each.standby for each in members)


def _standbys(processes: list[list[DescribedMember]]) -> set[TaskId]:
    return {task for members in processes for each in members for task in each.standby}


@pytest.fixture(scope="module", params=["embedded", "4.4.0"])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    with started_broker(request.param, SETTINGS) as address:
        yield address


@pytest.fixture
def make(servers: str, tmp_path: Path) -> Iterator[Make]:
    with ExitStack() as stack:

        def made(session_ms: int) -> Beside:
            beside = Beside(servers, tmp_path, session_ms)
            stack.callback(beside.end)
            return beside

        yield made


@leaders
def test_a_worker_that_fails_is_replaced_at_once(make: Make, leader: str) -> None:
    # The session does not end within the test: the failed worker has left.
    beside = make(300_000)
    beside.app.write(40)
    beside.start(leader)
    processes, before = set(beside.members()), beside.workers()
    with beside.app.flow():
        beside.strike.armed.touch()
        wait_until(beside.strike.struck.exists, PATIENCE_S)
        beside.wait_until_replaced(before)
        beside.app.wait_for_commit()
    assert set(beside.members()) == processes
    beside.check()


@leaders
def test_a_killed_worker_is_replaced_in_its_process_after_its_session(make: Make, leader: str) -> None:
    beside = make(3_000)
    beside.app.write(40)
    beside.start(leader)
    processes, before = set(beside.members()), beside.workers()
    with beside.app.flow():
        beside.app.wait_for_commit()
        beside.kill_a_worker()
        beside.wait_until_replaced(before)
        beside.app.wait_for_commit()
    assert set(beside.members()) == processes
    beside.check()
