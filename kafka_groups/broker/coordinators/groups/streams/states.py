"""The states of a streams group, as a transition table, and those of its members.

The state of a group follows from its records: nobody sets it. The table says which changes one operation may bring.
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType

__all__ = [
    "STREAMS_GROUP_TRANSITIONS",
    "STREAMS_MEMBER_TRANSITIONS",
    "StreamsGroupEvent",
    "StreamsGroupState",
    "StreamsMemberState",
]


class StreamsMemberState(enum.IntEnum):
    """A member's progress towards its target assignment, with the numbers of Kafka's records."""

    STABLE = 1
    """The member may own all of its target assignment that was free."""
    UNREVOKED_TASKS = 2
    """The member must revoke tasks. Until then it keeps its epoch."""
    UNRELEASED_TASKS = 3
    """The member waits for tasks that other members must revoke."""
    UNKNOWN = 127
    """Written by a release that has more states. The member has to join again without tasks."""


class StreamsGroupState(enum.StrEnum):
    """The state of a streams group, with the name that StreamsGroupDescribe and ListGroups use."""

    EMPTY = "Empty"
    """No members."""
    NOT_READY = "NotReady"
    """The topology does not work with the existing topics."""
    ASSIGNING = "Assigning"
    """The target assignment is older than the group epoch."""
    RECONCILING = "Reconciling"
    """Members have yet to revoke tasks, or to get some."""
    STABLE = "Stable"
    """Every member has its target assignment."""
    DEAD = "Dead"
    """Deleted, or a classic group now."""


class StreamsGroupEvent(enum.Enum):
    """An event that changes the state of a streams group."""

    BROKEN = "broken"
    """Members are there, but the topology does not work: topics are missing, or have wrong numbers of partitions."""
    CHANGED = "changed"
    """Members, topics or configs have changed, and with them the group epoch, and the topology works."""
    ASSIGNED = "assigned"
    """A target assignment was computed that members have yet to reach, or a static member is away."""
    RECONCILED = "reconciled"
    """The last member has reached its target assignment."""
    EMPTIED = "emptied"
    """The last member has left."""
    DELETED = "deleted"
    """The group was deleted, or became a classic group."""


_S, _E = StreamsGroupState, StreamsGroupEvent

STREAMS_GROUP_TRANSITIONS: Mapping[tuple[StreamsGroupState, StreamsGroupEvent], StreamsGroupState] = MappingProxyType({
    # The states are those of StreamsGroup.maybeUpdateGroupState in Kafka and of KIP-1071, "Streams Group States". An
    # operation may pass through several of them, for example when a member joins and the assignor runs in the same
    # heartbeat; the table has the state before and after the whole operation.
    (_S.EMPTY, _E.BROKEN): _S.NOT_READY,
    (_S.EMPTY, _E.CHANGED): _S.ASSIGNING,
    (_S.EMPTY, _E.RECONCILED): _S.STABLE,
    (_S.EMPTY, _E.DELETED): _S.DEAD,
    (_S.NOT_READY, _E.CHANGED): _S.ASSIGNING,
    # A group that is not ready also has target assignments, empty ones, which its members reach. Once the topology
    # works, the group epoch increases because its validated epoch has changed.
    (_S.NOT_READY, _E.ASSIGNED): _S.RECONCILING,
    (_S.NOT_READY, _E.RECONCILED): _S.STABLE,
    (_S.NOT_READY, _E.EMPTIED): _S.EMPTY,
    (_S.ASSIGNING, _E.BROKEN): _S.NOT_READY,
    (_S.ASSIGNING, _E.ASSIGNED): _S.RECONCILING,
    (_S.ASSIGNING, _E.RECONCILED): _S.STABLE,
    (_S.ASSIGNING, _E.EMPTIED): _S.EMPTY,
    (_S.RECONCILING, _E.BROKEN): _S.NOT_READY,
    (_S.RECONCILING, _E.CHANGED): _S.ASSIGNING,
    (_S.RECONCILING, _E.RECONCILED): _S.STABLE,
    (_S.RECONCILING, _E.EMPTIED): _S.EMPTY,
    (_S.STABLE, _E.BROKEN): _S.NOT_READY,
    (_S.STABLE, _E.CHANGED): _S.ASSIGNING,
    (_S.STABLE, _E.ASSIGNED): _S.RECONCILING,
    (_S.STABLE, _E.EMPTIED): _S.EMPTY,
})  # fmt: skip
"""(state, event) → state. A missing pair cannot happen."""

_M = StreamsMemberState

STREAMS_MEMBER_TRANSITIONS: Mapping[StreamsMemberState, frozenset[StreamsMemberState]] = MappingProxyType({
    _M.STABLE: frozenset({_M.STABLE, _M.UNREVOKED_TASKS, _M.UNRELEASED_TASKS}),
    _M.UNREVOKED_TASKS: frozenset({_M.STABLE, _M.UNREVOKED_TASKS, _M.UNRELEASED_TASKS}),
    _M.UNRELEASED_TASKS: frozenset({_M.STABLE, _M.UNREVOKED_TASKS, _M.UNRELEASED_TASKS}),
    # A member in an unknown state only advances if it owns nothing, so it cannot have anything to revoke.
    _M.UNKNOWN: frozenset({_M.STABLE, _M.UNRELEASED_TASKS}),
})  # fmt: skip
"""The states that may follow each state after one step (`reconciliation.py`). UNKNOWN is only read from records."""
