"""Decides when to heartbeat: at the coordinator's interval, and after a back-off if a heartbeat fails."""

from kafka_groups.client.backoff import BackoffTimer

__all__ = ["HeartbeatTimer"]

_FIRST_IMPATIENCE_MS = 100


class HeartbeatTimer:
    """The time of the next heartbeat. At most one heartbeat is in flight.

    Args:
        backoff: Delays heartbeats after failures.
    """

    def __init__(self, backoff: BackoffTimer) -> None:
        self._backoff = backoff
        self._impatience_ms = _FIRST_IMPATIENCE_MS
        self._interval_ms = 0
        self._next_ms: int | None = None
        self._repeats = 0
        self.in_flight = False

    @property
    def interval_ms(self) -> int:
        """The interval that the coordinator asked for; 0 before its first response."""
        return self._interval_ms

    def now(self) -> None:
        """Heartbeat as soon as the back-off allows."""
        self._next_ms = None

    def sent(self, now_ms: int) -> None:
        """Note that a heartbeat was sent."""
        self.in_flight = True
        self._next_ms = now_ms + self._interval_ms

    def answered(self, interval_ms: int, throttle_time_ms: int, now_ms: int) -> None:
        """Note a response without an error. The interval counts from when the heartbeat was sent."""
        self.in_flight = False
        self._repeats = 0
        # If somebody has asked for a heartbeat at once while this one was in flight, that still stands. Otherwise a new
        # interval moves the next one.
        if self._next_ms is not None:
            self._next_ms += interval_ms - self._interval_ms
        self._interval_ms = interval_ms
        self._backoff.succeeded()
        # A broker that throttles a client expects it to wait before the next request (KIP-219).
        self._backoff.wait(throttle_time_ms, now_ms)

    def impatient(self, now_ms: int) -> None:
        """Heartbeat again soon, because an assignment is expected. Each call in a row doubles the wait.

        A new member gets its assignment only after its share-partitions are initialised and the assignor has run. Both
        usually take less than a second. Waiting for the whole interval would delay the first record by five seconds.
        """
        # Kafka's own client has no such step: it waits for the interval that the coordinator asked for.
        if self._next_ms is not None:
            self._next_ms = min(self._next_ms, now_ms + self._impatience_ms)
        self._impatience_ms *= 2

    def patient(self) -> None:
        """Note that the expected assignment has arrived."""
        self._impatience_ms = _FIRST_IMPATIENCE_MS

    def failed(self, now_ms: int) -> None:
        """Note that the heartbeat failed. The next one waits only for the back-off."""
        self.in_flight = False
        # As HeartbeatRequestState.onFailedAttempt in Java: the interval does not count, and the back-off alone delays
        # the retry.
        self._next_ms = None
        self._backoff.failed(now_ms)

    def dropped(self) -> None:
        """Ignore the response. The next heartbeat may be sent immediately."""
        self.in_flight = False
        self._next_ms = None

    def again(self, now_ms: int) -> None:
        """Heartbeat again immediately, for example after rejoining or with a new coordinator.

        If that leads to another call, the back-off applies, so that the client does not send heartbeats in a tight
        loop.
        """
        self.dropped()
        # The first repetition is free. The next ones, without a success in between, are as likely to fail as the last.
        if self._repeats > 0:
            self._backoff.failed(now_ms)
        self._repeats += 1

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long until the next heartbeat is due."""
        due_ms = 0 if self._next_ms is None else max(0, self._next_ms - now_ms)
        return max(due_ms, self._backoff.remaining_ms(now_ms))
