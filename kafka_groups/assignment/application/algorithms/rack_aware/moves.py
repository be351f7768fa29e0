"""Active tasks that move closer to the partitions that they read, and copies that change places (KIP-925)."""

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Final

from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan
from kafka_groups.assignment.application.algorithms.rack_aware.racks import RackCosts
from kafka_groups.assignment.application.algorithms.rack_aware.strategies import cheapest_owners
from kafka_groups.assignment.application.configs import RackAwareStrategy
from kafka_groups.types import TaskId

__all__ = ["move_active_tasks", "move_standby_tasks"]

# RackAwareTaskAssignor.STANDBY_OPTIMIZER_MAX_ITERATION in Kafka Streams.
_MOST_ROUNDS: Final = 4

CopyMayMove = Callable[[TaskId, ProcessPlan, ProcessPlan], bool]
"""Tells whether a copy of a task may move from one process to another that does not have the task."""


def move_active_tasks(tasks: Iterable[TaskId], plans: Plans, costs: RackCosts, strategy: RackAwareStrategy) -> None:
    """Let tasks run where they cost least together. Each process runs as many of them as before.

    Args:
        tasks: The tasks, each of which runs in one of the processes.
        plans: The processes, in the order of ids. They are changed.
        costs: What the tasks cost.
        strategy: One of the two strategies.
    """
    # Tasks that are not in `tasks` stay, although they may be in the same processes.
    runs_in = {task: process_id for process_id, plan in plans.items() for task in plan.active}
    owners = {task: runs_in[task] for task in tasks}
    for task, process_id in cheapest_owners(owners, list(plans), costs, strategy).items():
        plans[owners[task]].active.remove(task)
        plans[process_id].active.add(task)


def move_standby_tasks(plans: Plans, costs: RackCosts, strategy: RackAwareStrategy, may_move: CopyMayMove) -> None:
    """Let processes of different racks exchange copies, until no two of them can make it cheaper, or a few times.

    Args:
        plans: The processes, in the order of ids. They are changed.
        costs: What the tasks cost.
        strategy: One of the two strategies.
        may_move: Tells what may move.
    """
    # Two processes of one rack cost the same, so they have nothing to gain from each other.
    pairs = [
        pair for pair in combinations(plans.values(), 2) if len({costs.racks[plan.process_id] for plan in pair}) > 1
    ]
    for _ in range(_MOST_ROUNDS):
        # A list, so that all pairs exchange in each round. One exchange may make another one worthwhile, so it takes
        # several rounds.
        if not [pair for pair in pairs if _exchange(pair, costs, strategy, may_move)]:
            break


def _exchange(
    pair: tuple[ProcessPlan, ProcessPlan], costs: RackCosts, strategy: RackAwareStrategy, may_move: CopyMayMove
) -> bool:
    """Let two processes exchange copies. Return whether they did."""
    left, right = _movable(pair[0], pair[1], may_move), _movable(pair[1], pair[0], may_move)
    # Each process keeps its number of copies, so a move needs another one in exchange.
    if not (left and right):
        return False
    ids = [plan.process_id for plan in pair]
    owners = {**dict.fromkeys(left, ids[0]), **dict.fromkeys(right, ids[1])}
    # Each of these tasks is in one of the two processes now. Copies in other processes do not count here.
    cheapest = cheapest_owners(owners, ids, costs, strategy)
    leaving = [task for task in left if cheapest[task] == ids[1]]
    coming = [task for task in right if cheapest[task] == ids[0]]
    pair[0].standby.difference_update(leaving)
    pair[1].standby.difference_update(coming)
    pair[0].standby.update(coming)
    pair[1].standby.update(leaving)
    return bool(leaving)


def _movable(source: ProcessPlan, destination: ProcessPlan, may_move: CopyMayMove) -> list[TaskId]:
    # A process that runs the task, or has a copy already, cannot get another one.
    return [task for task in source.standby if not destination.has(task) and may_move(task, source, destination)]
