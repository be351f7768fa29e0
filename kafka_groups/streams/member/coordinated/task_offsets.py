"""Reports the positions of a member's stores to the coordinator.

The coordinator places tasks where their state is, and promotes warm-up tasks that have caught up. Only coordinators
that support version 1 of the heartbeat accept these offsets. Older ones reject the request.
"""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import frozen

from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse
from kafka_groups.protocol.messages.streams_group_parts import TaskOffset
from kafka_groups.streams.member.rules.member_tasks import MemberTasks
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.types import TaskId

__all__ = ["FIRST_WITH_TASK_OFFSETS", "NO_REPORT", "OffsetReport", "TaskOffsetReporter"]

FIRST_WITH_TASK_OFFSETS: Final = 1
"""The first version of the heartbeat whose coordinators accept task offsets."""

_INT64_MAX = 2**63 - 1


@frozen
class OffsetReport:
    """The offsets and end offsets of one heartbeat. None means that the coordinator knows them."""

    offsets: tuple[TaskOffset, ...] | None = None
    end_offsets: tuple[TaskOffset, ...] | None = None


NO_REPORT: Final = OffsetReport()
"""A report without news."""


class TaskOffsetReporter:
    """Decides which heartbeats carry offsets.

    They do when the member joins, after errors, when its tasks have changed, at the interval that the coordinator asked
    for, and when a warm-up task has caught up.

    Args:
        positions: Returns the positions of all tasks that have state in this process, including those that
            no member of the process owns now.
    """

    def __init__(self, positions: Callable[[], Mapping[TaskId, TaskPosition]]) -> None:
        self._positions = positions
        self._told = NO_REPORT
        self._told_owned: MemberTasks | None = None
        self._told_ms: int | None = None
        self._caught_up: frozenset[TaskId] = frozenset()
        self._interval_ms = 0
        # No task is within it, until the coordinator has said what it accepts.
        self._acceptable_lag = -1

    def forget(self) -> None:
        """Report everything again with the next heartbeat, because the coordinator may not know it."""
        # The caught-up tasks are kept: they are reported with all others, and decide only about heartbeats after that.
        self._told = NO_REPORT
        self._told_owned = None

    def report(self, owned: MemberTasks, now_ms: int) -> OffsetReport:
        """Return what the next heartbeat says about the offsets of tasks."""
        positions = self._positions()
        # There are three reasons to report (KIP-1071, "Cumulative task changelog offsets and task changelog end
        # offsets"): the member's tasks have changed, the coordinator's interval has passed, or a warm-up task has
        # caught up, which is what the coordinator waits for before it promotes it.
        due = self._told_owned != owned or self._interval_passed(now_ms)
        # Java's StreamsGroupHeartbeatRequestManager.HeartbeatState.hasAtLeastOneHotWarmupTask holds in each heartbeat
        # while a warm-up task is caught up, and sends the growing offsets each time. Here a task counts once, when it
        # catches up: the coordinator knows the rest.
        if not due and not self._catching_up(owned, positions) - self._caught_up:
            return NO_REPORT
        offsets = _listed({task: each.offset for task, each in positions.items()})
        ends = _listed({task: each.end_offset for task, each in positions.items() if each.end_offset is not None})
        # A list that has not changed is left out, as in Java. None says so; an empty list would say that no task has
        # state.
        return OffsetReport(
            offsets if offsets != self._told.offsets else None, ends if ends != self._told.end_offsets else None
        )

    def _interval_passed(self, now_ms: int) -> bool:
        # A coordinator that asks for no interval gets no regular reports. Java would compare its offsets in each
        # heartbeat then, and send those that have changed.
        return self._told_ms is None or 0 < self._interval_ms <= now_ms - self._told_ms

    def _catching_up(self, owned: MemberTasks, positions: Mapping[TaskId, TaskPosition]) -> frozenset[TaskId]:
        # Only tasks that are warm-ups here: nobody waits for the standbys of this member to catch up.
        found = ((task, positions.get(task)) for task in owned.warmup)
        return frozenset(task for task, each in found if each is not None and each.is_within(self._acceptable_lag))

    def accepted(
        self, report: OffsetReport, owned: MemberTasks, response: StreamsGroupHeartbeatResponse, now_ms: int
    ) -> None:
        """Note that a coordinator that accepts offsets has answered the heartbeat with this report."""
        # Noted with the response, not when the heartbeat is sent: what a lost request reported is reported again. Java
        # notes it when it sends, and forgets it after an error.
        self._interval_ms = response.task_offset_interval_ms
        self._acceptable_lag = response.acceptable_recovery_lag
        # The interval counts from the last heartbeat that was due, even if nothing had changed and its lists were left
        # out. Java's counts from the last one that had a list, so its next heartbeat after an idle interval compares
        # again.
        if self._told_owned != owned or report != NO_REPORT or self._interval_passed(now_ms):
            self._told_ms = now_ms
        self._told_owned = owned
        # A list that was left out still stands.
        self._told = OffsetReport(
            self._told.offsets if report.offsets is None else report.offsets,
            self._told.end_offsets if report.end_offsets is None else report.end_offsets,
        )
        self._caught_up = self._reported_caught_up(owned)

    def _reported_caught_up(self, owned: MemberTasks) -> frozenset[TaskId]:
        """Return the warm-up tasks that have caught up as far as the coordinator knows."""
        ends = {TaskId(each.subtopology_id, each.partition): each.offset for each in self._told.end_offsets or ()}
        told = {
            TaskId(each.subtopology_id, each.partition): TaskPosition(
                each.offset, ends.get(TaskId(each.subtopology_id, each.partition))
            )
            for each in self._told.offsets or ()
        }
        return self._catching_up(owned, told)


def _listed(offsets: Mapping[TaskId, int]) -> tuple[TaskOffset, ...]:
    return tuple(
        # Sums of many changelogs could pass the int64 of the protocol; Java stops at the same value
        # (StateDirectory.sumOfChangelogOffsets).
        TaskOffset(subtopology_id=task.subtopology_id, partition=task.partition, offset=min(offset, _INT64_MAX))
        for task, offset in sorted(offsets.items())
    )
