"""Pairs of tasks that are together in a process."""

from collections import Counter
from collections.abc import Iterable, Set
from typing import Final

from kafka_groups.assignment.application.algorithms.plans import ProcessPlan
from kafka_groups.types import TaskId

__all__ = ["TaskPairs"]

_Places = frozenset[ProcessPlan]

_NOWHERE: Final[_Places] = frozenset()


class TaskPairs:
    """Tells whether a task would meet another one for the first time.

    Two tasks have met if they are together in any process. For each process, this counts its tasks by the processes
    that they are in: there are few such groups, and tasks of one group have met the same others.

    Args:
        plans: The processes with the tasks that they have already.
    """

    def __init__(self, plans: Iterable[ProcessPlan]) -> None:
        self._places: dict[TaskId, _Places] = {}
        self._groups: dict[ProcessPlan, Counter[_Places]] = {}
        for plan in plans:
            self._groups[plan] = Counter()
            for task in plan.active | plan.standby:
                self.add(task, plan)

    def __repr__(self) -> str:
        return f"<TaskPairs of {len(self._places)} tasks>"

    def places(self, task: TaskId) -> Set[ProcessPlan]:
        """Return the processes that have a task."""
        return self._places.get(task, _NOWHERE)

    def add(self, task: TaskId, plan: ProcessPlan) -> None:
        """Note that a process got a task."""
        before = self._places.get(task, _NOWHERE)
        after = self._places[task] = before | {plan}
        for place in before:
            self._leave(place, before)
        for place in after:
            self._groups[place][after] += 1

    def meets_another(self, task: TaskId, plan: ProcessPlan) -> bool:
        """Return whether a process has a task that is nowhere together with this one."""
        places = self.places(task)
        return any(places.isdisjoint(group) for group in self._groups[plan])

    def _leave(self, place: ProcessPlan, group: _Places) -> None:
        self._groups[place][group] -= 1
        if not self._groups[place][group]:
            del self._groups[place][group]
