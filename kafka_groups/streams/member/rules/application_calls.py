"""The deadline until which an application must call its member again."""

from kafka_groups.client.requests import NEVER_MS

__all__ = ["ApplicationCalls"]


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

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long until the application is overdue; 0 if it is."""
        if self._deadline_ms is None or self.is_waiting:
            return NEVER_MS
        return max(0, self._deadline_ms - now_ms)
