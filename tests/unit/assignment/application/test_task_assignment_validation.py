"""Each mistake of an assignment has its name, in Kafka's order."""

from datetime import UTC, datetime

import pytest

from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState, KafkaStreamsState
from kafka_groups.assignment.application.task_assignment_validation import validate_task_assignment
from kafka_groups.assignment.application.task_assignor import AssignmentError
from kafka_groups.assignment.application.tasks import TaskInfo
from kafka_groups.types import TaskId

A, B, OTHER = ProcessId("a"), ProcessId("b"), ProcessId("other")
STATEFUL, STATELESS, UNKNOWN = TaskId("0", 0), TaskId("1", 0), TaskId("9", 0)
STATES = {each: KafkaStreamsState(process_id=each, consumer_client_ids=[f"{each}-1"]) for each in (A, B)}
STATE = ApplicationState(
    {STATEFUL: TaskInfo(STATEFUL, is_stateful=True), STATELESS: TaskInfo(STATELESS, is_stateful=False)},
    AssignmentConfigs(),
    datetime(2030, 1, 1, tzinfo=UTC),
    lambda _lags: STATES,
)

active, standby = AssignedTask.active, AssignedTask.standby


def assignment(**tasks: list[AssignedTask]) -> TaskAssignment:
    return TaskAssignment(KafkaStreamsAssignment.of(ProcessId(name), given) for name, given in tasks.items())


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (assignment(a=[active(STATEFUL)], b=[standby(STATEFUL), active(STATELESS)]), AssignmentError.NONE),
        (assignment(a=[], b=[]), AssignmentError.NONE),
        (assignment(a=[active(UNKNOWN)], b=[]), AssignmentError.UNKNOWN_TASK_ID),
        (
            assignment(a=[active(STATEFUL)], b=[active(STATEFUL)]),
            AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES,
        ),
        (assignment(a=[active(STATELESS)], b=[standby(STATELESS)]), AssignmentError.INVALID_STANDBY_TASK),
        (assignment(a=[active(STATEFUL)]), AssignmentError.MISSING_PROCESS_ID),
        (assignment(a=[], b=[], other=[active(STATEFUL)]), AssignmentError.UNKNOWN_PROCESS_ID),
        (assignment(a=[standby(STATELESS)], other=[]), AssignmentError.INVALID_STANDBY_TASK),
        (assignment(other=[active(STATEFUL)]), AssignmentError.MISSING_PROCESS_ID),
        (assignment(a=[active(UNKNOWN)], other=[]), AssignmentError.UNKNOWN_TASK_ID),
    ],
)
def test_the_first_mistake_is_named(given: TaskAssignment, error: AssignmentError) -> None:
    assert validate_task_assignment(STATE, given) is error
