"""Finds the process that a task stays in, or moves to, when the processes have their share."""

from kafka_groups.assignment.application.algorithms.least_loaded import LeastLoaded
from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan
from kafka_groups.assignment.application.algorithms.previous_owners import PreviousOwners
from kafka_groups.assignment.application.algorithms.task_pairs import TaskPairs
from kafka_groups.assignment.application.process_ids import in_hash_table_order
from kafka_groups.assignment.java_order import grown
from kafka_groups.types import TaskId

__all__ = ["StickyChoice"]

_FULL = 1
"""The load from which a process gets nothing more as long as others have less."""


class StickyChoice:
    """Finds a process for a task or a copy of it, among those that do not have it.

    It is the one that ran the task, or else the least loaded one of those that had a copy, unless it is full and others
    have less. Else it is the least loaded process. A process in which the task meets others for the first time is
    preferred, so that tasks of a process that is lost go to different ones.

    Args:
        plans: The processes, in the order of ids, with the tasks that they have already.
        owners: Where tasks were.
        pairs: The tasks that have met, if copies are placed. A task that does not run yet has met no other.
        prefers_threads: Whether the one with more threads is taken of processes with equal loads.
        is_sorted: Whether the first by id is taken, if nothing else decides. Otherwise it is the first in Java's table.
    """

    def __init__(
        self,
        plans: Plans,
        owners: PreviousOwners,
        pairs: TaskPairs | None = None,
        *,
        prefers_threads: bool,
        is_sorted: bool,
    ) -> None:
        self._plans = plans
        self._owners = owners
        self._load = _load_and_threads if prefers_threads else _load
        self._is_sorted = is_sorted
        self._pairs = pairs
        self._least: dict[int, LeastLoaded] = {}

    def __repr__(self) -> str:
        return f"<StickyChoice of {len(self._plans)} processes>"

    def best(self, task: TaskId) -> ProcessPlan | None:
        """Return the process for a task, or None if all have it."""
        least = self._least_for(task)
        previous = self._previous(task)
        # There are three answers, as in StickyTaskAssignor.AssignmentState.findBestClientForTask and
        # LegacyStickyTaskAssignor.findClient: the previous owner, unless it is full; a process that had a copy, on the
        # same condition; and the least loaded of all.
        if previous is None or self._should_give(previous, least):
            previous = self._previous_standby(task)
        # Neither has room, or there is neither.
        if previous is None or self._should_give(previous, least):
            return self._least_loaded(task, least)
        return previous

    def added(self, task: TaskId, plan: ProcessPlan) -> None:
        """Note that a process got a task."""
        if self._pairs is not None:
            self._pairs.add(task, plan)
        for least in self._least.values():
            least.changed(plan)

    # ------------------------------------------------------------------------------------ previous owners

    def _previous(self, task: TaskId) -> ProcessPlan | None:
        # A process that has the task in another role is no candidate: it must not get it twice.
        plan = self._owners.active.get(task)
        return plan if plan and not plan.has(task) else self._previous_standby(task)

    def _previous_standby(self, task: TaskId) -> ProcessPlan | None:
        plans = [plan for plan in self._owners.standby(task) if not plan.has(task)]
        # As for the least loaded of all: first those in which the task meets new ones, then any
        # (StickyTaskAssignor.AssignmentState.findLeastLoadedClient).
        suitable = [plan for plan in plans if self._is_new_for(task, plan)]
        return min(suitable or plans, key=self._load, default=None)

    def _should_give(self, plan: ProcessPlan, least: LeastLoaded) -> bool:
        """Return whether a process is full while another one has less."""
        # A process with fewer tasks than threads keeps its task, even if others have none.
        if plan.load < _FULL:
            return False
        # Any process counts, also one that has the task already and cannot get it. That is Kafka's rule
        # (shouldBalanceLoad in both classes).
        other = least.least(_any)
        return other is not None and self._load(other) < self._load(plan)

    # -------------------------------------------------------------------------------------- least loaded

    def _least_loaded(self, task: TaskId, least: LeastLoaded) -> ProcessPlan | None:
        found = least.least(lambda plan: not plan.has(task) and self._is_new_for(task, plan))
        return found or least.least(lambda plan: not plan.has(task))

    def _is_new_for(self, task: TaskId, plan: ProcessPlan) -> bool:
        # Three cases are new. No pairs: an active task that is being placed has met nobody. An empty process: Kafka
        # takes it at once. And a process with at least one task that this one has not met (TaskPairs.hasNewPair).
        return self._pairs is None or not plan.load or self._pairs.meets_another(task, plan)

    def _least_for(self, task: TaskId) -> LeastLoaded:
        """Return the processes in the order of a table of those that do not have the task."""
        # Java collects the candidates in a new hash table for each copy. Its size, and with it its order, depends on
        # how many there are.
        owners = 0 if self._pairs is None else self._pairs.places(task)
        buckets = grown(len(self._plans) - owners)
        if buckets not in self._least:
            ids = self._plans if self._is_sorted else in_hash_table_order(self._plans, buckets)
            self._least[buckets] = LeastLoaded({id_: self._plans[id_] for id_ in ids}, self._load)
        return self._least[buckets]


def _any(_plan: ProcessPlan) -> bool:
    return True


def _load(plan: ProcessPlan) -> tuple[float, int]:
    return plan.load, 0


def _load_and_threads(plan: ProcessPlan) -> tuple[float, int]:
    """Return the load, and what puts the process with more threads first, unless it has no tasks at all."""
    # Kafka takes an empty process before it compares threads (LegacyStickyTaskAssignor.findLeastLoaded), and otherwise
    # prefers more threads (ClientState.hasMoreAvailableCapacityThan).
    load = plan.load
    return load, -plan.threads if load else 0
