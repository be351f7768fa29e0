"""The transition table of a member of a streams group."""

import enum
from collections.abc import Mapping
from types import MappingProxyType

from kafka_groups.streams.member.rules.states import MembershipState

__all__ = ["TRANSITIONS", "MembershipEvent"]


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

_MEMBER = frozenset({_S.JOINING, _S.RECONCILING, _S.ACKNOWLEDGING, _S.STABLE})
_OUT_OF_GROUP = {_E.FENCED: _S.FENCED, _E.OVERDUE: _S.STALE, _E.REFUSED: _S.FATAL, _E.LEAVE: _S.LEAVING}

# These are Java's MemberState without PREPARE_LEAVING, which waits for callbacks that our application has made before
# it leaves. Another difference: Java becomes stable when the heartbeat that acknowledges is built
# (StreamsMembershipManager.onHeartbeatRequestGenerated). Here its answer does it, so that a lost request does not pass
# for an acknowledgement.
TRANSITIONS: Mapping[tuple[MembershipState, MembershipEvent], MembershipState] = MappingProxyType({
    **{(state, event): after for state in _S if state in _MEMBER for event, after in _OUT_OF_GROUP.items()},
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
