"""Exponential back-off with jitter, as a deadline (KIP-580)."""

import random

__all__ = ["BackoffTimer", "FailureDelay"]

_JITTER = 0.2


class FailureDelay:
    """Counts failures in a row, and knows until when to wait after them."""

    def __init__(self) -> None:
        self._failures = 0
        self._until_ms = 0

    @property
    def failures(self) -> int:
        """Failures since the last success."""
        return self._failures

    def succeeded(self) -> None:
        """Note a success: nothing waits, and the next failure starts over with the shortest wait."""
        self._failures = 0
        self._until_ms = 0

    def wait(self, duration_ms: int, now_ms: int) -> None:
        """Allow no attempt for this long, for example during a broker's throttle time."""
        # Two reasons to wait may overlap, such as a back-off and a throttle time. The longer one counts.
        self._until_ms = max(self._until_ms, now_ms + duration_ms)

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long to wait until the next attempt; 0 if it may be made now."""
        return max(0, self._until_ms - now_ms)


class BackoffTimer(FailureDelay):
    """Decides when the next attempt may be made.

    Args:
        initial_ms: Wait after the first failure. Each further failure in a row doubles it.
        max_ms: Longest wait.
        rng: Source of the jitter of ±20 %.
    """

    def __init__(self, initial_ms: int, max_ms: int, rng: random.Random) -> None:
        super().__init__()
        self._initial_ms = initial_ms
        self._max_ms = max_ms
        self._rng = rng

    def failed(self, now_ms: int) -> None:
        """Note that an attempt failed, so the next one has to wait."""
        # KIP-580: the wait doubles with each failure in a row, up to the longest one, with 20 % of jitter, as in
        # ExponentialBackoff.backoff in Java. Without jitter, clients that lost the same broker would all come back at
        # the same moment. The bound on the exponent only keeps the number small.
        term = min(self._initial_ms * 2 ** min(self._failures, 20), self._max_ms)
        self._failures += 1
        self.wait(round(term * self._rng.uniform(1 - _JITTER, 1 + _JITTER)), now_ms)
