"""The states of a member of a streams application's group."""

import enum

__all__ = ["IN_GROUP", "MembershipState"]


class MembershipState(enum.Enum):
    """The state of a member's relation to its streams group."""

    UNJOINED = "unjoined"
    """Not in the group, and not joining."""
    JOINING = "joining"
    """The request that joins was not sent or answered yet."""
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
    # The numbers of the states are a metric, so new ones come last.
    LEADING = "leading"
    """In a classic group: the member leads the group, and computes the assignments of all members."""
    SYNCING = "syncing"
    """In a classic group: the member waits for its assignment."""


_S = MembershipState

# A stale or leaving member is not among them, although the coordinator may still have it: its tasks are given up, and
# nothing that it hears gives them back.
IN_GROUP = frozenset({_S.JOINING, _S.LEADING, _S.SYNCING, _S.RECONCILING, _S.ACKNOWLEDGING, _S.STABLE})
"""States in which the member is in the group, or on its way into it."""
