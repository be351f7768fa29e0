"""The starts of a handler with a rate limit: they wait for tokens, and take them."""

from typing import Any, Final

from kafka_groups.share.workers.rules.handler_rate import HandlerRate
from kafka_groups.share.workers.rules.run_choice import RunChoice

__all__ = ["LimitedStarts"]

_LONG_MS: Final = 1_000
"""Suspects keep others waiting for shorter waits, as for a slow handler."""


class LimitedStarts:
    """Decides whether a run may start now, by its size and the tokens that are there.

    Waiting happens before a record is taken out of what is held: it holds no slot, uses no retry, and nothing counts
    for the breaker.

    Args:
        rate: The tokens, which the topics of a handler share.
        choice: Knows how large the next run is.
        is_retry: Whether the records come from a retry topic.

    Attributes:
        due_ms: When the next run may start; None if it does not wait for tokens.
        claim: Since when it has waited, as a number; None if it has not.
        is_retry: Whether the records come from a retry topic.
    """

    def __init__(self, rate: HandlerRate, choice: RunChoice[Any], *, is_retry: bool = False) -> None:
        self._rate = rate
        self._choice = choice
        self._since_ms = 0
        self.is_retry = is_retry
        self.due_ms: int | None = None
        self.claim: int | None = None
        choice.largest_batch = rate.largest_batch
        rate.enter(self)

    def leave(self) -> None:
        """Leave the tokens to the other topics of the handler."""
        self._rate.leave(self)

    def look(self, now_ms: int) -> None:
        """Note that time has passed. Call this before anything else happens at that time."""
        if self.due_ms is not None:
            self._rate.waited(self._since_ms, now_ms)
            self.due_ms = None

    def may_start(self, now_ms: int) -> bool:
        """Return whether the next run may start. It then has at most as many records as there are tokens."""
        size = self._choice.size_of_next(now_ms)
        self._choice.tokens = self._rate.tokens(now_ms)
        if not size:
            self.claim = None
            return True
        due_ms = max(self._rate.due_ms(size, now_ms), self._rate.turn_ms(self, now_ms))
        if due_ms <= now_ms:
            return True
        self._since_ms, self.due_ms = now_ms, due_ms
        if self.claim is None:
            self.claim = self._rate.next_claim()
        return False

    def waits_long(self, now_ms: int) -> bool:
        """Return whether the next run waits so long for tokens that others must not wait for it."""
        return self.due_ms is not None and self.due_ms > now_ms + _LONG_MS

    def started(self, records: int, now_ms: int) -> None:
        """Take the tokens of a run."""
        self._rate.take(self, records, now_ms)
        self.claim = None

    def ahead(self, now_ms: int) -> int:
        """Return how many records are worth holding: others get the rest sooner."""
        return self._rate.ahead(now_ms)
