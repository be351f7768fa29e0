"""The number of changelog records that a process would have to copy to have the state of a task."""

from collections.abc import Iterable, Mapping

from attrs import frozen

from kafka_groups.admin.rules.plans.plan_values import CopyBasis
from kafka_groups.assignment import AssignedTaskType, TaskInfo
from kafka_groups.assignment.application.neutral import MemberInput
from kafka_groups.client.calls.results import Results
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["CopyCosts", "KnownSums", "furthest_reports", "sums_of_changelogs"]

KnownSums = Mapping[TaskId, int | None]
"""The sum of an offset over the changelogs of each task with state; None where one is not known."""


@frozen
class CopyCosts:
    """The costs of copying the state of tasks, in records.

    Attributes:
        starts: The starts of the changelogs of each task with state.
        ends: Their ends.
        reported: How far the state of a task is in each process that has reported it.
    """

    starts: KnownSums
    ends: KnownSums
    reported: Mapping[tuple[str, TaskId], int]

    def records(
        self, task: TaskId, process_id: str, before: AssignedTaskType | None, role: AssignedTaskType
    ) -> tuple[int | None, CopyBasis]:
        """Return how many records a process has to copy, as an upper bound, and what the number is made from.

        Args:
            task: The task.
            process_id: The process that gets it.
            before: The role that it has had in this process.
            role: The role that it gets.
        """
        # There are three cases in which nothing is copied: the task has no state, it was active here, or it keeps its
        # role.
        if task not in self.ends or before in (AssignedTaskType.ACTIVE, role):
            return 0, CopyBasis.NOTHING
        offset = self.reported.get((process_id, task))
        # A process that has reported an offset continues there. Another one begins at the start of the changelogs.
        begin = self.starts[task] if offset is None else max(0, offset)
        end = self.ends[task]
        if begin is None or end is None:
            return None, CopyBasis.UNKNOWN
        return max(0, end - begin), CopyBasis.WHOLE if offset is None else CopyBasis.REPORTED


def furthest_reports(members: Iterable[MemberInput]) -> dict[tuple[str, TaskId], int]:
    """Return how far the state of tasks is in each process, as members of a streams group have reported it."""
    reported: dict[tuple[str, TaskId], int] = {}
    for member in members:
        for task, offset in member.task_offsets.items():
            key = (str(member.process_id), task)
            # Members of a process share its stores, so the furthest report is the process's.
            reported[key] = max(offset, reported.get(key, 0))
    return reported


def sums_of_changelogs(
    tasks: Mapping[TaskId, TaskInfo], offsets: Results[TopicPartition, int]
) -> dict[TaskId, int | None]:
    """Return the sum over the changelogs of each task with state, as members report it."""
    return {task: _total(info, offsets) for task, info in tasks.items() if info.is_stateful}


def _total(info: TaskInfo, offsets: Results[TopicPartition, int]) -> int | None:
    places = [each.topic_partition for each in info.topic_partitions if each.is_changelog]
    found = [offsets.values[place] for place in places if place in offsets.values]
    return sum(found) if len(found) == len(places) else None
