"""The check of one assignment."""

import pytest
from hypothesis import given

from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.testing.assignors import (
    AssignorRule,
    AssignorTestError,
    application_states,
    check_task_assignment,
)


def all_to_the_first(state: ApplicationState) -> list[KafkaStreamsAssignment]:
    assignments = [KafkaStreamsAssignment.of(each) for each in state.kafka_streams_states(compute_task_lags=False)]
    for task in state.all_tasks:
        assignments[0].assign_task(AssignedTask.active(task))
    return assignments


@given(application_states())
def test_a_right_assignment_passes(state: ApplicationState) -> None:
    check_task_assignment(state, TaskAssignment(all_to_the_first(state)))


@given(application_states())
def test_a_missing_task_is_found_unless_it_may_be_missing(state: ApplicationState) -> None:
    assignments = all_to_the_first(state)
    lost = next(iter(state.all_tasks))
    assignments[0].remove_task(AssignedTask.active(lost))
    with pytest.raises(AssignorTestError, match=f"^The assignment breaks .*\n- Task {lost} is active in no process.$"):
        check_task_assignment(state, TaskAssignment(assignments))
    check_task_assignment(state, TaskAssignment(assignments), allow_unassigned=True)


@given(application_states(max_processes=1))
def test_a_process_is_named_by_its_id(state: ApplicationState) -> None:
    [process_id] = state.kafka_streams_states(compute_task_lags=False)
    with pytest.raises(AssignorTestError) as raised:
        check_task_assignment(state, TaskAssignment([]), allow_unassigned=True)
    [mistake] = raised.value.mistakes
    assert (mistake.rule, mistake.processes) == (AssignorRule.EVERY_PROCESS_ONCE, (str(process_id),))
    assert raised.value.story is None
