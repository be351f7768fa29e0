"""Checks what an assignor returned, in the order in which Kafka Streams does."""

from collections.abc import Iterator

from attrs import frozen

from kafka_groups.assignment.application.assignments import KafkaStreamsAssignment, TaskAssignment
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.task_assignor import AssignmentError
from kafka_groups.types import TaskId

__all__ = ["AssignmentMistake", "first_mistake", "validate_task_assignment"]


@frozen
class AssignmentMistake:
    """A mistake in an assignment.

    Attributes:
        error: Its kind.
        detail: The process and the task that it concerns, for the text of an error.
    """

    error: AssignmentError
    detail: str


def validate_task_assignment(application_state: ApplicationState, task_assignment: TaskAssignment) -> AssignmentError:
    """Return the first thing that is wrong with an assignment, or `NONE`. A task that nobody gets is not wrong."""
    mistake = first_mistake(application_state, task_assignment)
    return AssignmentError.NONE if mistake is None else mistake.error


def first_mistake(state: ApplicationState, assignment: TaskAssignment) -> AssignmentMistake | None:
    """Return the first thing that is wrong with an assignment, or None."""
    return next(_mistakes(state, assignment), None)


def _mistakes(state: ApplicationState, assignment: TaskAssignment) -> Iterator[AssignmentMistake]:
    active: dict[TaskId, ProcessId] = {}
    # The order is that of TaskAssignmentUtils.validateTaskAssignment, which reports the first error only. KIP-924,
    # "Assignment Validation", lists the errors.
    for each in assignment.assignment:
        yield from _mistakes_of_tasks(state, each, active)
    yield from _mistakes_of_copies(state, assignment)
    yield from _mistakes_of_processes(state, assignment)


def _mistakes_of_tasks(
    state: ApplicationState, assignment: KafkaStreamsAssignment, active: dict[TaskId, ProcessId]
) -> Iterator[AssignmentMistake]:
    process = assignment.process_id
    for task in assignment.tasks.values():
        if task.id not in state.all_tasks:
            yield AssignmentMistake(
                AssignmentError.UNKNOWN_TASK_ID, f"process {process} gets task {task.id}, which does not exist"
            )
        if task.is_active and task.id in active:
            yield AssignmentMistake(
                AssignmentError.ACTIVE_TASK_ASSIGNED_MULTIPLE_TIMES,
                f"task {task.id} is active in process {active[task.id]} and in process {process}",
            )
        if task.is_active:
            active[task.id] = process


def _mistakes_of_copies(state: ApplicationState, assignment: TaskAssignment) -> Iterator[AssignmentMistake]:
    # All tasks are known at this point, or the generator would have ended with UNKNOWN_TASK_ID.
    for each in assignment.assignment:
        for task in each.tasks.values():
            if not task.is_active and not state.all_tasks[task.id].is_stateful:
                yield AssignmentMistake(
                    AssignmentError.INVALID_STANDBY_TASK,
                    f"process {each.process_id} gets a copy of task {task.id}, which has no state",
                )


def _mistakes_of_processes(state: ApplicationState, assignment: TaskAssignment) -> Iterator[AssignmentMistake]:
    known = state.kafka_streams_states(compute_task_lags=False).keys()
    named = {each.process_id for each in assignment.assignment}
    # A process without tasks needs an empty assignment: one that is missing was more likely forgotten.
    for process in sorted(known - named):
        yield AssignmentMistake(
            AssignmentError.MISSING_PROCESS_ID,
            f"process {process} has no assignment. Return an empty one for a process that gets no tasks",
        )
    for process in sorted(named - known):
        yield AssignmentMistake(AssignmentError.UNKNOWN_PROCESS_ID, f"process {process} gets tasks, but does not exist")
