"""The number of changelog records that a process would have to copy to have the state of a task."""

from collections.abc import Iterable, Mapping

from attrs import field, frozen

from kafka_groups.admin.rules.plans.plan_values import CopyBasis
from kafka_groups.admin.rules.plans.situation import GroupSituation
from kafka_groups.assignment import AssignedTaskType, TaskInfo
from kafka_groups.assignment.application.neutral import MemberInput
from kafka_groups.client.calls.results import Results
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["CopyCosts", "copy_costs"]


@frozen
class CopyCosts:
    """The costs of copying the state of tasks, in records.

    Attributes:
        situation: The group.
        tasks: Its tasks.
        reported: How far the state of a task is in each process that has reported it.
    """

    situation: GroupSituation
    tasks: Mapping[TaskId, TaskInfo]
    reported: Mapping[tuple[str, TaskId], int] = field(factory=dict)

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
        info = self.tasks.get(task)
        # There are three cases in which nothing is copied: the task has no state, it was active here, or it keeps its
        # role.
        if info is None or not info.is_stateful or before in (AssignedTaskType.ACTIVE, role):
            return 0, CopyBasis.NOTHING
        offset = self.reported.get((process_id, task))
        # A process that has reported an offset continues there. Another one begins at the start of the changelogs.
        begin = _total(info, self.situation.starts) if offset is None else max(0, offset)
        end = _total(info, self.situation.ends)
        if begin is None or end is None:
            return None, CopyBasis.UNKNOWN
        return max(0, end - begin), CopyBasis.WHOLE if offset is None else CopyBasis.REPORTED


def copy_costs(situation: GroupSituation, tasks: Mapping[TaskId, TaskInfo], now: Iterable[MemberInput]) -> CopyCosts:
    """Return the costs in a group.

    Args:
        situation: The group.
        tasks: Its tasks.
        now: Its members.
    """
    reported: dict[tuple[str, TaskId], int] = {}
    for member in now:
        for task, offset in member.task_offsets.items():
            key = (str(member.process_id), task)
            # Members of a process share its stores, so the furthest report is the process's.
            reported[key] = max(offset, reported.get(key, 0))
    return CopyCosts(situation, tasks, reported)


def _total(info: TaskInfo, offsets: Results[TopicPartition, int]) -> int | None:
    """Return the sum over the changelogs of a task, as members report it; None if an offset is missing."""
    places = [each.topic_partition for each in info.topic_partitions if each.is_changelog]
    found = [offsets.values[place] for place in places if place in offsets.values]
    return sum(found) if len(found) == len(places) else None
