"""The algorithm `sticky` of Kafka Streams: tasks stay where they were, unless that is too much for a process."""

from collections.abc import Callable, Iterable, Mapping
from typing import Self

from attrs import field, frozen

from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan, empty_plans
from kafka_groups.assignment.application.algorithms.previous_owners import PreviousOwners
from kafka_groups.assignment.application.algorithms.sticky_choice import StickyChoice
from kafka_groups.assignment.application.algorithms.task_pairs import TaskPairs
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import KafkaStreamsState
from kafka_groups.assignment.application.tasks import in_java_order, in_task_order
from kafka_groups.types import TaskId

__all__ = ["Sticky"]


@frozen
class Sticky:
    """Processes, and the rules by which they get tasks.

    Kafka Streams has two classes with slightly different rules. Where the results of both depend on the order of hash
    tables, these are the tables that they get sorted input for.

    Attributes:
        plans: The processes, in the order of ids.
        owners: Where tasks were.
        is_legacy: Whether the rules are those of the internal class, which of processes with equal loads takes the one
            with more threads, and then the first by id. The class of KIP-924 takes the first in Java's hash table.
    """

    plans: Plans
    owners: PreviousOwners
    is_legacy: bool
    _first: dict[TaskId, ProcessPlan] = field(factory=dict)

    @classmethod
    def of(cls, states: Mapping[ProcessId, KafkaStreamsState], *, is_legacy: bool) -> Self:
        """Return processes without tasks."""
        plans = empty_plans(states)
        return cls(plans, PreviousOwners.of(plans), is_legacy)

    def place_active(self, tasks: Iterable[TaskId], *, must_preserve: bool) -> None:
        """Let each task run in one of the processes, none of which has a task yet.

        Args:
            tasks: All tasks.
            must_preserve: Whether all tasks stay where they ran, even if a process gets more than its share.
        """
        everything = in_java_order(tasks, is_copy=True)
        # Without processes, the quota below cannot be computed. Kafka never gets there, as a group without members has
        # no leader.
        if not (everything and self.plans):
            return
        # There are three passes, as in LegacyStickyTaskAssignor.assignActive and StickyTaskAssignor.assignActive of
        # Kafka Streams. The quota is rounded down, so the first two leave room for the third to even out.
        left, quota = set(everything), len(everything) // sum(plan.threads for plan in self.plans.values())
        self._return_active(left, quota, must_preserve=must_preserve)
        self._promote_standby([task for task in everything if task in left], left, quota)
        # The candidates are the keys of the map of processes in the internal class, and a hash table of their ids in
        # the public one.
        choice = self._choice(None, is_sorted=self.is_legacy)
        for task in in_task_order(left):
            self._place(task, choice, lambda plan: plan.active)
        # Rack-aware optimisation moves tasks after this, but Kafka keeps the pairs of tasks that met before (TaskPairs
        # in both classes).
        self._first.update((task, plan) for plan in self.plans.values() for task in plan.active)

    def place_standby(self, tasks: Iterable[TaskId], copies: int) -> None:
        """Make copies of tasks, as far as there are processes for them. Active tasks may have moved in between.

        The public class of Kafka Streams leaves the order of tasks to chance. Here, it is the order of tasks for both.

        Args:
            tasks: The tasks with changelogs.
            copies: The number of copies of each.
        """
        choice = self._choice(TaskPairs(self.plans.values(), self._first), is_sorted=False)
        for task in in_task_order(tasks):
            # Kafka stops and logs a warning when no process is left (StickyTaskAssignor.assignStandby).
            for _ in range(min(copies, len(self.plans) - 1)):
                self._place(task, choice, lambda plan: plan.standby)

    def _return_active(self, left: set[TaskId], quota: int, *, must_preserve: bool) -> None:
        """Let tasks run where they ran, as far as the quota permits it."""
        # If a process had more than its quota, the order decides which tasks it keeps.
        for task in self.owners.active_in_java_order():
            plan = self.owners.active[task]
            # Tasks that do not exist any more are among them, so `left` is asked as well.
            if task in left and (must_preserve or plan.load < quota):
                plan.active.add(task)
                left.remove(task)

    def _promote_standby(self, tasks: Iterable[TaskId], left: set[TaskId], quota: int) -> None:
        """Let tasks run where copies of them were, as far as the quota permits it."""
        for task in tasks:
            # The first process with room, not the least loaded one, as in Kafka.
            plan = next((plan for plan in self.owners.standby(task) if plan.load < quota), None)
            if plan is not None:
                plan.active.add(task)
                left.remove(task)

    def _choice(self, pairs: TaskPairs | None, *, is_sorted: bool) -> StickyChoice:
        return StickyChoice(self.plans, self.owners, pairs, prefers_threads=self.is_legacy, is_sorted=is_sorted)

    def _place(self, task: TaskId, choice: StickyChoice, tasks_of: Callable[[ProcessPlan], set[TaskId]]) -> None:
        plan = choice.best(task)
        if plan is not None:
            tasks_of(plan).add(task)
            choice.added(task, plan)
