"""Tasks, and which of them a member has."""

from collections import defaultdict
from collections.abc import Iterable

from attrs import field, frozen

from kafka_groups.protocol.messages.streams_group_parts import TaskIds
from kafka_groups.types import TaskId

__all__ = ["NO_TASKS", "MemberTasks"]


def _task_set(tasks: Iterable[TaskId]) -> frozenset[TaskId]:
    return frozenset(tasks)


@frozen(kw_only=True)
class MemberTasks:
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

    def only(self, ids: frozenset[TaskId]) -> "MemberTasks":
        """Return these tasks in the roles that they have here."""
        return MemberTasks(active=self.active & ids, standby=self.standby & ids, warmup=self.warmup & ids)

    def __sub__(self, other: "MemberTasks") -> "MemberTasks":
        """Return the tasks that the other one does not have in the same role."""
        # A task that changes its role is given up in the old one and got in the new one. KIP-1071, "Reconciliation of
        # the group", has the three roles in lists of their own.
        return MemberTasks(
            active=self.active - other.active,
            standby=self.standby - other.standby,
            warmup=self.warmup - other.warmup,
        )

    def __or__(self, other: "MemberTasks") -> "MemberTasks":
        """Return the tasks of both, in their roles."""
        return MemberTasks(
            active=self.active | other.active,
            standby=self.standby | other.standby,
            warmup=self.warmup | other.warmup,
        )

    def __str__(self) -> str:
        roles = {"active": self.active, "standby": self.standby, "warm-up": self.warmup}
        shown = [f"{role} {', '.join(map(str, sorted(tasks)))}" for role, tasks in roles.items() if tasks]
        return "; ".join(shown) or "no tasks"


NO_TASKS = MemberTasks()
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
