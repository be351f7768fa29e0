"""The sticky assignors, without Java: small examples, and what holds for every application."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from time import process_time

import attrs
import pytest

from kafka_groups.assignment.application.assignments import TaskAssignment
from kafka_groups.assignment.application.built_in import (
    FallbackPriorTaskAssignor,
    LegacyStickyTaskAssignor,
    StickyTaskAssignor,
)
from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState, KafkaStreamsState
from kafka_groups.assignment.application.task_assignment_validation import validate_task_assignment
from kafka_groups.assignment.application.task_assignor import AssignmentError, TaskAssignor
from kafka_groups.assignment.application.tasks import TaskInfo
from kafka_groups.types import TaskId
from tests.support.assignors.application_cases import random_application

NOW = datetime(2030, 1, 1, tzinfo=UTC)
A, B, C, NEW = (ProcessId(text) for text in ("a", "b", "c", "new"))
STATEFUL = tuple(TaskId("0", partition) for partition in range(5))
STATELESS = tuple(TaskId("10", partition) for partition in range(3))

KINDS: Mapping[str, Callable[[], TaskAssignor]] = {
    "sticky": StickyTaskAssignor,
    "preserving": lambda: StickyTaskAssignor(must_preserve_active_task_assignment=True),
    "legacy": LegacyStickyTaskAssignor,
    "fallback": FallbackPriorTaskAssignor,
}
PRESERVING = ("preserving", "fallback")

MOST_COLD_S, MOST_REPLACED_S = 10, 2

Given = tuple[int, Sequence[TaskId], Sequence[TaskId]]
"""The threads of a process, its active tasks, and its copies."""


def application(
    processes: Mapping[ProcessId, Given],
    tasks: Sequence[TaskId],
    standbys: int = 0,
    is_stateful: Callable[[TaskId], bool] = STATEFUL.__contains__,
) -> ApplicationState:
    states = {
        process_id: KafkaStreamsState(
            process_id=process_id,
            consumer_client_ids=[f"{process_id}-{number}" for number in range(threads)],
            previous_active_tasks=active,
            previous_standby_tasks=standby,
        )
        for process_id, (threads, active, standby) in processes.items()
    }
    infos = {task: TaskInfo(task, is_stateful=is_stateful(task)) for task in tasks}
    return ApplicationState(infos, AssignmentConfigs(num_standby_replicas=standbys), NOW, lambda _lags: states)


def active(assignment: TaskAssignment) -> dict[ProcessId, list[TaskId]]:
    return {
        each.process_id: [task.id for task in each.tasks.values() if task.is_active] for each in assignment.assignment
    }


def standby(assignment: TaskAssignment) -> dict[ProcessId, list[TaskId]]:
    return {
        each.process_id: [task.id for task in each.tasks.values() if not task.is_active]
        for each in assignment.assignment
    }


# Examples


def test_new_tasks_are_shared_by_threads() -> None:
    state = application({A: (1, (), ()), B: (2, (), ()), C: (3, (), ())}, STATEFUL + STATELESS)
    zero, one, two, three, four = STATEFUL
    assert active(LegacyStickyTaskAssignor().assign(state)) == {
        A: [zero],
        B: [one, four, STATELESS[2]],
        C: [two, three, *STATELESS[:2]],
    }
    assert active(StickyTaskAssignor().assign(state)) == {
        A: [zero, STATELESS[1]],
        B: [one, four, STATELESS[2]],
        C: [two, three, STATELESS[0]],
    }


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_stay_and_new_ones_go_to_the_process_with_less(kind: str) -> None:
    had = STATEFUL[:2]
    state = application({A: (1, had, ()), B: (1, (), ())}, STATEFUL[:4])
    assert active(KINDS[kind]().assign(state)) == {A: list(had), B: list(STATEFUL[2:4])}


@pytest.mark.parametrize("kind", KINDS)
def test_a_process_that_joins_gets_what_is_beyond_the_share_unless_all_is_kept(kind: str) -> None:
    state = application({A: (1, STATEFUL[:4], ()), B: (1, (), ())}, STATEFUL[:4])
    counts = [len(tasks) for tasks in active(KINDS[kind]().assign(state)).values()]
    assert counts == ([4, 0] if kind in PRESERVING else [2, 2])


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_of_a_lost_process_goes_where_its_copy_is(kind: str) -> None:
    state = application({A: (1, STATEFUL[:1], STATEFUL[3:4]), B: (1, STATEFUL[1:2], STATEFUL[2:3])}, STATEFUL[:4])
    assert active(KINDS[kind]().assign(state)) == {A: [STATEFUL[0], STATEFUL[3]], B: list(STATEFUL[1:3])}


@pytest.mark.parametrize("kind", KINDS)
def test_copies_stay(kind: str) -> None:
    copies = {A: [STATEFUL[1]], B: [STATEFUL[2]], C: [STATEFUL[0]]}
    state = application(
        {each: (1, [task], copies[each]) for each, task in zip((A, B, C), STATEFUL, strict=False)}, STATEFUL[:3], 1
    )
    assert standby(KINDS[kind]().assign(state)) == copies


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_no_copies_of_tasks_without_state(kind: str) -> None:
    state = application({A: (1, (), ()), B: (1, (), ())}, STATELESS, standbys=1)
    assert standby(KINDS[kind]().assign(state)) == {A: [], B: []}


def test_a_task_that_ran_in_several_processes_stays_in_the_last() -> None:
    state = application({A: (1, STATEFUL[:1], ()), B: (1, STATEFUL[:1], ())}, STATEFUL[:1])
    assert active(FallbackPriorTaskAssignor().assign(state)) == {A: [], B: [STATEFUL[0]]}


def test_tasks_that_do_not_exist_any_more_are_dropped() -> None:
    state = application({A: (1, STATEFUL, ()), B: (1, (), STATEFUL)}, STATEFUL[:2])
    assert active(FallbackPriorTaskAssignor().assign(state)) == {A: list(STATEFUL[:2]), B: []}


@pytest.mark.parametrize("kind", PRESERVING)
def test_copies_of_tasks_that_run_together_are_spread(kind: str) -> None:
    """The second copy does not go to the process with the least load, where the tasks would be together again."""
    zero, one, two, three, _ = STATEFUL
    state = application({A: (2, (zero, one), ()), B: (2, (), ()), C: (1, (two, three), ())}, STATEFUL[:4], 1)
    copies = standby(KINDS[kind]().assign(state))
    assert [zero in copies[each] for each in (B, C)] == [True, False]
    assert [one in copies[each] for each in (B, C)] == [False, True]


@pytest.mark.parametrize(
    ("kind", "asks"), [("sticky", False), ("legacy", False), ("preserving", True), ("fallback", True)]
)
def test_those_that_keep_everything_ask_again(kind: str, asks: bool) -> None:
    state = application({A: (1, (), ()), B: (1, (), ())}, STATEFUL)
    deadlines = [each.followup_rebalance_deadline for each in KINDS[kind]().assign(state).assignment]
    assert deadlines == [NOW + timedelta(minutes=10) if asks else None, None]


@pytest.mark.parametrize("kind", KINDS)
def test_an_application_without_tasks_or_processes(kind: str) -> None:
    assert active(KINDS[kind]().assign(application({A: (1, STATEFUL, ())}, ()))) == {A: []}
    assert KINDS[kind]().assign(application({}, STATEFUL)) == TaskAssignment(())


def test_they_tell_what_they_are() -> None:
    assert repr(StickyTaskAssignor()) == "StickyTaskAssignor(must_preserve_active_task_assignment=False)"
    legacy = LegacyStickyTaskAssignor(must_preserve_active_task_assignment=True)
    assert repr(legacy) == "LegacyStickyTaskAssignor(must_preserve_active_task_assignment=True)"
    assert repr(FallbackPriorTaskAssignor()) == "FallbackPriorTaskAssignor()"


# What holds for every application


@pytest.mark.parametrize("first", range(0, 200, 50))
@pytest.mark.parametrize("kind", KINDS)
def test_every_task_runs_once_and_has_as_many_copies_as_there_is_room_for(kind: str, first: int) -> None:
    for seed in range(first, first + 50):
        state = random_application(seed).as_state()
        result = KINDS[kind]().assign(state)
        assert validate_task_assignment(state, result) is AssignmentError.NONE
        assert sorted(task for tasks in active(result).values() for task in tasks) == sorted(state.all_tasks)
        copies = [task for tasks in standby(result).values() for task in tasks]
        most = min(state.assignment_configs.num_standby_replicas, len(result.assignment) - 1)
        wanted = [task for task, info in state.all_tasks.items() if info.is_stateful for _ in range(most)]
        assert sorted(copies) == sorted(wanted)


@pytest.mark.parametrize("kind", PRESERVING)
def test_all_active_tasks_are_kept(kind: str) -> None:
    for seed in range(100):
        state = random_application(seed).as_state()
        states = state.kafka_streams_states(compute_task_lags=False)
        result = active(KINDS[kind]().assign(state))
        owners = {task: each for each, tasks in result.items() for task in tasks}
        for task in state.all_tasks:
            before = {each for each in states if task in states[each].previous_active_tasks}
            assert not before or owners[task] in before, (seed, task)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_state_gives_the_same_assignment(kind: str) -> None:
    for seed in range(20):
        one, other = (KINDS[kind]().assign(random_application(seed).as_state()) for _ in range(2))
        assert [each.tasks for each in one.assignment] == [each.tasks for each in other.assignment]


@pytest.mark.parametrize("kind", PRESERVING)
def test_nothing_moves_if_nothing_changed(kind: str) -> None:
    for seed in range(100):
        state = random_application(seed).as_state()
        before = KINDS[kind]().assign(state)
        after = KINDS[kind]().assign(carried_out(state, before))
        assert (active(after), standby(after)) == (active(before), standby(before)), seed


@pytest.mark.parametrize("kind", KINDS)
def test_no_active_task_moves_if_threads_have_equal_shares(kind: str) -> None:
    """If shares are not equal, the ones of Kafka Streams that do not keep everything may move tasks without a cause."""
    for tasks, processes, threads in ((12, 3, 2), (20, 4, 5), (60, 5, 1)):
        ids = [ProcessId(f"process-{number}") for number in range(processes)]
        all_tasks = [TaskId(str(number % 3), number // 3) for number in range(tasks)]
        state = application(dict.fromkeys(ids, (threads, (), ())), all_tasks, 1)
        before = KINDS[kind]().assign(state)
        assert active(KINDS[kind]().assign(carried_out(state, before))) == active(before)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_processes_with_ten_thousand_tasks_take_seconds(kind: str) -> None:
    ids = [ProcessId(f"process-{number}") for number in range(1_000)]
    tasks = [TaskId("0" if number % 3 else "10", number) for number in range(10_000)]
    empty = application(dict.fromkeys(ids, (2, (), ())), tasks, 1, is_stateful=lambda task: task.subtopology_id == "0")
    started = process_time()
    first = KINDS[kind]().assign(empty)
    assert process_time() - started < MOST_COLD_S
    later = carried_out(empty, first)
    started = process_time()
    KINDS[kind]().assign(with_one_replaced(later))
    assert process_time() - started < MOST_REPLACED_S


def with_one_replaced(state: ApplicationState) -> ApplicationState:
    """Return an application in which another process is there instead of the first."""
    first, *others = state.kafka_streams_states(compute_task_lags=False).values()
    states = {each.process_id: each for each in others}
    states[NEW] = attrs.evolve(first, process_id=NEW, previous_active_tasks=(), previous_standby_tasks=())
    return attrs.evolve(state, states=lambda _lags: states)


def carried_out(state: ApplicationState, assignment: TaskAssignment) -> ApplicationState:
    """Return the application when all processes have what was assigned to them, and nothing else has happened."""
    runs, keeps = active(assignment), standby(assignment)
    states = {
        process_id: attrs.evolve(
            process, previous_active_tasks=runs[process_id], previous_standby_tasks=keeps[process_id]
        )
        for process_id, process in state.kafka_streams_states(compute_task_lags=False).items()
    }
    return attrs.evolve(state, states=lambda _lags: states)
