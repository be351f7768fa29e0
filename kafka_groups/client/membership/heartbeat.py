"""When to heartbeat: the interval that the coordinator asks for, and the back-off while it cannot be reached."""

from kafka_groups.client.backoff import Backoff

__all__ = ["HeartbeatTimer"]

_FIRST_IMPATIENCE_MS = 100


class HeartbeatTimer:
    """The moment of the next heartbeat; never two at a time.

    Args:
        backoff: Pace of attempts while they fail.
    """

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._impatience_ms = _FIRST_IMPATIENCE_MS
        self._interval_ms = 0
        self._next_ms: int | None = None
        self._repeats = 0
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

    def answered(self, interval_ms: int, throttle_time_ms: int, now_ms: int) -> None:
        """The coordinator answered without an error; the interval counts from when the heartbeat was sent."""
        self.in_flight = False
        self._repeats = 0
        if self._next_ms is not None:
            self._next_ms += interval_ms - self._interval_ms
        self._interval_ms = interval_ms
        self._backoff.succeeded()
        self._backoff.wait(throttle_time_ms, now_ms)

    def impatient(self, now_ms: int) -> None:
        """Something is about to happen at the coordinator: ask again soon, less soon each time in a row.

        A member that joined has no assignment before its share-partitions are initialised and the assignor ran,
        usually both within a second; waiting for the interval would delay its first record by five.
        """
        if self._next_ms is not None:
            self._next_ms = min(self._next_ms, now_ms + self._impatience_ms)
        self._impatience_ms *= 2

    def patient(self) -> None:
        """What was waited for has happened."""
        self._impatience_ms = _FIRST_IMPATIENCE_MS

    def failed(self, now_ms: int) -> None:
        """The heartbeat failed: the next one waits for the back-off only."""
        self.in_flight = False
        self._next_ms = None
        self._backoff.failed(now_ms)

    def dropped(self) -> None:
        """Ignore the answer; the next heartbeat may go at once."""
        self.in_flight = False
        self._next_ms = None

    def again(self, now_ms: int) -> None:
        """The answer calls for another heartbeat at once (a new coordinator, joining again).

        When that brings the same answer, and again, the back-off applies: a coordinator that keeps saying so is not
        asked without end.
        """
        self.dropped()
        if self._repeats > 0:
            self._backoff.failed(now_ms)
        self._repeats += 1

    def remaining_ms(self, now_ms: int) -> int:
        """How long until the next heartbeat is due."""
        due_ms = 0 if self._next_ms is None else max(0, self._next_ms - now_ms)
        return max(due_ms, self._backoff.remaining_ms(now_ms))
