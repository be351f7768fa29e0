"""The assignor `highly_available`, without Java: what holds for every application, and small examples."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kafka_groups.assignment.application.assignments import TaskAssignment
from kafka_groups.assignment.application.built_in import HighAvailabilityTaskAssignor
from kafka_groups.assignment.application.configs import LONGEST_LAG, AssignmentConfigs
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ACTIVE_LAG, UNKNOWN_LAG, ApplicationState, KafkaStreamsState
from kafka_groups.assignment.application.task_assignment_validation import validate_task_assignment
from kafka_groups.assignment.application.task_assignor import AssignmentError
from kafka_groups.assignment.application.tasks import TaskInfo
from kafka_groups.types import TaskId
from tests.support.assignors.application_cases import random_application

NOW = datetime(2030, 1, 1, tzinfo=UTC)
A, B = ProcessId("a"), ProcessId("b")
TASKS = tuple(TaskId("0", partition) for partition in range(4))


def application(lags: dict[ProcessId, dict[TaskId, int]], **configs: Any) -> ApplicationState:
    states = {
        process_id: KafkaStreamsState(process_id=process_id, consumer_client_ids=[f"{process_id}-1"], lags=by_task)
        for process_id, by_task in lags.items()
    }
    tasks = {task: TaskInfo(task, is_stateful=True) for task in TASKS}
    return ApplicationState(tasks, AssignmentConfigs(**configs), NOW, lambda _lags: states)


def assigned(assignment: TaskAssignment, process_id: ProcessId) -> tuple[list[TaskId], list[TaskId]]:
    [found] = [each for each in assignment.assignment if each.process_id == process_id]
    tasks = found.tasks.values()
    return [task.id for task in tasks if task.is_active], [task.id for task in tasks if not task.is_active]


def test_tasks_wait_where_their_state_is_until_copies_have_caught_up() -> None:
    lags = {A: dict.fromkeys(TASKS, ACTIVE_LAG), B: dict.fromkeys(TASKS, 1_000_000)}
    result = HighAvailabilityTaskAssignor().assign(application(lags, max_warmup_replicas=1))
    assert assigned(result, A) == (list(TASKS), [])
    assert assigned(result, B) == ([], [TASKS[1]])
    deadlines = [each.followup_rebalance_deadline for each in result.assignment]
    assert deadlines == [NOW + timedelta(minutes=10), None]


def test_tasks_move_when_copies_have_caught_up() -> None:
    lags = {A: dict.fromkeys(TASKS, ACTIVE_LAG), B: dict.fromkeys(TASKS, 10_000)}
    result = HighAvailabilityTaskAssignor().assign(application(lags))
    assert [assigned(result, each) for each in (A, B)] == [([TASKS[0], TASKS[2]], []), ([TASKS[1], TASKS[3]], [])]
    assert not any(each.followup_rebalance_deadline for each in result.assignment)


def test_a_smaller_acceptable_lag_lets_them_wait() -> None:
    lags = {A: dict.fromkeys(TASKS, ACTIVE_LAG), B: dict.fromkeys(TASKS, 10_000)}
    result = HighAvailabilityTaskAssignor().assign(application(lags, acceptable_recovery_lag=9_999))
    assert assigned(result, A) == (list(TASKS), [])


def test_a_copy_of_unknown_lag_takes_its_task_at_once_as_in_java() -> None:
    """Members of Kafka Streams 2.5 and older do not tell how far their copies are; -3 is the smallest lag there is."""
    lags = {A: dict.fromkeys(TASKS, UNKNOWN_LAG), B: dict.fromkeys(TASKS, ACTIVE_LAG)}
    result = HighAvailabilityTaskAssignor().assign(application(lags))
    assert [assigned(result, each) for each in (A, B)] == [([TASKS[0], TASKS[2]], []), ([TASKS[1], TASKS[3]], [])]
    assert not any(each.followup_rebalance_deadline for each in result.assignment)


def test_a_probing_interval_may_last_for_ever() -> None:
    lags = {A: dict.fromkeys(TASKS, ACTIVE_LAG), B: dict.fromkeys(TASKS, 1_000_000)}
    state = application(lags, probing_rebalance_interval_ms=LONGEST_LAG)
    deadlines = [each.followup_rebalance_deadline for each in HighAvailabilityTaskAssignor().assign(state).assignment]
    assert deadlines == [datetime.max.replace(tzinfo=UTC), None]


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_every_task_runs_once_and_copies_are_elsewhere(first: int) -> None:
    for seed in range(first, first + 50):
        state = random_application(seed).as_state()
        result = HighAvailabilityTaskAssignor().assign(state)
        assert validate_task_assignment(state, result) is AssignmentError.NONE
        active = [task.id for each in result.assignment for task in each.tasks.values() if task.is_active]
        assert sorted(active) == sorted(state.all_tasks)


def test_the_same_state_gives_the_same_assignment() -> None:
    for seed in range(20):
        one, other = (HighAvailabilityTaskAssignor().assign(random_application(seed).as_state()) for _ in range(2))
        assert [each.tasks for each in one.assignment] == [each.tasks for each in other.assignment]
