"""The results of an `AssignorTest`: of one rebalance, and of the whole story."""

from collections.abc import Mapping
from datetime import datetime

from attrs import field, frozen

from kafka_groups.assignment.application.task_assignor import AssignedMember, TaskAssignmentError
from kafka_groups.assignment.application.tasks import in_task_order
from kafka_groups.errors import IllegalStateError
from kafka_groups.types import TaskId

__all__ = ["AssignorStatistics", "ProcessTasks", "RebalanceResult"]


@frozen
class ProcessTasks:
    """The tasks of a process.

    Attributes:
        active: The tasks that it runs.
        standby: The tasks of which it keeps copies.
        threads: The number of its threads.
    """

    active: frozenset[TaskId]
    standby: frozenset[TaskId]
    threads: int

    @property
    def load(self) -> float:
        """Its tasks per thread, active and standby, as Kafka Streams counts them."""
        return (len(self.active) + len(self.standby)) / self.threads

    def __str__(self) -> str:
        active = ", ".join(map(str, in_task_order(self.active))) or "no tasks"
        standby = ", ".join(map(str, in_task_order(self.standby)))
        return f"{active}; copies of {standby}" if standby else active


@frozen(kw_only=True)
class RebalanceResult:
    """The result of a rebalance. `print` shows it as a list of processes.

    Attributes:
        processes: The tasks of each process, by its name.
        members: The tasks of each thread, by its member id: `a-1` is the first thread of process `a`.
        moved_tasks: The active tasks that have moved to another process, and the names of both.
        is_changed: True if any task, active or standby, has changed its place.
        records_to_copy: The changelog records that processes have to copy, for active and standby tasks.
        restoring_tasks: The active tasks that do not run yet, because their state is not complete.
        followup_at: When the next rebalance is due; None if nobody has asked for one.
        postponed: The `TaskAssignmentError` of the assignor; None if it raised none. The tasks of present processes
            are as before then.
        rounds: How many rounds (generations) of a classic group it took; 1 in a streams group.
    """

    processes: Mapping[str, ProcessTasks]
    members: Mapping[str, AssignedMember]
    moved_tasks: Mapping[TaskId, tuple[str, str]]
    is_changed: bool
    records_to_copy: int
    restoring_tasks: frozenset[TaskId]
    followup_at: datetime | None = None
    postponed: TaskAssignmentError | None = field(default=None, eq=False)
    rounds: int = 1

    def __str__(self) -> str:
        return "\n".join(f"{name}: {tasks}" for name, tasks in self.processes.items())

    @property
    def load_difference(self) -> float:
        """The difference between the greatest and the least load of a process, in tasks per thread."""
        loads = [each.load for each in self.processes.values()]
        return max(loads) - min(loads)

    def active_tasks(self, process: str) -> frozenset[TaskId]:
        """Return the tasks that a process runs.

        Raises:
            IllegalStateError: The process was not in the group.
        """
        return self._of(process).active

    def standby_tasks(self, process: str) -> frozenset[TaskId]:
        """Return the tasks of which a process keeps copies.

        Raises:
            IllegalStateError: The process was not in the group.
        """
        return self._of(process).standby

    def owner(self, task: TaskId) -> str | None:
        """Return the name of the process in which a task is active, or None."""
        return next((name for name, tasks in self.processes.items() if task in tasks.active), None)

    def _of(self, process: str) -> ProcessTasks:
        if process not in self.processes:
            known = ", ".join(self.processes)
            raise IllegalStateError(f"Process {process!r} was not in the group at this rebalance. There were: {known}.")
        return self.processes[process]


@frozen(kw_only=True)
class AssignorStatistics:
    """Metrics of a story, to compare assignors by.

    Attributes:
        rebalances: How often tasks were assigned.
        postponed: How often the assignor raised `TaskAssignmentError` instead.
        moved_tasks: How often an active task moved to another process. The first assignment of a task is not a move.
        records_copied: The changelog records that processes have copied, for active and standby tasks.
        restoring_seconds: How long active tasks could not run because their state was being restored, summed over
            tasks.
        most_restoring_tasks: The most active tasks that could not run at the same time for that reason.
        greatest_load_difference: The greatest difference, after a rebalance, between the loads of two processes, in
            tasks per thread, active and standby.
    """

    rebalances: int = 0
    postponed: int = 0
    moved_tasks: int = 0
    records_copied: int = 0
    restoring_seconds: float = 0.0
    most_restoring_tasks: int = 0
    greatest_load_difference: float = 0.0
