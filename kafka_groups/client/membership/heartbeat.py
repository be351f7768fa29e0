"""When to heartbeat: the interval that the coordinator asks for, and the back-off while it cannot be reached."""

from kafka_groups.client.backoff import Backoff

__all__ = ["HeartbeatTimer"]


class HeartbeatTimer:
    """The moment of the next heartbeat; never two at a time.

    Args:
        backoff: Pace of attempts while they fail.
    """

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._interval_ms = 0
        self._next_ms: int | None = None
        self.in_flight = False

    @property
    def interval_ms(self) -> int:
        """The interval that the coordinator asked for; 0 before its first answer."""
        return self._interval_ms

    def now(self) -> None:
        """Heartbeat as soon as the back-off allows."""
        self._next_ms = None

    def sent(self, now_ms: int) -> None:
        """A heartbeat left."""
        self.in_flight = True
        self._next_ms = now_ms + self._interval_ms

    def answered(self, interval_ms: int, throttle_time_ms: int) -> None:
        """The coordinator answered without an error; the interval counts from when the heartbeat was sent."""
        self.in_flight = False
        if self._next_ms is not None:
            self._next_ms += interval_ms - self._interval_ms
        self._interval_ms = interval_ms
        self._backoff.succeeded()
        if throttle_time_ms and self._next_ms is not None:
            self._next_ms += throttle_time_ms

    def failed(self, now_ms: int) -> None:
        """The heartbeat failed: the next one waits for the back-off only."""
        self.in_flight = False
        self._next_ms = None
        self._backoff.failed(now_ms)

    def dropped(self) -> None:
        """The answer calls for another heartbeat at once (a new coordinator, joining again)."""
        self.in_flight = False
        self._next_ms = None

    def remaining_ms(self, now_ms: int) -> int:
        """How long until the next heartbeat is due."""
        due_ms = 0 if self._next_ms is None else max(0, self._next_ms - now_ms)
        return max(due_ms, self._backoff.remaining_ms(now_ms))
