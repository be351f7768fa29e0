"""Tasks, and which of them a member has."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Self

from attrs import field, frozen

from kafka_groups.protocol.messages.streams_group import TaskIds

__all__ = ["NO_TASKS", "TaskAssignment", "TaskId"]


@frozen(order=True)
class TaskId:
    """A task: partition n of all topics that a sub-topology reads."""

    subtopology_id: str
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology_id}_{self.partition}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the task that Kafka Streams writes like this, for example `0_12`.

        Raises:
            ValueError: The text is not the id of a task.
        """
        subtopology_id, separator, partition = text.rpartition("_")
        if not (separator and subtopology_id and partition.isdecimal() and partition.isascii()):
            raise ValueError(f"Invalid task id {text!r}. Use the form <sub-topology>_<partition>, such as '0_12'.")
        return cls(subtopology_id, int(partition))


def _task_set(tasks: Iterable[TaskId]) -> frozenset[TaskId]:
    return frozenset(tasks)


@frozen(kw_only=True)
class TaskAssignment:
    """Tasks of a member, by what it does with them.

    Attributes:
        active: Tasks that it processes.
        standby: Tasks whose stores it keeps up to date, to take over quickly.
        warmup: Tasks whose stores it restores, to take them over when it has caught up.
    """

    active: frozenset[TaskId] = field(default=(), converter=_task_set)
    standby: frozenset[TaskId] = field(default=(), converter=_task_set)
    warmup: frozenset[TaskId] = field(default=(), converter=_task_set)

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)

    @property
    def ids(self) -> frozenset[TaskId]:
        """All tasks, whatever their role."""
        return self.active | self.standby | self.warmup

    def only(self, ids: frozenset[TaskId]) -> "TaskAssignment":
        """Return these tasks in the roles that they have here."""
        return TaskAssignment(active=self.active & ids, standby=self.standby & ids, warmup=self.warmup & ids)

    def __sub__(self, other: "TaskAssignment") -> "TaskAssignment":
        """Return the tasks that the other one does not have in the same role."""
        return TaskAssignment(
            active=self.active - other.active,
            standby=self.standby - other.standby,
            warmup=self.warmup - other.warmup,
        )

    def __or__(self, other: "TaskAssignment") -> "TaskAssignment":
        """Return the tasks of both, in their roles."""
        return TaskAssignment(
            active=self.active | other.active,
            standby=self.standby | other.standby,
            warmup=self.warmup | other.warmup,
        )

    def __str__(self) -> str:
        roles = {"active": self.active, "standby": self.standby, "warm-up": self.warmup}
        shown = [f"{role} {', '.join(map(str, sorted(tasks)))}" for role, tasks in roles.items() if tasks]
        return "; ".join(shown) or "no tasks"


NO_TASKS = TaskAssignment()
"""An assignment without tasks."""


def tasks_to_wire(tasks: Iterable[TaskId]) -> tuple[TaskIds, ...]:
    """Return tasks as a heartbeat has them, sorted by sub-topology and partition."""
    partitions: defaultdict[str, list[int]] = defaultdict(list)
    for task in sorted(tasks):
        partitions[task.subtopology_id].append(task.partition)
    return tuple(TaskIds(subtopology_id=each, partitions=tuple(found)) for each, found in partitions.items())


def tasks_from_wire(listed: Iterable[TaskIds] | None) -> frozenset[TaskId]:
    """Return the tasks that a heartbeat lists."""
    return frozenset(TaskId(each.subtopology_id, partition) for each in listed or () for partition in each.partitions)
