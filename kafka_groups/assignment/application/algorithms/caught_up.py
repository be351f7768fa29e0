"""Finds the processes that have the state of a task: all of it, or most of it."""

from collections.abc import Iterable, Sequence

from attrs import frozen

from kafka_groups.assignment.application.algorithms.plans import Plans, ProcessPlan
from kafka_groups.assignment.application.configs import LONGEST_LAG
from kafka_groups.assignment.application.states import ACTIVE_LAG
from kafka_groups.types import TaskId

__all__ = ["CaughtUp"]


@frozen
class CaughtUp:
    """The lags of tasks with state, compared with the acceptable one.

    Attributes:
        plans: The processes.
        acceptable_lag: How many records may be missing.
    """

    plans: Plans
    acceptable_lag: int

    def has_state(self, task: TaskId, plan: ProcessPlan) -> bool:
        """Return whether a process has all of a task's state, but for a lag that is acceptable."""
        # There are three ways to be caught up (HighAvailabilityTaskAssignor.tasksToCaughtUpClients). The acceptable lag
        # is unlimited, which is how assignments are computed without any lags.
        if self.acceptable_lag == LONGEST_LAG:
            return True
        # The task has been running here, or few enough records are missing. `UNKNOWN_LAG` is negative as well, and is
        # neither.
        lag = plan.state.lag_for(task)
        return lag == ACTIVE_LAG or 0 <= lag <= self.acceptable_lag

    def with_state(self, task: TaskId) -> Sequence[ProcessPlan]:
        """Return the processes that have all of a task's state, in the order of ids."""
        return [plan for plan in self.plans.values() if self.has_state(task, plan)]

    def best(self, task: TaskId, among: Iterable[ProcessPlan]) -> ProcessPlan | None:
        """Return the process that lacks the fewest records; the one with the smallest id of several."""
        # Lags compare as numbers, so `UNKNOWN_LAG` (-3) comes before `ACTIVE_LAG` (-2), as in
        # HighAvailabilityTaskAssignor.tasksToClientByLag.
        return min(among, key=lambda plan: (plan.state.lag_for(task), plan.process_id), default=None)
