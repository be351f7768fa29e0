"""What a group makes of the result of an assignor."""

from datetime import UTC, datetime, timedelta

import pytest

from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.building_blocks import default_standby_task_assignment, identity_assignment
from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.neutral import ApplicationInput, MemberInput, application_state
from kafka_groups.assignment.application.outcome import outcome_of
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ACTIVE_LAG
from kafka_groups.assignment.application.task_assignor import AssignmentError, GroupAssignment
from kafka_groups.assignment.application.tasks import TaskInfo, TaskTopicPartition
from kafka_groups.errors import IllegalStateError
from kafka_groups.types import TaskId, TopicPartition

NOW = datetime(2030, 1, 1, tzinfo=UTC)
A, B = ProcessId("a"), ProcessId("b")
ONE, TWO, STATELESS = TaskId("0", 0), TaskId("0", 1), TaskId("1", 0)


def info(task: TaskId, *, is_stateful: bool) -> TaskInfo:
    source = TaskTopicPartition(TopicPartition("in", task.partition), is_source=True, is_changelog=False)
    changelog = TaskTopicPartition(TopicPartition("log", task.partition), is_source=False, is_changelog=True)
    return TaskInfo(task, is_stateful, topic_partitions=(source, changelog) if is_stateful else (source,))


GIVEN = ApplicationInput(
    members={
        "a-1": MemberInput(process_id=A, active_tasks=frozenset({ONE}), topics=frozenset({"in"}), rack_id="r"),
        "a-2": MemberInput(process_id=A, active_tasks=frozenset({STATELESS})),
        "b-1": MemberInput(process_id=B, standby_tasks=frozenset({ONE}), instance_id="static", generation_id=3),
    },
    tasks={each: info(each, is_stateful=each is not STATELESS) for each in (ONE, TWO, STATELESS)},
    configs=AssignmentConfigs(num_standby_replicas=1),
    now=NOW,
    lags=lambda: {A: {ONE: ACTIVE_LAG, TWO: 9}, B: {ONE: 5, TWO: 9}},
)


def result(a: list[AssignedTask], b: list[AssignedTask]) -> TaskAssignment:
    return TaskAssignment([KafkaStreamsAssignment.of(A, a), KafkaStreamsAssignment.of(B, b)])


def test_an_assignor_sees_processes_not_members() -> None:
    states = application_state(GIVEN).kafka_streams_states(compute_task_lags=True)
    assert [(str(each), state.consumer_client_ids) for each, state in states.items()] == [
        ("a", ("a-1", "a-2")),
        ("b", ("b-1",)),
    ]
    assert states[A].previous_active_tasks == {ONE, STATELESS}
    assert states[A].rack_id == "r"
    assert (states[A].lag_for(ONE), states[B].lag_for(ONE)) == (ACTIVE_LAG, 5)
    assert list(states[A].prev_tasks_by_lag("a-1")) == [ONE]


def test_lags_have_to_be_asked_for() -> None:
    state = application_state(GIVEN).kafka_streams_states(compute_task_lags=False)[A]
    for ask in (lambda: state.lag_for(ONE), lambda: state.prev_tasks_by_lag("a-1"), state.stateful_tasks_to_lag_sums):
        with pytest.raises(IllegalStateError, match="compute_task_lags=True"):
            ask()


@pytest.mark.parametrize("task", [STATELESS, TaskId("9", 9)])
def test_there_is_no_lag_of_other_tasks(task: TaskId) -> None:
    state = application_state(GIVEN).kafka_streams_states(compute_task_lags=True)[A]
    with pytest.raises(IllegalStateError, match=f"no lag of task {task} in process a"):
        state.lag_for(task)


def test_members_get_the_tasks_of_their_process() -> None:
    tasks = result([AssignedTask.active(ONE), AssignedTask.active(STATELESS)], [AssignedTask.active(TWO)])
    outcome = outcome_of(GIVEN, application_state(GIVEN), tasks)
    members = outcome.group_assignment.members
    assert outcome.error is AssignmentError.NONE
    assert {member: each.active_tasks for member, each in members.items()} == {
        "a-1": {ONE},
        "a-2": {STATELESS},
        "b-1": {TWO},
    }
    assert members["b-1"].partitions == {TopicPartition("in", 1)}
    assert outcome.group_subscription.members["b-1"].group_instance_id == "static"


def test_an_assignment_that_cannot_be_understood_has_no_members() -> None:
    tasks = result([AssignedTask.active(TaskId("9", 9))], [])
    outcome = outcome_of(GIVEN, application_state(GIVEN), tasks)
    assert (outcome.error, outcome.group_assignment) == (AssignmentError.UNKNOWN_TASK_ID, GroupAssignment())


def test_another_mistake_is_told_with_the_whole_assignment() -> None:
    tasks = result([AssignedTask.active(ONE)], [AssignedTask.active(ONE)])
    outcome = outcome_of(GIVEN, application_state(GIVEN), tasks)
    assert outcome.error is AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES
    assert outcome.group_assignment.members["b-1"].active_tasks == {ONE}


def test_processes_may_want_another_rebalance() -> None:
    later = NOW + timedelta(minutes=1)
    assignments = [KafkaStreamsAssignment.of(A), KafkaStreamsAssignment.of(B).with_followup_rebalance(later)]
    outcome = outcome_of(GIVEN, application_state(GIVEN), TaskAssignment(assignments))
    assert outcome.deadlines == {B: later}


def test_identity_leaves_everything_where_it_is() -> None:
    assignments = identity_assignment(application_state(GIVEN))
    assert list(assignments[A].tasks.values()) == [AssignedTask.active(ONE), AssignedTask.active(STATELESS)]
    assert list(assignments[B].tasks.values()) == [AssignedTask.standby(ONE)]


def test_default_copies_are_added_to_an_assignment() -> None:
    active = result([AssignedTask.active(ONE), AssignedTask.active(STATELESS)], [AssignedTask.active(TWO)])
    assignments = {each.process_id: each for each in active.assignment}
    default_standby_task_assignment(application_state(GIVEN), assignments)
    assert assignments[A].tasks[TWO] == AssignedTask.standby(TWO)
    assert assignments[B].tasks[ONE] == AssignedTask.standby(ONE)
    assert STATELESS not in assignments[B].tasks
