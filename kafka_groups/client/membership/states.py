"""The states of a group member, as a transition table."""

import enum
from collections.abc import Mapping
from types import MappingProxyType

from kafka_groups.errors import IllegalStateError

__all__ = ["TRANSITIONS", "MemberEvent", "MemberState", "next_state"]


class MemberState(enum.Enum):
    """Where a member stands with its coordinator."""

    UNSUBSCRIBED = "unsubscribed"
    """Not in the group, and not on the way into it."""
    JOINING = "joining"
    """Wants to join: the next heartbeat carries epoch 0."""
    STABLE = "stable"
    """In the group, with the assignment that the coordinator sent."""
    LEAVING = "leaving"
    """The heartbeat with epoch -1 waits to be sent or answered."""
    STALE = "stale"
    """Left because the application did not poll for `max.poll.interval.ms`; joins again at the next poll."""
    FATAL = "fatal"
    """The coordinator refused the member for good."""


class MemberEvent(enum.Enum):
    """What can happen to a member."""

    SUBSCRIBE = "subscribe"
    ACCEPTED = "accepted"
    FENCED = "fenced"
    REFUSED = "refused"
    LEAVE = "leave"
    LEFT = "left"
    POLL_OVERDUE = "poll overdue"
    POLLED = "polled"


_S, _E = MemberState, MemberEvent

TRANSITIONS: Mapping[tuple[MemberState, MemberEvent], MemberState] = MappingProxyType({
    (_S.UNSUBSCRIBED, _E.SUBSCRIBE): _S.JOINING,
    (_S.UNSUBSCRIBED, _E.LEAVE): _S.UNSUBSCRIBED,
    (_S.UNSUBSCRIBED, _E.POLLED): _S.UNSUBSCRIBED,
    (_S.JOINING, _E.SUBSCRIBE): _S.JOINING,
    (_S.JOINING, _E.ACCEPTED): _S.STABLE,
    (_S.JOINING, _E.FENCED): _S.JOINING,
    (_S.JOINING, _E.REFUSED): _S.FATAL,
    (_S.JOINING, _E.LEAVE): _S.LEAVING,
    (_S.JOINING, _E.POLL_OVERDUE): _S.STALE,
    (_S.JOINING, _E.POLLED): _S.JOINING,
    (_S.STABLE, _E.SUBSCRIBE): _S.STABLE,
    (_S.STABLE, _E.ACCEPTED): _S.STABLE,
    (_S.STABLE, _E.FENCED): _S.JOINING,
    (_S.STABLE, _E.REFUSED): _S.FATAL,
    (_S.STABLE, _E.LEAVE): _S.LEAVING,
    (_S.STABLE, _E.POLL_OVERDUE): _S.STALE,
    (_S.STABLE, _E.POLLED): _S.STABLE,
    (_S.LEAVING, _E.SUBSCRIBE): _S.JOINING,
    (_S.LEAVING, _E.LEAVE): _S.LEAVING,
    (_S.LEAVING, _E.LEFT): _S.UNSUBSCRIBED,
    (_S.LEAVING, _E.POLLED): _S.LEAVING,
    (_S.STALE, _E.SUBSCRIBE): _S.STALE,
    (_S.STALE, _E.LEAVE): _S.LEAVING,
    (_S.STALE, _E.LEFT): _S.STALE,
    (_S.STALE, _E.POLL_OVERDUE): _S.STALE,
    (_S.STALE, _E.POLLED): _S.JOINING,
    (_S.FATAL, _E.SUBSCRIBE): _S.FATAL,
    (_S.FATAL, _E.LEAVE): _S.UNSUBSCRIBED,
    (_S.FATAL, _E.POLLED): _S.FATAL,
})  # fmt: skip
"""(state, event) → state; a pair that is not here is a bug of the caller."""


def next_state(state: MemberState, event: MemberEvent) -> MemberState:
    """The state after the event.

    Raises:
        IllegalStateError: The event cannot happen in this state.
    """
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise IllegalStateError(f"a member that is {state.value} cannot see the event '{event.value}'") from None
