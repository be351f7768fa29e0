"""The states of a member of a streams group, as a transition table."""

import enum
from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["IN_GROUP", "TRANSITIONS", "MembershipEvent", "MembershipState"]


class MembershipState(enum.Enum):
    """The state of a member's relation to its streams group."""

    UNJOINED = "unjoined"
    """Not in the group, and not joining."""
    JOINING = "joining"
    """The next heartbeat has epoch 0, or is waiting for its response."""
    RECONCILING = "reconciling"
    """The application has to give up tasks before the member can take those that the coordinator assigned."""
    ACKNOWLEDGING = "acknowledging"
    """The member owns other tasks than the coordinator knows of. The next heartbeat lists them."""
    STABLE = "stable"
    """The member owns the tasks that the coordinator assigned, and the coordinator knows it."""
    FENCED = "fenced"
    """The coordinator removed the member. It rejoins when the application has dropped its tasks."""
    STALE = "stale"
    """Left, because the application stayed away for `max.poll.interval.ms`. Its next call rejoins."""
    LEAVING = "leaving"
    """The heartbeat that leaves was not sent or answered yet."""
    FATAL = "fatal"
    """The coordinator refused the member permanently."""
    UNREACHABLE = "unreachable"
    """No broker answers. The member keeps its tasks and keeps trying. Shown by `member.state` only."""


class MembershipEvent(enum.Enum):
    """An event that changes the state of a member."""

    JOIN = "join"
    ACCEPTED = "accepted"
    REVOKE = "revoke"
    OWN = "own"
    ACKNOWLEDGED = "acknowledged"
    RESYNCHRONIZE = "resynchronize"
    FENCED = "fenced"
    OVERDUE = "overdue"
    REJOIN = "rejoin"
    REFUSED = "refused"
    LEAVE = "leave"
    LEFT = "left"


_S, _E = MembershipState, MembershipEvent

# A stale or leaving member is not among them, although the coordinator may still have it: its tasks are given up, and
# nothing that it hears gives them back.
IN_GROUP = frozenset({_S.JOINING, _S.RECONCILING, _S.ACKNOWLEDGING, _S.STABLE})
"""States in which the member is in the group, or on its way into it."""

_OUT_OF_GROUP = {_E.FENCED: _S.FENCED, _E.OVERDUE: _S.STALE, _E.REFUSED: _S.FATAL, _E.LEAVE: _S.LEAVING}

# These are Java's MemberState without PREPARE_LEAVING, which waits for callbacks that our application has made before
# it leaves. Another difference: Java becomes stable when the heartbeat that acknowledges is built
# (StreamsMembershipManager.onHeartbeatRequestGenerated). Here its answer does it, so that a lost request does not pass
# for an acknowledgement.
TRANSITIONS: Mapping[tuple[MembershipState, MembershipEvent], MembershipState] = MappingProxyType({
    **{(state, event): after for state in _S if state in IN_GROUP for event, after in _OUT_OF_GROUP.items()},
    (_S.UNJOINED, _E.JOIN): _S.JOINING,
    (_S.UNJOINED, _E.LEAVE): _S.UNJOINED,
    (_S.JOINING, _E.ACCEPTED): _S.STABLE,
    # Heartbeats go on while the application closes tasks, or the session would end. They change the state only through
    # what they bring.
    (_S.RECONCILING, _E.ACCEPTED): _S.RECONCILING,
    (_S.RECONCILING, _E.OWN): _S.ACKNOWLEDGING,
    (_S.ACKNOWLEDGING, _E.ACCEPTED): _S.ACKNOWLEDGING,
    (_S.ACKNOWLEDGING, _E.ACKNOWLEDGED): _S.STABLE,
    (_S.ACKNOWLEDGING, _E.REVOKE): _S.RECONCILING,
    (_S.STABLE, _E.ACCEPTED): _S.STABLE,
    (_S.STABLE, _E.REVOKE): _S.RECONCILING,
    (_S.STABLE, _E.OWN): _S.ACKNOWLEDGING,
    # Only from here: members that have something to confirm do so first.
    (_S.STABLE, _E.RESYNCHRONIZE): _S.JOINING,
    (_S.FENCED, _E.REJOIN): _S.JOINING,
    # The coordinator has no such member, so there is nothing to send; from STALE, -1 or -2 may not have been answered
    # yet.
    (_S.FENCED, _E.LEAVE): _S.UNJOINED,
    (_S.STALE, _E.REJOIN): _S.JOINING,
    (_S.STALE, _E.LEAVE): _S.LEAVING,
    (_S.LEAVING, _E.LEFT): _S.UNJOINED,
    (_S.LEAVING, _E.LEAVE): _S.LEAVING,
    (_S.FATAL, _E.LEAVE): _S.UNJOINED,
})  # fmt: skip
"""(state, event) → state. A missing pair is a bug of the caller."""
