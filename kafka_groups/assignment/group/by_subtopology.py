"""Tasks and their offsets by sub-topology, as assignors by member and brokers have them, and back."""

from collections.abc import Iterable, Mapping

from kafka_groups.assignment.group.group_assignor import OffsetsBySubtopology, TasksBySubtopology
from kafka_groups.types import TaskId

__all__ = ["grouped_offsets", "grouped_tasks", "offsets_of_tasks", "tasks_in"]


def grouped_tasks(tasks: Iterable[TaskId]) -> TasksBySubtopology:
    """Return tasks by sub-topology, in order."""
    numbers: dict[str, set[int]] = {}
    for subtopology_id, partition in sorted(tasks):
        numbers.setdefault(subtopology_id, set()).add(partition)
    return numbers


def tasks_in(grouped: TasksBySubtopology) -> frozenset[TaskId]:
    """Return the tasks of all sub-topologies."""
    return frozenset(
        TaskId(subtopology_id, partition) for subtopology_id, each in grouped.items() for partition in each
    )


def grouped_offsets(offsets: Mapping[TaskId, int]) -> OffsetsBySubtopology:
    """Return offsets of tasks by sub-topology, in order."""
    nested: dict[str, dict[int, int]] = {}
    for (subtopology_id, partition), offset in sorted(offsets.items()):
        nested.setdefault(subtopology_id, {})[partition] = offset
    return nested


def offsets_of_tasks(grouped: OffsetsBySubtopology) -> dict[TaskId, int]:
    """Return the offsets of the tasks of all sub-topologies."""
    return {
        TaskId(subtopology_id, partition): offset
        for subtopology_id, offsets in grouped.items()
        for partition, offset in offsets.items()
    }
