"""Assignors of applications run one after the other, and are given up when they take too long."""

import asyncio
import logging
import random
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    AssignmentConfigs,
    AssignmentError,
    GroupAssignment,
    GroupSubscription,
    KafkaStreamsAssignment,
    ProcessId,
    Registered,
    TaskAssignment,
    TaskAssignmentError,
    TaskAssignor,
    TaskInfo,
)
from kafka_groups.assignment.application.assignor_run import Computed
from kafka_groups.assignment.application.neutral import ApplicationInput, MemberInput
from kafka_groups.broker.coordinators.groups.streams.effects import ComputeAssignment
from kafka_groups.broker.runtime.groups.assignor_runs import AssignorRuns
from kafka_groups.broker.runtime.running_aside import in_thread, in_virtual_time
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TaskId

T = TypeVar("T")

TIMEOUT_MS = 1_000
TASK = TaskId("0", 0)
GIVEN = ApplicationInput(
    members={"m": MemberInput(process_id=ProcessId("a"))},
    tasks={TASK: TaskInfo(TASK, is_stateful=False)},
    configs=AssignmentConfigs(),
    now=datetime(2030, 1, 1, tzinfo=UTC),
    lags=dict,
)


def assign(state: ApplicationState) -> TaskAssignment:
    """Give everything to each process: there is only one."""
    processes = state.kafka_streams_states(compute_task_lags=False)
    return TaskAssignment(
        KafkaStreamsAssignment.of(each, map(AssignedTask.active, state.all_tasks)) for each in processes
    )


class Scene:
    """Runs whose functions return when the test says so."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.begun: list[Callable[[], None]] = []
        self.timers: list[tuple[int, Callable[[], None]]] = []
        self.told: list[tuple[str, Computed | Exception]] = []
        self.runs = AssignorRuns(self._aside, self._later, self.clock, TIMEOUT_MS)

    def _aside(self, name: str, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        def returns() -> None:
            try:
                outcome: T | Exception = work()
            except Exception as error:
                outcome = error
            done(outcome)

        self.begun.append(returns)

    def _later(self, ms: int, call: Callable[[], None]) -> None:
        self.timers.append((self.clock.now_ms() + ms, call))

    def start(self, group: str, assignor: object = assign, name: str = "mine") -> None:
        effect = ComputeAssignment(group, 2, Registered(assignor, name=name), GIVEN)
        self.runs.start(effect, lambda result: self.told.append((group, result)))

    def after(self, ms: int) -> None:
        self.clock.advance(ms)
        due = [call for at_ms, call in self.timers if at_ms <= self.clock.now_ms()]
        self.timers = [each for each in self.timers if each[1] not in due]
        for call in due:
            call()

    def told_of(self, group: str) -> Any:
        return dict(self.told)[group]


def test_a_result_is_told() -> None:
    scene = Scene()
    scene.start("g")
    assert scene.told == []
    scene.begun.pop()()
    assert scene.told_of("g").outcome.group_assignment.members["m"].active_tasks == {TASK}


def test_those_of_one_assignor_run_one_after_the_other_and_those_of_others_beside() -> None:
    scene = Scene()
    for group, name in (("a", "one"), ("b", "one"), ("c", "two")):
        scene.start(group, name=name)
    assert len(scene.begun) == 2
    scene.begun.pop(0)()
    assert [group for group, _ in scene.told] == ["a"]
    assert len(scene.begun) == 2
    scene.begun.pop()()
    scene.begun.pop()()
    assert [group for group, _ in scene.told] == ["a", "b", "c"]


def test_one_that_does_not_return_is_given_up_and_not_started_again_until_it_returns() -> None:
    scene = Scene()
    scene.start("a")
    scene.start("b")
    scene.after(TIMEOUT_MS - 1)
    assert scene.told == []
    scene.after(1)
    assert isinstance(scene.told_of("a"), TaskAssignmentError)
    assert "has not returned within 1000 ms (group.streams.assignor.timeout.ms)" in str(scene.told_of("a"))
    assert str(scene.told_of("b")) == "the task assignor mine has not returned yet."
    scene.start("c")
    assert str(scene.told_of("c")) == "the task assignor mine has not returned yet."
    scene.begun.pop()()
    assert len(scene.told) == 3, "what comes too late is dropped"
    scene.start("d")
    scene.begun.pop()()
    assert isinstance(scene.told_of("d"), Computed)


def test_the_next_one_has_the_whole_time() -> None:
    scene = Scene()
    scene.start("a")
    scene.start("b")
    scene.after(TIMEOUT_MS - 1)
    scene.begun.pop()()
    scene.after(TIMEOUT_MS - 1)
    assert [group for group, _ in scene.told] == ["a"]
    scene.after(1)
    assert isinstance(scene.told_of("b"), TaskAssignmentError)


@pytest.mark.parametrize(("ms", "count"), [(50, 0), (51, 1)])
def test_slow_ones_are_logged(ms: int, count: int, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.start("g")
    scene.after(ms)
    with caplog.at_level(logging.WARNING):
        scene.begun.pop()()
    assert [each.getMessage() for each in caplog.records] == [f"group g: the task assignor mine took {ms} ms."] * count


def test_errors_of_the_callback_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Complaining(TaskAssignor):
        def assign(self, application_state: ApplicationState) -> TaskAssignment:
            return assign(application_state)

        def on_assignment_computed(
            self, assignment: GroupAssignment, subscription: GroupSubscription, error: AssignmentError
        ) -> None:
            raise OSError("no disk")

    scene = Scene()
    scene.start("g", Complaining)
    with caplog.at_level(logging.WARNING):
        scene.begun.pop()()
    assert isinstance(scene.told_of("g"), Computed)
    assert [each.getMessage() for each in caplog.records] == [
        "The task assignor mine failed in on_assignment_computed."
    ]


# ------------------------------------------------------------------------------------------------ beside


def _raise() -> str:
    raise LookupError("gone")


async def test_a_function_runs_in_a_thread_of_its_own() -> None:
    ended: asyncio.Queue[str | Exception] = asyncio.Queue()
    in_thread("x", lambda: threading.current_thread().name, ended.put_nowait)
    assert await ended.get() == "assignor-x"
    in_thread("x", _raise, ended.put_nowait)
    assert isinstance(await ended.get(), LookupError)


def test_a_thread_that_outlives_its_loop_is_no_error() -> None:
    goes_on = threading.Event()
    before = set(threading.enumerate())

    async def begin() -> None:
        in_thread("late", goes_on.wait, lambda _: None)

    asyncio.run(begin())
    (thread,) = set(threading.enumerate()) - before
    goes_on.set()
    thread.join()


async def test_virtual_durations() -> None:
    ended: asyncio.Queue[int | Exception] = asyncio.Queue()
    run = in_virtual_time(random.Random(1), {"slow": 1})
    run("slow", lambda: 1, ended.put_nowait)
    assert ended.empty()
    assert await ended.get() == 1
