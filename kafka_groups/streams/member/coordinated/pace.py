"""Decides when a member of a streams group heartbeats: at the coordinator's interval, or sooner while tasks move."""

import random
from collections import deque

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.membership.heartbeat import HeartbeatTimer
from kafka_groups.streams.member.coordinated.old_session import OldSession

__all__ = ["HeartbeatPace"]

_SHORTEST_MS, _LONGEST_MS = 250, 400
_MOST_PER_SECOND = 4
# Java has no such bound because it does not hurry: it sends heartbeats before the interval ends only to join, to
# acknowledge and to leave (StreamsGroupHeartbeatRequestManager.shouldHeartbeatBeforeIntervalExpires). The bound keeps a
# member without tasks, in a group with more members than tasks, from asking four times a second for ever.
_HURRY_PER_EPOCH_MS = 10_000


class HeartbeatPace:
    """The time of the next heartbeat. At most one heartbeat is in flight.

    A member that waits for tasks receives them only in the response to a heartbeat. While it waits, it *hurries*: it
    sends a heartbeat every 250 to 400 ms, for at most ten seconds in each epoch. Confirmations are sent at once. In
    total it sends at most four heartbeats a second. Otherwise it uses the coordinator's interval.

    Args:
        backoff: Delays heartbeats after failures.
        old_session: Delays joins while the group has another member with the same instance id.
        rng: Source of the jitter.
    """

    def __init__(self, backoff: BackoffTimer, old_session: OldSession, rng: random.Random) -> None:
        self._old_session = old_session
        self._timer = HeartbeatTimer(backoff)
        self._backoff = backoff
        self._rng = rng
        self._early_ms: int | None = None
        self._hurry_until_ms = 0
        self._epoch: int | None = None
        self._sent_ms: deque[int] = deque(maxlen=_MOST_PER_SECOND)

    @property
    def in_flight(self) -> bool:
        """True if a heartbeat is waiting for its response."""
        return self._timer.in_flight

    @property
    def interval_ms(self) -> int:
        """The interval that the coordinator asked for; 0 before its first response."""
        return self._timer.interval_ms

    def now(self) -> None:
        """Heartbeat as soon as the back-off allows, for example to join or to leave."""
        self._timer.now()

    def confirm(self, now_ms: int) -> None:
        """Heartbeat at once, because the coordinator is waiting for a confirmation."""
        self._early(now_ms)

    def hurry(self, epoch: int, now_ms: int) -> None:
        """Heartbeat soon, because tasks are expected in this epoch."""
        # A new epoch is a new assignment, which may bring tasks again.
        if epoch != self._epoch:
            self._epoch, self._hurry_until_ms = epoch, now_ms + _HURRY_PER_EPOCH_MS
        # With jitter, so that members that join together do not ask together.
        at_ms = now_ms + self._rng.randint(_SHORTEST_MS, _LONGEST_MS)
        # After that, the interval applies again.
        if at_ms <= self._hurry_until_ms:
            self._early(at_ms)

    def _early(self, at_ms: int) -> None:
        """Heartbeat at this time, or earlier if that was planned, but not more than four times in a second."""
        # If four were sent within the last second, this one waits until the first of them is a second old.
        if len(self._sent_ms) == _MOST_PER_SECOND:
            at_ms = max(at_ms, self._sent_ms[0] + 1_000)
        self._early_ms = at_ms if self._early_ms is None else min(self._early_ms, at_ms)

    def sent(self, now_ms: int) -> None:
        """Note that a heartbeat was sent."""
        self._timer.sent(now_ms)
        self._sent_ms.append(now_ms)
        self._early_ms = None

    def answered(self, interval_ms: int, throttle_time_ms: int, now_ms: int) -> None:
        """Note a response without an error. The interval counts from when the heartbeat was sent."""
        self._timer.answered(interval_ms, throttle_time_ms, now_ms)
        self._old_session.over()

    def failed(self, now_ms: int) -> None:
        """Note that the heartbeat failed. The next one waits only for the back-off."""
        self._timer.failed(now_ms)

    def awaits_release(self, now_ms: int) -> int | None:
        """Note that another member has the instance id. Return when to join again, or None to give up."""
        wait_ms = self._old_session.refused(now_ms)
        # The refusal is an answer, so the timer is free for the next join. Its own back-off does not grow: how long to
        # wait is for `OldSession` to say.
        if wait_ms is not None:
            self._timer.dropped()
            self._backoff.wait(wait_ms, now_ms)
        return wait_ms

    def dropped(self) -> None:
        """Ignore the response. The next heartbeat may be sent immediately."""
        self._timer.dropped()

    def again(self, now_ms: int) -> None:
        """Heartbeat again immediately, or after the back-off if that did not help the last time."""
        self._timer.again(now_ms)

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long until the next heartbeat is due."""
        remaining_ms = self._timer.remaining_ms(now_ms)
        if self._early_ms is None:
            return remaining_ms
        # An early heartbeat does not pass over the back-off: after a failure, the coordinator gets its pause.
        early_ms = max(0, self._early_ms - now_ms, self._backoff.remaining_ms(now_ms))
        return min(remaining_ms, early_ms)
