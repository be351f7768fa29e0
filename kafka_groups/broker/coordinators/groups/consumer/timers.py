"""The deadlines of consumer groups. They are soft state and are lost with the coordinator."""

import enum

from attrs import frozen

from kafka_groups.broker.coordinators.timers import Timers

__all__ = ["ConsumerTimerKey", "ConsumerTimerKind", "ConsumerTimers"]


class ConsumerTimerKind(enum.IntEnum):
    """What a deadline is for."""

    SESSION = 1
    """A member must send a heartbeat."""
    REBALANCE = 2
    """A member must have revoked partitions."""
    REGEX = 3
    """The topics of regular expressions have to be found. This is for a whole group, without a member."""

    CLASSIC = 4
    """A member that speaks the classic protocol must join again, or ask for its partitions."""


@frozen(order=True)
class ConsumerTimerKey:
    """Which member has a deadline, and what for."""

    group_id: str
    member_id: str
    kind: ConsumerTimerKind


ConsumerTimers = Timers[ConsumerTimerKey]
"""The deadlines of all groups of a shard."""
