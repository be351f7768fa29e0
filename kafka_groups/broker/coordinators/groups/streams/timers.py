"""The deadlines of streams groups. They are soft state and are lost with the coordinator."""

import enum

from attrs import frozen

from kafka_groups.broker.coordinators.timers import Timers

__all__ = ["StreamsTimerKey", "StreamsTimerKind", "StreamsTimers"]


class StreamsTimerKind(enum.IntEnum):
    """What a deadline is for."""

    SESSION = 1
    """A member must send a heartbeat."""
    REBALANCE = 2
    """A member must have revoked tasks."""
    INITIAL_DELAY = 3
    """The first target assignment is computed. This is for a whole group, without a member."""


@frozen(order=True)
class StreamsTimerKey:
    """Which member has a deadline, and what for."""

    group_id: str
    member_id: str
    kind: StreamsTimerKind


StreamsTimers = Timers[StreamsTimerKey]
"""The deadlines of all groups of a shard."""
