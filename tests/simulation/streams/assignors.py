"""Assignors of applications for simulated groups: some that are right, and some that are wrong in different ways."""

from collections.abc import Callable, Iterable
from hashlib import blake2b

from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    KafkaStreamsAssignment,
    ProcessId,
    Registered,
    TaskAssignment,
    TaskAssignmentError,
)
from kafka_groups.types import TaskId

__all__ = ["ASSIGNORS", "HANGING", "WRONG"]

HANGING = "hanging"
"""The assignor that takes longer than it may."""


def scattered(state: ApplicationState) -> TaskAssignment:
    """Give each task to a process that depends on nothing but both names, and its copies to the next ones."""
    processes = list(state.kafka_streams_states(compute_task_lags=False))
    plans = {process: KafkaStreamsAssignment.of(process) for process in processes}
    for task, info in state.all_tasks.items():
        owner, *others = sorted(processes, key=lambda process: _scattering(process, task))
        plans[owner].assign_task(AssignedTask.active(task))
        for other in others[: state.assignment_configs.num_standby_replicas if info.is_stateful else 0]:
            plans[other].assign_task(AssignedTask.standby(task))
    return TaskAssignment(plans.values())


def _scattering(process: ProcessId, task: TaskId) -> bytes:
    return blake2b(f"{process}/{task}".encode()).digest()


def doubling(state: ApplicationState) -> TaskAssignment:
    """Give all tasks to every process."""
    return _all_to(state, state.kafka_streams_states(compute_task_lags=False))


def forgetful(state: ApplicationState) -> TaskAssignment:
    """Forget one of the processes."""
    _, *others = scattered(state).assignment
    return TaskAssignment(others)


def inventive(state: ApplicationState) -> TaskAssignment:
    """Assign a task that does not exist."""
    first, *others = scattered(state).assignment
    first.assign_task(AssignedTask.active(TaskId("99", 0)))
    return TaskAssignment([first, *others])


def careless(state: ApplicationState) -> TaskAssignment:
    """Keep copies of tasks without state."""
    first, *others = _all_to(state, list(state.kafka_streams_states(compute_task_lags=False))[:1]).assignment
    process = first.process_id
    copies = map(AssignedTask.standby, state.all_tasks)
    return TaskAssignment([KafkaStreamsAssignment.of(process, copies), *others])


def raising(_state: ApplicationState) -> TaskAssignment:
    """Fail."""
    raise LookupError("nothing found")


def unsure(_state: ApplicationState) -> TaskAssignment:
    """Be unable to tell."""
    raise TaskAssignmentError("cannot tell now")


def _all_to(state: ApplicationState, processes: Iterable[ProcessId]) -> TaskAssignment:
    chosen = list(processes)
    return TaskAssignment(
        KafkaStreamsAssignment.of(process, map(AssignedTask.active, state.all_tasks if process in chosen else ()))
        for process in state.kafka_streams_states(compute_task_lags=False)
    )


_WRONG: tuple[Callable[[ApplicationState], TaskAssignment], ...] = (
    doubling,
    forgetful,
    inventive,
    careless,
    raising,
    unsure,
)

WRONG = (*(each.__name__ for each in _WRONG), HANGING)
"""The names of those whose results cannot be used."""

ASSIGNORS: tuple[object, ...] = (
    "sticky",
    "highly_available",
    scattered,
    *_WRONG,
    Registered(scattered, name=HANGING),
)
"""All of them, as a broker registers them."""
