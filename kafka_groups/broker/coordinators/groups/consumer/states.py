"""The states of a consumer group, as a transition table, and those of its members.

The state of a group follows from its records: nobody sets it. The table says which changes may be seen.
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType

__all__ = [
    "CONSUMER_GROUP_TRANSITIONS",
    "ConsumerGroupEvent",
    "ConsumerGroupState",
    "ConsumerMemberState",
]


class ConsumerMemberState(enum.IntEnum):
    """A member's progress towards its target assignment, with the numbers of Kafka's records."""

    STABLE = 0
    """The member may own all of its target assignment that was free."""
    UNREVOKED_PARTITIONS = 1
    """The member must revoke partitions. Until then it keeps its epoch."""
    UNRELEASED_PARTITIONS = 2
    """The member waits for partitions that other members must revoke."""


class ConsumerGroupState(enum.StrEnum):
    """The state of a consumer group, with the name that ConsumerGroupDescribe and ListGroups use."""

    EMPTY = "Empty"
    """No members."""
    ASSIGNING = "Assigning"
    """The target assignment is older than the group epoch."""
    RECONCILING = "Reconciling"
    """Members have yet to revoke partitions, or to get some."""
    STABLE = "Stable"
    """Every member has its target assignment."""
    DEAD = "Dead"
    """Deleted, or a classic group now."""


class ConsumerGroupEvent(enum.Enum):
    """An event that changes the state of a consumer group."""

    CHANGED = "changed"
    """Members, subscriptions or topics have changed, and with them the group epoch."""
    ASSIGNED = "assigned"
    """A target assignment was computed that members have yet to reach, or a static member is away."""
    RECONCILED = "reconciled"
    """The last member has reached its target assignment."""
    EMPTIED = "emptied"
    """The last member has left."""
    DELETED = "deleted"
    """The group was deleted, or became a classic group."""


_S, _E = ConsumerGroupState, ConsumerGroupEvent

CONSUMER_GROUP_TRANSITIONS: Mapping[tuple[ConsumerGroupState, ConsumerGroupEvent], ConsumerGroupState] = (
    MappingProxyType({
        # ConsumerGroup.maybeUpdateGroupState in Kafka derives the states from epochs and members. A heartbeat often
        # passes through ASSIGNING, because it also computes the target assignment; then only the last state is seen.
        (_S.EMPTY, _E.CHANGED): _S.ASSIGNING,
        (_S.EMPTY, _E.ASSIGNED): _S.RECONCILING,
        (_S.EMPTY, _E.RECONCILED): _S.STABLE,
        (_S.EMPTY, _E.DELETED): _S.DEAD,
        (_S.ASSIGNING, _E.ASSIGNED): _S.RECONCILING,
        (_S.ASSIGNING, _E.RECONCILED): _S.STABLE,
        (_S.ASSIGNING, _E.EMPTIED): _S.EMPTY,
        (_S.ASSIGNING, _E.DELETED): _S.DEAD,
        (_S.RECONCILING, _E.CHANGED): _S.ASSIGNING,
        (_S.RECONCILING, _E.RECONCILED): _S.STABLE,
        (_S.RECONCILING, _E.EMPTIED): _S.EMPTY,
        (_S.RECONCILING, _E.DELETED): _S.DEAD,
        (_S.STABLE, _E.CHANGED): _S.ASSIGNING,
        (_S.STABLE, _E.ASSIGNED): _S.RECONCILING,
        (_S.STABLE, _E.EMPTIED): _S.EMPTY,
        (_S.STABLE, _E.DELETED): _S.DEAD,
    })
)  # fmt: skip
"""(state, event) → state. A missing pair cannot happen."""
