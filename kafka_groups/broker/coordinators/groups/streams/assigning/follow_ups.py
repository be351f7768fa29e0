"""The times at which assignors want to be asked again (KIP-924), and copies that have caught up before that."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from kafka_groups.broker.coordinators.groups.streams.group import StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.soft_state import ReportedOffsets
from kafka_groups.types import TaskId

__all__ = ["follow_up_ms", "has_caught_up"]

_SHORTEST_MS = 1_000
"""An assignor that always wants to be asked again at once is asked once in a second."""
_NONE_REPORTED = ReportedOffsets()


def follow_up_ms(deadlines: Iterable[datetime], wall_ms: int, now_ms: int) -> int | None:
    """Return when the first of some deadlines passes, on the clock of the timers; None without deadlines."""
    first = min((each.timestamp() for each in deadlines), default=None)
    # A deadline is an instant on the wall clock (KIP-924, followupRebalanceDeadline), while timers have a monotonic
    # clock. The first of all members' deadlines counts, since any of them leads to an assignment for the whole group.
    return None if first is None else now_ms + max(_SHORTEST_MS, int(first * 1000) - wall_ms)


def has_caught_up(
    group: StreamsGroup,
    member_id: str,
    before: Mapping[str, ReportedOffsets],
    after: Mapping[str, ReportedOffsets],
    acceptable_lag: int,
) -> bool:
    """Return whether a member's copy of a task lacks so few records now that the task may move to it (KIP-1071).

    Args:
        group: The group.
        member_id: The member that has reported offsets.
        before: What was reported before, by member.
        after: What is reported now.
        acceptable_lag: The number of records that may be missing.
    """
    # The heartbeat reports no offsets, so nothing can have changed.
    if before is after:
        return False

    def is_near(task: TaskId, reported: Mapping[str, ReportedOffsets]) -> bool:
        offset = reported.get(member_id, _NONE_REPORTED).offsets.get(task)
        # The end of a changelog may be known to another member than the one that restores it, and reports have
        # different ages. The highest end is the safest one. Without any, a task is never caught up: KIP-1071, "Using
        # cumulative task changelog offsets and cumulative task changelog end offsets".
        ends = [each.ends[task] for each in reported.values() if task in each.ends]
        return offset is not None and bool(ends) and max(ends) - offset <= acceptable_lag

    # Only the report with which a copy comes within the acceptable lag counts. Otherwise every heartbeat of a member
    # whose standbys are close would increase the group epoch.
    return any(is_near(task, after) and not is_near(task, before) for task in group.target_of(member_id).standby)
