"""Checks what an assignor returned, in the order in which Kafka Streams does."""

from collections.abc import Iterator

from kafka_groups.assignment.application.assignments import KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.task_assignor import AssignmentError
from kafka_groups.types import TaskId

__all__ = ["validate_task_assignment"]


def validate_task_assignment(application_state: ApplicationState, task_assignment: TaskAssignment) -> AssignmentError:
    """Return the first thing that is wrong with an assignment, or `NONE`. A task that nobody gets is not wrong."""
    return next(_errors(application_state, task_assignment), AssignmentError.NONE)


def _errors(state: ApplicationState, assignment: TaskAssignment) -> Iterator[AssignmentError]:
    active: set[TaskId] = set()
    # The order is that of TaskAssignmentUtils.validateTaskAssignment, which reports the first error only. KIP-924,
    # "Assignment Validation", lists the errors.
    for each in assignment.assignment:
        yield from _errors_of_tasks(state, each, active)
    yield from _errors_of_copies(state, assignment)
    yield from _errors_of_processes(state, assignment)


def _errors_of_tasks(
    state: ApplicationState, assignment: KafkaStreamsAssignment, active: set[TaskId]
) -> Iterator[AssignmentError]:
    for task in assignment.tasks.values():
        if task.id not in state.all_tasks:
            yield AssignmentError.UNKNOWN_TASK_ID
        if task.is_active and task.id in active:
            yield AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES
        if task.is_active:
            active.add(task.id)


def _errors_of_copies(state: ApplicationState, assignment: TaskAssignment) -> Iterator[AssignmentError]:
    tasks = [task for each in assignment.assignment for task in each.tasks.values()]
    # All tasks are known at this point, or the generator would have ended with UNKNOWN_TASK_ID.
    if any(not task.is_active and not state.all_tasks[task.id].is_stateful for task in tasks):
        yield AssignmentError.INVALID_STANDBY_TASK


def _errors_of_processes(state: ApplicationState, assignment: TaskAssignment) -> Iterator[AssignmentError]:
    known = state.kafka_streams_states(compute_task_lags=False).keys()
    named = {each.process_id for each in assignment.assignment}
    # A process without tasks needs an empty assignment: one that is missing was more likely forgotten.
    if known - named:
        yield AssignmentError.MISSING_PROCESS_ID
    if named - known:
        yield AssignmentError.UNKNOWN_PROCESS_ID
