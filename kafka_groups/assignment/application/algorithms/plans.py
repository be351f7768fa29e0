"""A process while its tasks are being chosen."""

from collections.abc import Iterable, Mapping
from typing import Self

from attrs import define, field

from kafka_groups.assignment.application.assignments import AssignedTask, KafkaStreamsAssignment
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import KafkaStreamsState
from kafka_groups.types import TaskId

__all__ = ["Plans", "ProcessPlan", "empty_plans"]


@define(eq=False)
class ProcessPlan:
    """The tasks that a process is to get, as far as they are chosen.

    Attributes:
        state: The process.
        active: Tasks that it is to run.
        standby: Tasks of which it is to keep copies.
    """

    state: KafkaStreamsState
    active: set[TaskId] = field(factory=set)
    standby: set[TaskId] = field(factory=set)

    @property
    def process_id(self) -> ProcessId:
        """Its id."""
        return self.state.process_id

    @property
    def threads(self) -> int:
        """The number of its threads."""
        return self.state.num_processing_threads

    @property
    def load(self) -> float:
        """Its tasks per thread."""
        # ClientState.assignedTaskLoad in Kafka Streams: copies count as much as active tasks.
        return (len(self.active) + len(self.standby)) / self.threads

    def has(self, task: TaskId) -> bool:
        """Return whether it runs a task or keeps a copy of it."""
        return task in self.active or task in self.standby

    def as_assignment(self) -> KafkaStreamsAssignment:
        """Return its tasks as an assignor returns them."""
        tasks = [*map(AssignedTask.active, self.active), *map(AssignedTask.standby, self.standby)]
        return KafkaStreamsAssignment.of(self.process_id, tasks)

    @classmethod
    def of(cls, state: KafkaStreamsState, tasks: Iterable[AssignedTask]) -> Self:
        """Return the plan of a process with these tasks."""
        found = list(tasks)
        active = {task.id for task in found if task.is_active}
        return cls(state, active, {task.id for task in found if not task.is_active})


Plans = Mapping[ProcessId, ProcessPlan]
"""The plans of all processes, in the order of process ids."""


def empty_plans(states: Mapping[ProcessId, KafkaStreamsState]) -> dict[ProcessId, ProcessPlan]:
    """Return plans without tasks, in the order of process ids."""
    # HighAvailabilityTaskAssignor in Kafka Streams keeps processes in a TreeMap, so the order of ids decides wherever
    # loads are equal.
    return {id_: ProcessPlan(states[id_]) for id_ in sorted(states)}
