"""The rules that every assignment keeps, and the mistakes of an assignment that breaks them."""

import enum
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from kafka_groups.assignment.application.assignments import TaskAssignment
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ApplicationState
from kafka_groups.assignment.application.tasks import task_order
from kafka_groups.errors.texts import counted
from kafka_groups.types import TaskId

__all__ = ["AssignorMistake", "AssignorRule", "mistakes_of"]


class AssignorRule(enum.Enum):
    """The rules that `AssignorTest` checks."""

    EVERY_TASK_IS_ACTIVE = "every task is active in a process"
    NO_TASK_IS_ACTIVE_TWICE = "no task is active in two processes"
    NO_COPY_BESIDE_A_TASK = "a process has a task once, active or standby"
    NO_COPY_WITHOUT_STATE = "only tasks with state are standby"
    EVERY_PROCESS_ONCE = "there is one assignment for each process"
    NO_UNKNOWN_PROCESS = "there are assignments only for processes of the group"
    NO_UNKNOWN_TASK = "only tasks of the application are assigned"
    NO_ERROR = "the assignor raises no error"
    REPEATABLE = "the same state gives the same assignment"
    SETTLES = "without changes to the group, assignments become stable"


@frozen
class AssignorMistake:
    """A rule that an assignor has broken.

    Attributes:
        rule: The rule.
        text: What is wrong, as a sentence.
        task: The task that it is about, or None.
        processes: The names of the processes that it is about.
    """

    rule: AssignorRule
    text: str
    task: TaskId | None = None
    processes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


def mistakes_of(
    state: ApplicationState, assignment: TaskAssignment, names: Mapping[ProcessId, str], *, allow_unassigned: bool
) -> Iterator[AssignorMistake]:
    """Yield all that is wrong with an assignment.

    Args:
        state: What the assignor has seen.
        assignment: What it has returned.
        names: The names of the processes of the group, and perhaps of others, for texts.
        allow_unassigned: Whether a task may be active nowhere.
    """
    yield from _of_processes(state, assignment, names)
    active: dict[TaskId, list[str]] = {}
    for process, task, is_active in _pairs(assignment, names):
        info = state.all_tasks.get(task)
        if info is None:
            text = f"Process {process} gets task {task}, which does not exist."
            yield AssignorMistake(AssignorRule.NO_UNKNOWN_TASK, text, task, (process,))
        elif not is_active and not info.is_stateful:
            text = f"Process {process} gets a copy of task {task}, which has no state."
            yield AssignorMistake(AssignorRule.NO_COPY_WITHOUT_STATE, text, task, (process,))
        if is_active:
            active.setdefault(task, []).append(process)
    yield from _of_copies(assignment, names)
    yield from _of_active(state, active, allow_unassigned=allow_unassigned)


def _pairs(assignment: TaskAssignment, names: Mapping[ProcessId, str]) -> Iterator[tuple[str, TaskId, bool]]:
    for each in assignment.assignment:
        for task in each.tasks.values():
            yield _named(each.process_id, names), task.id, task.is_active


def _named(process_id: ProcessId, names: Mapping[ProcessId, str]) -> str:
    return names.get(process_id, str(process_id))


def _of_processes(
    state: ApplicationState, assignment: TaskAssignment, names: Mapping[ProcessId, str]
) -> Iterator[AssignorMistake]:
    known = state.kafka_streams_states(compute_task_lags=False)
    counts = Counter(each.process_id for each in assignment.assignment)
    for process_id in (each for each in known if each not in counts):
        name = _named(process_id, names)
        text = f"Process {name} has no assignment. Return a KafkaStreamsAssignment for it, with or without tasks."
        yield AssignorMistake(AssignorRule.EVERY_PROCESS_ONCE, text, processes=(name,))
    for process_id, count in counts.items():
        name = _named(process_id, names)
        if process_id not in known:
            text = f"Process {name} has an assignment, but is not in the group."
            yield AssignorMistake(AssignorRule.NO_UNKNOWN_PROCESS, text, processes=(name,))
        if count > 1:
            text = f"Process {name} has {count} assignments. Return one KafkaStreamsAssignment for it."
            yield AssignorMistake(AssignorRule.EVERY_PROCESS_ONCE, text, processes=(name,))


def _of_copies(assignment: TaskAssignment, names: Mapping[ProcessId, str]) -> Iterator[AssignorMistake]:
    counts = Counter((process, task) for process, task, _ in _pairs(assignment, names))
    for (process, task), count in counts.items():
        if count > 1:
            text = f"Process {process} gets task {task} {count} times. It can run it, or keep a copy of its state."
            yield AssignorMistake(AssignorRule.NO_COPY_BESIDE_A_TASK, text, task, (process,))


def _of_active(
    state: ApplicationState, active: Mapping[TaskId, Sequence[str]], *, allow_unassigned: bool
) -> Iterator[AssignorMistake]:
    for task in sorted({*state.all_tasks, *active}, key=task_order):
        found = tuple(dict.fromkeys(active.get(task, ())))
        if not found and not allow_unassigned:
            text = f"Task {task} is active in no process."
            yield AssignorMistake(AssignorRule.EVERY_TASK_IS_ACTIVE, text, task)
        if len(found) > 1:
            text = f"Task {task} is active in {counted(len(found), 'process')}: {', '.join(found)}."
            yield AssignorMistake(AssignorRule.NO_TASK_IS_ACTIVE_TWICE, text, task, found)
