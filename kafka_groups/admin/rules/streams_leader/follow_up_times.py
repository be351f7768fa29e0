"""The times at which the group rebalances again, because the assignor asks for it."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from kafka_groups.admin.rules.streams_leader.hand_over import AT_ONCE, HandedOver
from kafka_groups.admin.rules.streams_leader.leader_input import EPOCH
from kafka_groups.assignment import FallbackPriorTaskAssignor, HighAvailabilityTaskAssignor, ProcessId, Registered
from kafka_groups.protocol.streams_user_data.versions import FIRST_WITH_NEXT_REBALANCE

__all__ = ["follow_up_times", "own_follow_up_ms"]

_LEAST_MS: Final = 1_000
"""The shortest time between a round and the next one. With a deadline in the past, rounds would follow each other
without a pause."""

_OF_LEADERS: Final = (HighAvailabilityTaskAssignor, FallbackPriorTaskAssignor)
"""The assignors whose deadline is one of the group, and not of a process."""


def follow_up_times(
    assignor: Registered, deadlines: Mapping[ProcessId, datetime], leader: ProcessId, now_ms: int
) -> dict[ProcessId, int]:
    """Return the times at which processes join again, in milliseconds since the epoch.

    Args:
        assignor: The assignor.
        deadlines: What it has returned.
        leader: The leader's process.
        now_ms: The time, in milliseconds since the epoch.
    """
    found = {
        process_id: max((deadline - EPOCH) // timedelta(milliseconds=1), now_ms + _LEAST_MS)
        for process_id, deadline in deadlines.items()
    }
    if assignor.assignor not in _OF_LEADERS and type(assignor.assignor) not in _OF_LEADERS:
        return found
    # The deadline is one of the leader's clock, so its own process waits for it. These assignors give it to any.
    return dict.fromkeys([leader] if found else [], min(found.values(), default=0))


def own_follow_up_ms(version: int, handed_over: Iterable[HandedOver]) -> int | None:
    """Return the time at which the leader joins again itself, because members cannot be told; None for never.

    Args:
        version: The version of the assignments.
        handed_over: What the members get.
    """
    if version >= FIRST_WITH_NEXT_REBALANCE:
        return None
    # A member that waits for a task needs no time: those that give it up join again.
    times = [each.next_rebalance_ms for each in handed_over if each.next_rebalance_ms not in (None, AT_ONCE)]
    return min(filter(None, times), default=None)
