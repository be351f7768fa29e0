"""Copies of tasks with state: to the processes with the least load, or spread by client tags."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from kafka_groups.assignment.application.algorithms.least_loaded import LeastLoaded
from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan
from kafka_groups.assignment.application.tasks import in_java_order
from kafka_groups.types import TaskId

__all__ = ["add_standby_tasks", "have_equal_tags"]


def add_standby_tasks(tasks: Iterable[TaskId], plans: Plans, copies: int, tags: Sequence[str]) -> dict[TaskId, int]:
    """Choose processes for the copies of tasks that are to run somewhere already.

    Args:
        tasks: The tasks with changelogs, in the order in which they get copies.
        plans: The processes, which get the copies.
        copies: The number of copies of each task.
        tags: The client tags whose values the processes of a task shall differ in; none to go by load alone.

    Returns:
        The number of copies for which there is no process, by task.
    """
    missing = dict.fromkeys(tasks, copies)
    least = LeastLoaded(plans)
    # Two rounds, as in ClientTagAwareStandbyTaskAssignor.assign: as many copies as possible by tags, and what is left
    # by load alone, since a copy in a bad place is better than none.
    if tags and copies:
        missing = _spread_all(missing, plans, least, tags)
    return {task: left for task, count in missing.items() if (left := _by_load(task, count, least))}


def have_equal_tags(source: ProcessPlan, destination: ProcessPlan) -> bool:
    """Return whether a process has all client tags of another one, with equal values; also those without a meaning."""
    # The asymmetry is Kafka's: tags that only the destination has do not matter
    # (ClientTagAwareStandbyTaskAssignor.isAllowedTaskMovement).
    tags = destination.state.client_tags
    return all(tags.get(tag) == value for tag, value in source.state.client_tags.items())


def _by_load(task: TaskId, copies: int, least: LeastLoaded) -> int:
    """Give copies to the least loaded processes without the task. Return how many are left."""
    for left in range(copies, 0, -1):
        plan = least.least(lambda each: not each.has(task))
        # Every process has the task. Kafka logs a warning and goes on with the next task
        # (StandbyTaskAssignmentUtils.pollClientAndMaybeAssignAndUpdateRemainingStandbyTasks).
        if plan is None:
            return left
        plan.standby.add(task)
        least.changed(plan)
    return 0


def _spread_all(
    copies: Mapping[TaskId, int], plans: Plans, least: LeastLoaded, tags: Sequence[str]
) -> dict[TaskId, int]:
    """Give copies to processes that differ in their tags. Return how many are left, in the order of Java's table."""
    # Kafka keeps the tasks that lack copies in a hash table, and goes over them in its order in the second round.
    left = {task: _spread(task, count, plans, least, tags) for task, count in copies.items()}
    return {task: left[task] for task in in_java_order(left) if left[task]}


def _spread(task: TaskId, copies: int, plans: Plans, least: LeastLoaded, tags: Sequence[str]) -> int:
    """Give copies to processes that differ in their tags from all that have the task. Return how many are left.

    All are left of a task that does not run anywhere.
    """
    # The process that runs the task is the first that is used, so that the first copy differs from it in all tags.
    used = [plan for plan in plans.values() if task in plan.active]
    if not used:
        return copies
    for left in range(copies, 0, -1):
        # One that differs in all tags that still count from all processes used so far. Without such a process, the rest
        # is left to the second round (ClientTagAwareStandbyTaskAssignor.assignStandbyTasksToClientsWithDifferentTags).
        plan = least.least(partial(_differs, task, _shared_values(used, plans, tags)))
        if plan is None:
            return left
        plan.standby.add(task)
        least.changed(plan)
        used.append(plan)
    return 0


def _shared_values(used: Sequence[ProcessPlan], plans: Plans, tags: Sequence[str]) -> set[tuple[str, str]]:
    """Return the tags and values that another copy must not have.

    A tag does not count any more when one of the processes that have it came when there were no more values than
    processes. As in Kafka Streams, those without the tag are not looked at.
    """
    return {(tag, value) for tag in tags for value in _used_values(tag, used, plans)}


def _used_values(tag: str, used: Sequence[ProcessPlan], plans: Plans) -> set[str]:
    # The number of values that processes have for the tag. Kafka compares it with the number of processes used so far:
    # with as many of them as values, each value may be taken, and demanding a new one would exclude everybody
    # (ClientTagAwareStandbyTaskAssignor.updateClientsOnAlreadyUsedTagEntries).
    most = len({plan.state.client_tags[tag] for plan in plans.values() if tag in plan.state.client_tags})
    found: set[str] = set()
    for count, plan in enumerate(used, 1):
        # A process without the tag neither uses a value nor ends the tag's part, as Kafka goes over the tags of the
        # process.
        if tag in plan.state.client_tags:
            found = found | {plan.state.client_tags[tag]} if most > count else set()
    return found


def _differs(task: TaskId, values: set[tuple[str, str]], plan: ProcessPlan) -> bool:
    """Return whether a process has neither the task nor any of these values."""
    return not plan.has(task) and all(plan.state.client_tags.get(tag) != value for tag, value in values)
