"""Connects a member and its application: events in one direction, calls in the other.

The two sides may be different threads. Every step is one operation on a `deque` or one assignment, which the
interpreter makes atomic, so that the hand-over needs no lock.
"""

from collections import deque
from collections.abc import Iterator

from kafka_groups.client.requests import NEVER_MS
from kafka_groups.streams.member.rules.member_events import StreamsMembershipEvent

__all__ = ["ApplicationCalls", "MemberInbox"]


class MemberInbox:
    """The events of a member that its application has not taken yet.

    The application takes the oldest first, and the member withdraws the newest first. So each event is either taken or
    withdrawn, and those that were taken come before those that were withdrawn.
    """

    def __init__(self) -> None:
        self._waiting: deque[StreamsMembershipEvent] = deque()
        self._untold: deque[StreamsMembershipEvent] = deque()  # the member's own list: it does not know them as taken

    def __repr__(self) -> str:
        return f"<MemberInbox: {len(self._waiting)} events>"

    def __bool__(self) -> bool:
        return bool(self._waiting)

    # ------------------------------------------------------------------------------ the member's side

    def put(self, event: StreamsMembershipEvent) -> None:
        """Add an event."""
        self._untold.append(event)
        self._waiting.append(event)

    def taken(self) -> Iterator[StreamsMembershipEvent]:
        """Return the events that the application has taken, each of them once."""
        # The application has taken as many of the oldest events as `_waiting` is shorter. If it takes more meanwhile,
        # they are found in the next call or in this one, and none twice.
        while len(self._untold) > len(self._waiting):
            yield self._untold.popleft()

    def withdraw(self) -> list[StreamsMembershipEvent]:
        """Take back the events that the application has not taken."""
        withdrawn: list[StreamsMembershipEvent] = []
        while self._waiting:
            # Between the check and the `pop`, the application may take the last event.
            try:
                withdrawn.append(self._waiting.pop())
            except IndexError:
                break  # the application was faster
            self._untold.pop()
        return withdrawn[::-1]

    # ------------------------------------------------------------------------- the application's side

    def take(self) -> tuple[StreamsMembershipEvent, ...]:
        """Remove and return the events."""
        events: list[StreamsMembershipEvent] = []
        while self._waiting:
            # And here the member may withdraw it.
            try:
                events.append(self._waiting.popleft())
            except IndexError:
                break  # the member was faster
        return tuple(events)


class ApplicationCalls:
    """The deadline of the application's next call.

    Args:
        limit_ms: The longest time between two calls (`max.poll.interval.ms`).

    Attributes:
        is_waiting: Whether the application is in a call, waiting for the member. Such a call is never late.
    """

    def __init__(self, limit_ms: int) -> None:
        self.limit_ms = limit_ms
        self.is_waiting = False
        self._deadline_ms: int | None = None

    def called(self, now_ms: int) -> None:
        """Note a call, which restarts the interval."""
        self._deadline_ms = now_ms + self.limit_ms

    def waited(self, now_ms: int) -> None:
        """Note the end of a call that has waited."""
        self.called(now_ms)  # first: the member may look before the next line, when the deadline before has passed
        self.is_waiting = False

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long until the application is overdue; 0 if it is."""
        # A program that waits in `poll` for as long as nothing happens is alive. Java's poll timer is restarted by each
        # call of `poll` in the same way (StreamsGroupHeartbeatRequestManager.resetPollTimer).
        if self._deadline_ms is None or self.is_waiting:
            return NEVER_MS
        return max(0, self._deadline_ms - now_ms)
