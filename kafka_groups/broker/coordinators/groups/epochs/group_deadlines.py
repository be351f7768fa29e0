"""The deadlines of groups with epochs. They are soft state and are lost with the coordinator."""

import enum

from attrs import frozen

from kafka_groups.broker.coordinators.timers import Timers

__all__ = ["Deadline", "DeadlineKind", "GroupTimers"]


class DeadlineKind(enum.IntEnum):
    """The purpose of a deadline."""

    SESSION = 1
    """A member must send a heartbeat."""
    REBALANCE = 2
    """A member must have revoked what it has to."""
    CLASSIC = 3
    """A member of a consumer group that speaks the classic protocol must join again, or ask for its partitions."""
    REGEX = 4
    """The topics of a consumer group's regular expressions have to be found. It has no member."""
    INITIAL_DELAY = 5
    """The first target assignment of a streams group is computed. It has no member."""
    FOLLOW_UP = 6
    """The task assignor of a streams group has asked for another assignment (KIP-924). It has no member."""


@frozen(order=True)
class Deadline:
    """The member that has a deadline, and its purpose. A deadline of a whole group has no member."""

    group_id: str
    member_id: str
    kind: DeadlineKind


GroupTimers = Timers[Deadline]
"""The deadlines of all groups of a shard."""
