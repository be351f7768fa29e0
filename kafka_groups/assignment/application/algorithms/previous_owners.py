"""The processes that had a task before."""

from collections.abc import Mapping, Sequence
from typing import Self

from attrs import frozen

from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan
from kafka_groups.assignment.application.process_ids import ProcessId, in_hash_table_order
from kafka_groups.assignment.application.tasks import task_hash
from kafka_groups.assignment.java_order import grown, in_hash_order
from kafka_groups.types import TaskId

__all__ = ["PreviousOwners"]

_NOBODY: tuple[ProcessPlan, ...] = ()


@frozen
class PreviousOwners:
    """The processes that ran tasks, and those that had copies of them.

    Attributes:
        active: The process that ran a task: the one with the largest id, if several did.
    """

    active: Mapping[TaskId, ProcessPlan]
    _standby: Mapping[TaskId, Sequence[ProcessPlan]]

    @classmethod
    def of(cls, plans: Plans) -> Self:
        """Return the previous owners of all tasks, some of which may not exist any more.

        Args:
            plans: The processes.
        """
        active: dict[TaskId, ProcessPlan] = {}
        standby: dict[TaskId, list[ProcessId]] = {}
        for process_id, plan in plans.items():
            # Two processes may report the same task as theirs, for example after a member was fenced. In Kafka too, the
            # last one wins (StickyTaskAssignor.mapPreviousActiveTasks).
            active.update(dict.fromkeys(plan.state.previous_active_tasks, plan))
            for task in plan.state.previous_standby_tasks:
                standby.setdefault(task, []).append(process_id)
        return cls(active, {task: [plans[id_] for id_ in in_hash_table_order(ids)] for task, ids in standby.items()})

    def active_in_java_order(self) -> Sequence[TaskId]:
        """Return the tasks that ran, in the order of Java's table: that to which the processes added theirs in turn."""
        return in_hash_order(self.active, task_hash, grown(len(self.active)))

    def standby(self, task: TaskId) -> Sequence[ProcessPlan]:
        """Return the processes that had a copy of a task, in the order of Java's table."""
        return self._standby.get(task, _NOBODY)
