"""Active tasks that move closer to the partitions that they read."""

from collections.abc import Iterable

from kafka_groups.assignment.application.algorithms.plans import Plans
from kafka_groups.assignment.application.algorithms.rack_aware.racks import RackCosts
from kafka_groups.assignment.application.algorithms.rack_aware.strategies import cheapest_owners
from kafka_groups.assignment.application.configs import RackAwareStrategy
from kafka_groups.types import TaskId

__all__ = ["move_active_tasks"]


def move_active_tasks(tasks: Iterable[TaskId], plans: Plans, costs: RackCosts, strategy: RackAwareStrategy) -> None:
    """Let tasks run where they cost least together. Each process runs as many of them as before.

    Args:
        tasks: The tasks, each of which runs in one of the processes.
        plans: The processes, in the order of ids. They are changed.
        costs: What the tasks cost.
        strategy: One of the two strategies.
    """
    runs_in = {task: process_id for process_id, plan in plans.items() for task in plan.active}
    owners = {task: runs_in[task] for task in tasks}
    for task, process_id in cheapest_owners(owners, list(plans), costs, strategy).items():
        plans[owners[task]].active.remove(task)
        plans[process_id].active.add(task)
