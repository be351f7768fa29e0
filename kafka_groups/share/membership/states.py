"""The states of a group member, as a transition table."""

import enum
from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["TRANSITIONS", "MemberEvent", "MemberState"]


class MemberState(enum.Enum):
    """The state of a member's relation to its group."""

    UNSUBSCRIBED = "unsubscribed"
    """Not in the group, and not joining."""
    JOINING = "joining"
    """Joining the group: the next heartbeat has epoch 0."""
    STABLE = "stable"
    """In the group, with the assignment that the coordinator sent."""
    LEAVING = "leaving"
    """The heartbeat with epoch -1 has not been sent or answered yet."""
    STALE = "stale"
    """Left because the application did not poll for `max.poll.interval.ms`. The next poll rejoins."""
    FATAL = "fatal"
    """The coordinator refused the member permanently."""


class MemberEvent(enum.Enum):
    """An event that changes the state of a member."""

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
    # Subscribing again while the leave is in flight: the member joins with epoch 0, which a coordinator accepts in any
    # state.
    (_S.LEAVING, _E.SUBSCRIBE): _S.JOINING,
    (_S.LEAVING, _E.LEAVE): _S.LEAVING,
    (_S.LEAVING, _E.LEFT): _S.UNSUBSCRIBED,
    (_S.LEAVING, _E.POLLED): _S.LEAVING,
    # A changed subscription is not a poll: a stale member waits for one before it joins again.
    (_S.STALE, _E.SUBSCRIBE): _S.STALE,
    (_S.STALE, _E.LEAVE): _S.LEAVING,
    # The leave of a stale member was answered. It stays stale until the application polls.
    (_S.STALE, _E.LEFT): _S.STALE,
    (_S.STALE, _E.POLL_OVERDUE): _S.STALE,
    (_S.STALE, _E.POLLED): _S.JOINING,
    # A fatal error stays: the next poll raises it, and only unsubscribing or closing ends the state.
    (_S.FATAL, _E.SUBSCRIBE): _S.FATAL,
    (_S.FATAL, _E.LEAVE): _S.UNSUBSCRIBED,
    (_S.FATAL, _E.POLLED): _S.FATAL,
})  # fmt: skip
"""(state, event) → state. A missing pair is a bug of the caller."""
