"""Reminds the program of events that it has not confirmed. Until it does, the member gets no tasks."""

from kafka_groups.client.requests import NEVER_MS

__all__ = ["ConfirmationReminder"]

_FIRST_MS, _LONGEST_MS = 30_000, 300_000


class ConfirmationReminder:
    """The times of reminders: after 30 seconds, and then after twice as long each time, up to five minutes.

    Attributes:
        since_ms: Since when an event has not been confirmed; None if there is none.
    """

    def __init__(self) -> None:
        self.since_ms: int | None = None
        self._next_ms = 0

    def is_due(self, now_ms: int, *, awaits_confirmation: bool) -> bool:
        """Note whether events are not confirmed, and return whether to remind the program of them."""
        if not awaits_confirmation:
            self.since_ms = None
        elif self.since_ms is None:
            self.since_ms, self._next_ms = now_ms, now_ms + _FIRST_MS
        elif now_ms >= self._next_ms:
            self._next_ms = now_ms + min(now_ms - self.since_ms + _FIRST_MS, _LONGEST_MS)
            return True
        return False

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long until the next reminder."""
        return NEVER_MS if self.since_ms is None else max(0, self._next_ms - now_ms)
