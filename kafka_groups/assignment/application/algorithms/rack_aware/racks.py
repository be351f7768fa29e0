"""The racks of processes and of partitions, and what a task costs in a process of another rack."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Self

from attrs import frozen

from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import KafkaStreamsState
from kafka_groups.assignment.application.tasks import TaskInfo, TaskTopicPartition
from kafka_groups.types import TaskId

__all__ = ["PartitionFilter", "RackCosts", "are_racks_known", "every_partition", "is_changelog", "is_source"]

States = Mapping[ProcessId, KafkaStreamsState]
PartitionFilter = Callable[[TaskTopicPartition], bool]
"""Tells whether a partition of a task counts."""


def every_partition(_partition: TaskTopicPartition) -> bool:
    """Return true: all partitions of a task count."""
    return True


def is_source(partition: TaskTopicPartition) -> bool:
    """Return whether the task of a partition reads it."""
    return partition.is_source


def is_changelog(partition: TaskTopicPartition) -> bool:
    """Return whether a partition is one of a changelog."""
    return partition.is_changelog


def are_racks_known(states: States, tasks: Iterable[TaskInfo], counts: PartitionFilter) -> bool:
    """Return whether all processes have racks, and all partitions that count have replicas in known racks."""
    # One replica in a known rack is enough, as in TaskAssignmentUtils.hasValidRackInformation of Kafka Streams. Its
    # internal assignors are stricter, and want to know the racks of all replicas
    # (RackAwareTaskAssignor.validateTopicPartitionRack). Here all assignors have the same rule.
    return all(state.rack_id for state in states.values()) and all(
        partition.rack_ids for task in tasks for partition in task.topic_partitions if counts(partition)
    )


@frozen
class RackCosts:
    """The costs of tasks in processes.

    Attributes:
        racks: The racks of the processes.
        remote: For each task and rack, the number of its partitions without a replica there.
        traffic: What each such partition costs.
        non_overlap: What it costs that a task moves.
    """

    racks: Mapping[ProcessId, str]
    remote: Mapping[TaskId, Mapping[str, int]]
    traffic: int
    non_overlap: int

    @classmethod
    def of(
        cls, states: States, tasks: Mapping[TaskId, TaskInfo], counts: PartitionFilter, traffic: int, non_overlap: int
    ) -> Self:
        """Return the costs of all tasks.

        Args:
            states: The processes, which all have racks.
            tasks: The tasks.
            counts: Tells the partitions that count. Their racks are known.
            traffic: What a partition in another rack costs.
            non_overlap: What a task that moves costs.
        """
        racks = {process_id: state.rack_id or "" for process_id, state in states.items()}
        distinct = set(racks.values())
        remote = {task: _remote(info, counts, distinct) for task, info in tasks.items()}
        return cls(racks, remote, traffic, non_overlap)

    def row(self, task: TaskId, owner: ProcessId, processes: Sequence[ProcessId]) -> list[int]:
        """Return what a task costs in each of some processes, if one of them has it now."""
        # RackAwareTaskAssignor.getCost: so much for each partition without a replica in the rack of the process, and
        # once for the move.
        remote = self.remote[task]
        return [
            self.traffic * remote[self.racks[process_id]] + (0 if process_id == owner else self.non_overlap)
            for process_id in processes
        ]


def _remote(info: TaskInfo, counts: PartitionFilter, racks: Iterable[str]) -> dict[str, int]:
    known = [partition.rack_ids or frozenset() for partition in info.topic_partitions if counts(partition)]
    return {rack: sum(rack not in each for each in known) for rack in racks}
