"""The rate of a handler: how many attempts may start now, and for how long records have waited for that."""

from itertools import count
from typing import Final, Protocol

from attrs import frozen

from kafka_groups.share.workers.rules.token_bucket import TokenBucket

__all__ = ["HandlerRate", "RateRule", "WaitingPart"]

_SECOND_MS: Final = 1_000
_AFTER_OTHERS_MS: Final = 5
"""A part whose turn it is has woken up by then, and taken its tokens or given up its turn."""


@frozen
class RateRule:
    """The limit of a handler's attempts in this process.

    Attributes:
        count: So many attempts may start in each period.
        period_ms: The length of a period.
        burst: How many may start at once, after a time with fewer.
    """

    count: int
    period_ms: int
    burst: int

    @property
    def each_second(self) -> int:
        """The attempts of a second, rounded up."""
        return -(-self.count * _SECOND_MS // self.period_ms)


class WaitingPart(Protocol):
    """The records of some topics of a handler, as those of its other topics see them."""

    @property
    def is_retry(self) -> bool:
        """True if its records come from a retry topic."""
        ...

    @property
    def due_ms(self) -> int | None:
        """The time at which its next run may start; None if it does not wait for tokens."""
        ...

    @property
    def claim(self) -> int | None:
        """The order of those that wait, from `next_claim`; None if it has not waited."""
        ...


class HandlerRate:
    """The tokens of one handler. Each attempt takes one, a batch as many as it has records; probes and retries, too.

    The topics of a handler and its retry topics share them, and all belong to one loop. The two kinds take turns while
    both wait.

    Args:
        rule: The limit.
    """

    def __init__(self, rule: RateRule) -> None:
        self._rule = rule
        self._bucket = TokenBucket(rule.count, rule.period_ms, rule.burst)
        self._parts: list[WaitingPart] = []
        self._claims = count()
        self._was_retry = False
        self._waited_ms = self._counted_ms = 0

    def __repr__(self) -> str:
        return f"<HandlerRate {self._bucket!r}>"

    @property
    def largest_batch(self) -> int:
        """The most records of a batch: a larger one could never start."""
        return self._bucket.size

    def tokens(self, now_ms: int) -> int:
        """Return how many attempts may start now."""
        return self._bucket.tokens(now_ms)

    def ahead(self, now_ms: int) -> int:
        """Return how many records are worth holding: as many as may start now, or in a second."""
        return max(self._rule.each_second, self._bucket.tokens(now_ms))

    def take(self, part: WaitingPart, attempts: int, now_ms: int) -> None:
        """Note that attempts start."""
        self._bucket.take(attempts, now_ms)
        self._was_retry = part.is_retry

    def due_ms(self, attempts: int, now_ms: int) -> int:
        """Return the time at which so many attempts may start together."""
        return self._bucket.due_ms(attempts, now_ms)

    # ---------------------------------------------------------------------------------------- whose turn it is

    def enter(self, part: WaitingPart) -> None:
        """Add the records of some topics."""
        self._parts.append(part)

    def leave(self, part: WaitingPart) -> None:
        """Remove a part that has ended."""
        self._parts = [each for each in self._parts if each is not part]

    def next_claim(self) -> int:
        """Return the place of a part that begins to wait, behind all others."""
        return next(self._claims)

    def turn_ms(self, part: WaitingPart, now_ms: int) -> int:
        """Return the time from which on a part may take tokens that are there: now if it has its turn."""
        # Most handlers have no retry topics.
        if len(self._parts) == 1:
            return now_ms
        before = [each.due_ms for each in self._parts if each.due_ms is not None and self._goes_first(each, part)]
        return max(min(before), now_ms + _AFTER_OTHERS_MS) if before else now_ms

    def _goes_first(self, other: WaitingPart, part: WaitingPart) -> bool:
        if other is part or other.claim is None:
            return False
        if other.is_retry is not part.is_retry:
            return part.is_retry is self._was_retry
        return part.claim is None or other.claim < part.claim

    # ---------------------------------------------------------------------------------------- the time of waiting

    def waited(self, since_ms: int, now_ms: int) -> None:
        """Note that records could have started in this time but for the limit."""
        # Parts of a handler wait at the same time. That time counts once.
        self._waited_ms += max(0, now_ms - max(since_ms, self._counted_ms))
        self._counted_ms = max(now_ms, self._counted_ms)

    def take_waited_ms(self) -> int:
        """Return for how long records have waited for the limit since the last call."""
        waited_ms, self._waited_ms = self._waited_ms, 0
        return waited_ms
