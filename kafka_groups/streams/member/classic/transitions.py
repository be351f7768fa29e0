"""The transition table of a member of a classic group."""

import enum
from collections.abc import Mapping
from types import MappingProxyType

from kafka_groups.streams.member.rules.states import MembershipState

__all__ = ["TRANSITIONS", "ClassicMembershipEvent"]


class ClassicMembershipEvent(enum.Enum):
    """An event that changes the state of a member of a classic group."""

    JOIN = "join"
    LEAD = "lead"
    FOLLOW = "follow"
    LED = "led"
    ASSIGNED = "assigned"
    REVOKE = "revoke"
    OWN = "own"
    REBALANCE = "rebalance"
    FENCED = "fenced"
    OVERDUE = "overdue"
    REJOIN = "rejoin"
    REFUSED = "refused"
    LEAVE = "leave"
    LEFT = "left"


_S, _E = MembershipState, ClassicMembershipEvent

_ROUND = frozenset({_S.JOINING, _S.LEADING, _S.SYNCING, _S.RECONCILING, _S.STABLE})
_OUT_OF_GROUP = {_E.FENCED: _S.FENCED, _E.OVERDUE: _S.STALE, _E.REFUSED: _S.FATAL, _E.LEAVE: _S.LEAVING}

# Java's MemberState in AbstractCoordinator has UNJOINED, PREPARING_REBALANCE (here JOINING), COMPLETING_REBALANCE
# (LEADING and SYNCING) and STABLE (with RECONCILING). The others are the application's side of it, which Java keeps in
# its threads.
TRANSITIONS: Mapping[tuple[MembershipState, ClassicMembershipEvent], MembershipState] = MappingProxyType({
    **{(state, event): after for state in _S if state in _ROUND for event, after in _OUT_OF_GROUP.items()},
    (_S.UNJOINED, _E.JOIN): _S.JOINING,
    (_S.UNJOINED, _E.LEAVE): _S.UNJOINED,
    (_S.JOINING, _E.LEAD): _S.LEADING,
    # Also a leader that was restarted, which must not assign (KIP-814).
    (_S.JOINING, _E.FOLLOW): _S.SYNCING,
    (_S.LEADING, _E.LED): _S.SYNCING,
    (_S.LEADING, _E.REBALANCE): _S.JOINING,
    (_S.SYNCING, _E.ASSIGNED): _S.STABLE,
    (_S.SYNCING, _E.REBALANCE): _S.JOINING,
    (_S.STABLE, _E.REVOKE): _S.RECONCILING,
    (_S.STABLE, _E.REBALANCE): _S.JOINING,
    # A rebalance that begins meanwhile waits until the tasks are closed.
    (_S.RECONCILING, _E.OWN): _S.STABLE,
    (_S.FENCED, _E.REJOIN): _S.JOINING,
    # A member that was fenced by its generation may still be in the group.
    (_S.FENCED, _E.LEAVE): _S.LEAVING,
    (_S.STALE, _E.REJOIN): _S.JOINING,
    (_S.STALE, _E.LEAVE): _S.LEAVING,
    (_S.LEAVING, _E.LEFT): _S.UNJOINED,
    (_S.LEAVING, _E.LEAVE): _S.LEAVING,
    # An error ended the member, which has left first.
    (_S.LEAVING, _E.REFUSED): _S.FATAL,
    (_S.FATAL, _E.LEAVE): _S.UNJOINED,
})  # fmt: skip
"""(state, event) → state. A missing pair is a bug of the caller."""
