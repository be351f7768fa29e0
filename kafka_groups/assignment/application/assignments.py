"""The result of an assignor: which process gets which tasks."""

import enum
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Self

from attrs import field, frozen

from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.tasks import task_order
from kafka_groups.errors import IllegalStateError
from kafka_groups.types import TaskId

__all__ = ["AssignedTask", "AssignedTaskType", "AssignmentsByProcess", "KafkaStreamsAssignment", "TaskAssignment"]


class AssignedTaskType(enum.Enum):
    """The roles of a task in a process: it runs there, or the process keeps a copy of its state."""

    ACTIVE = "active"
    STANDBY = "standby"


@frozen
class AssignedTask:
    """A task that a process gets (KIP-924).

    Attributes:
        id: The task.
        type: Whether the process runs it.
    """

    id: TaskId
    type: AssignedTaskType

    @classmethod
    def active(cls, task: TaskId) -> Self:
        """Return a task that a process runs."""
        return cls(task, AssignedTaskType.ACTIVE)

    @classmethod
    def standby(cls, task: TaskId) -> Self:
        """Return a task of which a process keeps a copy."""
        return cls(task, AssignedTaskType.STANDBY)

    @property
    def is_active(self) -> bool:
        """True if the process runs it."""
        return self.type is AssignedTaskType.ACTIVE


class KafkaStreamsAssignment:
    """The tasks of one process, which an assignor changes until it is done (KIP-924). Make one with `of`."""

    def __init__(
        self, process_id: ProcessId, tasks: dict[TaskId, AssignedTask], followup_rebalance_deadline: datetime | None
    ) -> None:
        self._process_id = process_id
        self._tasks = tasks
        self._deadline = followup_rebalance_deadline

    def __repr__(self) -> str:
        tasks = ", ".join(f"{task.id} {task.type.value}" for task in self.tasks.values())
        return f"<KafkaStreamsAssignment of {self._process_id}: {tasks or 'nothing'}>"

    @classmethod
    def of(cls, process_id: ProcessId, tasks: Iterable[AssignedTask] = ()) -> Self:
        """Return the assignment of a process.

        Raises:
            IllegalStateError: The same task is active and standby.
        """
        found: dict[TaskId, AssignedTask] = {}
        for task in tasks:
            # The same role twice is harmless. Two roles are a mistake, and Kafka refuses them as well
            # (KafkaStreamsAssignment.of).
            if found.setdefault(task.id, task) != task:
                raise IllegalStateError(f"Task {task.id} is active and standby in process {process_id}. Choose one.")
        return cls(process_id, found, None)

    def with_followup_rebalance(self, deadline: datetime) -> Self:
        """Return an assignment of the same tasks after which the group is to rebalance again.

        Args:
            deadline: When. A rebalance that comes before forgets it.

        Raises:
            IllegalStateError: The deadline has no time zone.
        """
        if deadline.tzinfo is None:
            raise IllegalStateError(f"{deadline!r} has no time zone. Add a duration to ApplicationState.now.")
        # A copy: Kafka's is unmodifiable, which is why its `assignTask` fails afterwards.
        return type(self)(self._process_id, dict(self._tasks), deadline)

    @property
    def process_id(self) -> ProcessId:
        """The process."""
        return self._process_id

    @property
    def tasks(self) -> Mapping[TaskId, AssignedTask]:
        """Its tasks, in the order of tasks."""
        return MappingProxyType({task: self._tasks[task] for task in sorted(self._tasks, key=task_order)})

    @property
    def followup_rebalance_deadline(self) -> datetime | None:
        """The time when the group is to rebalance again, or None."""
        return self._deadline

    def assign_task(self, task: AssignedTask) -> None:
        """Give it a task, instead of the one with the same id, if it has that."""
        # A process has a task in one role only, so the new one replaces the old one, as in
        # KafkaStreamsAssignment.assignTask.
        self._tasks[task.id] = task

    def remove_task(self, task: AssignedTask) -> None:
        """Take a task away, whatever its type, if it has it."""
        # The role does not count, as in KafkaStreamsAssignment.removeTask.
        self._tasks.pop(task.id, None)


def _as_tuple(assignments: Iterable[KafkaStreamsAssignment]) -> tuple[KafkaStreamsAssignment, ...]:
    return tuple(assignments)


@frozen
class TaskAssignment:
    """The assignments of all processes (KIP-924).

    Attributes:
        assignment: One for each process.
    """

    assignment: tuple[KafkaStreamsAssignment, ...] = field(converter=_as_tuple)


AssignmentsByProcess = Mapping[ProcessId, KafkaStreamsAssignment]
"""One assignment for each process, for utilities that change them."""
