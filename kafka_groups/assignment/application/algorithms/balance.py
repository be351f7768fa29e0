"""Tasks dealt out to processes in turn, and moved until the processes have equal loads."""

from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, permutations

from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.types import TaskId

__all__ = ["balance", "deal_out"]

TasksOf = Callable[[ProcessPlan], set[TaskId]]
MayMove = Callable[[ProcessPlan, ProcessPlan], bool]


def deal_out(tasks: Iterable[TaskId], plans: Plans) -> None:
    """Give tasks, in their order, to the processes in turn, to be run there."""
    # Regardless of threads: `balance` moves tasks to where there are more of them
    # (HighAvailabilityTaskAssignor.assignActiveStatefulTasks).
    for task, plan in zip(tasks, cycle(plans.values()), strict=False):
        plan.active.add(task)


def balance(plans: Plans, tasks_of: TasksOf, may_move: MayMove = lambda _source, _destination: True) -> None:
    """Move tasks of one role from processes with more load to those with less, until nothing moves any more.

    Args:
        plans: The processes.
        tasks_of: Returns the tasks of a process that may move.
        may_move: Whether tasks of one process may move to another.
    """
    # All ordered pairs, source first, in the order of ids: the order in which
    # HighAvailabilityTaskAssignor.balanceTasksOverThreads goes over them, which decides who gets which task.
    pairs = [pair for pair in permutations(plans.values(), 2) if may_move(*pair)]
    while _moves_any(pairs, tasks_of):
        pass


def _moves_any(pairs: Sequence[tuple[ProcessPlan, ProcessPlan]], tasks_of: TasksOf) -> bool:
    has_moved = False
    for source, destination in pairs:
        if source.load > destination.load:
            has_moved |= _move_some(source, destination, tasks_of)
    return has_moved


def _move_some(source: ProcessPlan, destination: ProcessPlan, tasks_of: TasksOf) -> bool:
    has_moved = False
    # The tasks of the source as they are now. One that moves does not come back in this round, since the loop has its
    # own list.
    for task in in_task_order(tasks_of(source)):
        if not _is_better_there(source, destination):
            break
        # A process that has the task already, in either role, cannot get it again, so the next task is looked at.
        if not destination.has(task):
            tasks_of(source).remove(task)
            tasks_of(destination).add(task)
            has_moved = True
    return has_moved


def _is_better_there(source: ProcessPlan, destination: ProcessPlan) -> bool:
    """Return whether a task that moves brings the loads closer together, without the other one getting more."""
    # The rule of HighAvailabilityTaskAssignor.shouldMoveATask. A difference below 0 afterwards would let the task move
    # back in the next round, and balancing would never end.
    before = source.load - destination.load
    left = (len(source.active) + len(source.standby) - 1) / source.threads
    right = (len(destination.active) + len(destination.standby) + 1) / destination.threads
    return before > 0 and 0 <= left - right < before
