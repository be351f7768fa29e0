"""Copies of tasks that change places with copies in another rack."""

from collections.abc import Callable
from itertools import combinations
from typing import Final

from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan
from kafka_groups.assignment.application.algorithms.rack_aware.racks import RackCosts
from kafka_groups.assignment.application.algorithms.rack_aware.strategies import cheapest_owners
from kafka_groups.assignment.application.configs import RackAwareStrategy
from kafka_groups.types import TaskId

__all__ = ["move_standby_tasks"]

_MOST_ROUNDS: Final = 4

CopyMayMove = Callable[[TaskId, ProcessPlan, ProcessPlan], bool]
"""Tells whether a copy of a task may move from one process to another that does not have the task."""


def move_standby_tasks(plans: Plans, costs: RackCosts, strategy: RackAwareStrategy, may_move: CopyMayMove) -> None:
    """Let processes of different racks exchange copies, until no two of them can make it cheaper, or a few times.

    Args:
        plans: The processes, in the order of ids. They are changed.
        costs: What the tasks cost.
        strategy: One of the two strategies.
        may_move: Tells what may move.
    """
    pairs = [
        pair for pair in combinations(plans.values(), 2) if len({costs.racks[plan.process_id] for plan in pair}) > 1
    ]
    for _ in range(_MOST_ROUNDS):
        if not [pair for pair in pairs if _exchange(pair, costs, strategy, may_move)]:
            break


def _exchange(
    pair: tuple[ProcessPlan, ProcessPlan], costs: RackCosts, strategy: RackAwareStrategy, may_move: CopyMayMove
) -> bool:
    """Let two processes exchange copies. Return whether they did."""
    left, right = _movable(pair[0], pair[1], may_move), _movable(pair[1], pair[0], may_move)
    if not (left and right):
        return False
    ids = [plan.process_id for plan in pair]
    owners = {**dict.fromkeys(left, ids[0]), **dict.fromkeys(right, ids[1])}
    cheapest = cheapest_owners(owners, ids, costs, strategy)
    leaving = [task for task in left if cheapest[task] == ids[1]]
    coming = [task for task in right if cheapest[task] == ids[0]]
    pair[0].standby.difference_update(leaving)
    pair[1].standby.difference_update(coming)
    pair[0].standby.update(coming)
    pair[1].standby.update(leaving)
    return bool(leaving)


def _movable(source: ProcessPlan, destination: ProcessPlan, may_move: CopyMayMove) -> list[TaskId]:
    return [task for task in source.standby if not destination.has(task) and may_move(task, source, destination)]
