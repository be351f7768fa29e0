"""A group's memory of each task: the member that ran it, and the processes with copies of its state."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Self

from attrs import frozen

from kafka_groups.assignment.group.group_assignor import StreamsGroupSpec, StreamsMemberSpec
from kafka_groups.assignment.group.sticky.numbers import NumberedMembers, NumberedTasks

__all__ = ["NOBODY", "PreviousAssignment", "StateCopy"]

NOBODY = -1
"""Stands for the number of a member where there is none."""

StateCopy = tuple[int, bool, int, int]
"""A copy of a task's state: the task, whether the copy is dormant, its offset negated, and its member.

A copy that is not dormant is a former standby task. The best copy sorts first. A plain tuple, as there may be some
100,000 of them.
"""


@frozen
class PreviousAssignment:
    """The previous assignment and the state that members reported.

    Attributes:
        active: The member that had each task as an active task, or `NOBODY`.
        copies: Copies of the tasks' state in order, in one list.
        ends: Where the copies of each task end in that list.
    """

    active: Sequence[int]
    copies: Sequence[StateCopy]
    ends: Sequence[int]

    @classmethod
    def of(cls, group: StreamsGroupSpec, tasks: NumberedTasks, members: NumberedMembers) -> Self:
        """Collect what is known of each task."""
        active = [NOBODY] * tasks.count
        copies: list[StateCopy] = []
        counts = [0] * tasks.count
        for member, member_id in enumerate(members.member_ids):
            spec = group.members[member_id]
            for task in tasks.numbers(spec.active_tasks):
                active[task] = member
            # Warm-up tasks are not looked at: what they have shows in the offsets that their members report.
            for task, is_dormant, offset in _copies_of(spec, tasks):
                copies.append((task, is_dormant, -offset, member))
                counts[task] += 1
        # Kafka ranks copies in the same way: former standby tasks, then reported offsets, highest first
        # (StickyTaskAssignor.rankStandbyCandidates in org.apache.kafka.coordinator.group.streams.assignor).
        copies.sort()
        return cls(active, copies, list(accumulate(counts)))

    def copies_of(self, task: int) -> Sequence[StateCopy]:
        """Return the copies of a task's state: former standby tasks, then dormant state, each by descending offset."""
        return self.copies[self.ends[task - 1] if task else 0 : self.ends[task]]


def _copies_of(spec: StreamsMemberSpec, tasks: NumberedTasks) -> Iterator[tuple[int, bool, int]]:
    """Yield each task of which the member has a copy, whether the copy is dormant, and its offset."""
    offsets = dict(tasks.numbered_offsets(spec.task_offsets))
    # A standby task without a report has some state, but nobody knows how much: 0 puts it after those that are known.
    for task in tasks.numbers(spec.standby_tasks):
        yield task, False, offsets.pop(task, 0)
    for task, offset in offsets.items():
        yield task, True, offset
