"""Pairs of tasks that are together in a process."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set

from attrs import evolve, frozen

from kafka_groups.assignment.application.algorithms.plans import ProcessPlan
from kafka_groups.types import TaskId

__all__ = ["TaskPairs"]


@frozen
class _Places:
    """The processes of a task.

    Attributes:
        first: The process in which it ran before rack-aware optimisation.
        active: The process in which it runs.
        standby: Those that have copies.
    """

    first: ProcessPlan
    active: ProcessPlan
    standby: Set[ProcessPlan] = frozenset()

    def has_met(self, other: "_Places") -> bool:
        """Return whether a task is or was together with this one.

        Optimisation does not let active tasks meet others, as in Kafka Streams.
        """
        return (
            # There are four ways to meet: both ran in one process before optimisation, one runs where the other has a
            # copy (two ways), or both have copies in one process.
            self.first is other.first
            or self.active in other.standby
            or other.active in self.standby
            or not self.standby.isdisjoint(other.standby)
        )


class TaskPairs:
    """Tells whether a copy of a task would meet another task for the first time.

    The tasks of each process are counted by their places. Tasks with the same places have met the same others, and
    there are few different places.

    Args:
        plans: The processes with their active tasks.
        first: Where each task ran before rack-aware optimisation.
    """

    def __init__(self, plans: Iterable[ProcessPlan], first: Mapping[TaskId, ProcessPlan]) -> None:
        self._groups: dict[ProcessPlan, Counter[_Places]] = {plan: Counter() for plan in plans}
        self._places = {task: _Places(first[task], plan) for plan in self._groups for task in plan.active}
        for places in self._places.values():
            self._groups[places.active][places] += 1

    def __repr__(self) -> str:
        return f"<TaskPairs of {len(self._places)} tasks>"

    def places(self, task: TaskId) -> int:
        """Return how many processes run a task or have a copy."""
        return 1 + len(self._places[task].standby)

    def add(self, task: TaskId, plan: ProcessPlan) -> None:
        """Note that a process got a copy."""
        before = self._places[task]
        after = self._places[task] = evolve(before, standby=before.standby | {plan})
        # The task's places are part of its group's key, so it changes its group everywhere.
        for place in (before.active, *before.standby):
            self._leave(place, before)
        for place in (after.active, *after.standby):
            self._groups[place][after] += 1

    def meets_another(self, task: TaskId, plan: ProcessPlan) -> bool:
        """Return whether a process has a task that is nowhere together with this one."""
        places = self._places[task]
        return any(not places.has_met(group) for group in self._groups[plan])

    def _leave(self, place: ProcessPlan, group: _Places) -> None:
        self._groups[place][group] -= 1
        # An empty group would pass for a task that this one has not met.
        if not self._groups[place][group]:
            del self._groups[place][group]
