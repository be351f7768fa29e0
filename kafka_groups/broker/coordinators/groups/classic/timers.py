"""The deadlines of classic groups. They are soft state and are lost with the coordinator."""

import enum

from attrs import frozen

from kafka_groups.broker.coordinators.timers import Timers

__all__ = ["ClassicTimers", "TimerKey", "TimerKind"]


class TimerKind(enum.IntEnum):
    """What a deadline is for."""

    SESSION = 1
    """A member must send a heartbeat, or an id must be used that was given to one that is yet to join."""
    JOIN = 2
    """A round waits for members."""
    SYNC = 3
    """A generation waits for SyncGroup requests."""


@frozen(order=True)
class TimerKey:
    """What has a deadline: a member, or a whole group."""

    group_id: str
    kind: TimerKind
    member_id: str = ""


ClassicTimers = Timers[TimerKey]
"""The deadlines of all groups of a shard."""
