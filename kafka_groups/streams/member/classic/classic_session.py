"""A member's session in a classic group: when the next heartbeat is due."""

import random
from typing import Final

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.requests import NEVER_MS, OutgoingRequest

__all__ = ["ClassicSession"]

_SETTLING_MS: Final = 2_000
_SHORTEST_MS, _LONGEST_MS = 250, 400


class ClassicSession:
    """The time of the next heartbeat. At most one heartbeat is in flight.

    For two seconds after each assignment, the group *settles*: the member heartbeats every 250 to 400 ms, unless its
    interval is shorter. After that, its interval applies again.

    Args:
        interval_ms: The time between two heartbeats (`heartbeat.interval.ms`).
        backoff: Delays heartbeats after failures.
        rng: Source of the jitter, so that members that were assigned tasks together do not heartbeat together.

    Attributes:
        in_flight: The heartbeat that is waiting for its response.
    """

    def __init__(self, interval_ms: int, backoff: BackoffTimer, rng: random.Random) -> None:
        self._interval_ms = interval_ms
        self._backoff = backoff
        self._rng = rng
        self._next_ms = NEVER_MS
        self._settles_until_ms = 0
        self.in_flight: OutgoingRequest | None = None

    def heard(self, now_ms: int) -> None:
        """Note that the coordinator has heard of the member, which restarts its session."""
        self._next_ms = now_ms + self._pause_ms(now_ms)

    def assigned(self, now_ms: int) -> None:
        """Note an assignment, after which the next round is likely to begin soon."""
        # A member hears of a round only in the answer to a heartbeat, and all others wait for it. When a member has
        # given up a task, the round that brings it to its new owner soon begins. So does the next one when instances
        # start one after the other. Java waits for its interval (Heartbeat.shouldHeartbeat).
        self._settles_until_ms = now_ms + _SETTLING_MS
        self.heard(now_ms)

    def _pause_ms(self, now_ms: int) -> int:
        if now_ms >= self._settles_until_ms:
            return self._interval_ms
        return min(self._interval_ms, self._rng.randint(_SHORTEST_MS, _LONGEST_MS))

    def now(self) -> None:
        """Heartbeat as soon as the back-off allows."""
        self._next_ms = 0

    def sent(self, request: OutgoingRequest, now_ms: int) -> None:
        """Note that a heartbeat was sent."""
        self.in_flight = request
        self.heard(now_ms)

    def answered(self, throttle_time_ms: int, now_ms: int) -> None:
        """Note a response without an error."""
        self.in_flight = None
        self._backoff.succeeded()
        self._backoff.wait(throttle_time_ms, now_ms)

    def refused(self) -> None:
        """Note a response with an error."""
        self.in_flight = None

    def failed(self, now_ms: int) -> None:
        """Note that the heartbeat must be repeated after the back-off."""
        self.in_flight = None
        self._next_ms = 0
        self._backoff.failed(now_ms)

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long until the next heartbeat is due; never while one is in flight."""
        if self.in_flight is not None:
            return NEVER_MS
        return max(0, self._next_ms - now_ms, self._backoff.remaining_ms(now_ms))
