"""A token bucket: it starts full, gets tokens at a fixed rate, and never has more than its size."""

__all__ = ["TokenBucket"]


class TokenBucket:
    """Tokens of which each attempt takes one.

    In any time, at most `size` tokens are taken, and those that come in that time. All of them can be taken, however
    the takings are spread. Numbers are whole, so that nothing is lost by rounding.

    Args:
        count: So many tokens come in each period.
        period_ms: The length of a period, in milliseconds.
        size: The most tokens in the bucket.

    Attributes:
        size: The most tokens in the bucket.
    """

    def __init__(self, count: int, period_ms: int, size: int) -> None:
        self._count = count
        self._period_ms = period_ms
        self.size = size
        # In parts of a token: with `period_ms` parts to a token, `count` parts come in each millisecond.
        self._full = self._parts = size * period_ms
        self._filled_ms: int | None = None

    def __repr__(self) -> str:
        return f"<TokenBucket {self._parts / self._period_ms:.1f} of {self.size}, {self._count}/{self._period_ms} ms>"

    def tokens(self, now_ms: int) -> int:
        """Return how many tokens there are."""
        self._fill(now_ms)
        return self._parts // self._period_ms

    def take(self, tokens: int, now_ms: int) -> None:
        """Take tokens. The caller has made sure that they are there."""
        self._fill(now_ms)
        self._parts -= tokens * self._period_ms

    def due_ms(self, tokens: int, now_ms: int) -> int:
        """Return the time at which there are so many tokens, if none is taken until then; at most `size`."""
        self._fill(now_ms)
        missing = min(tokens, self.size) * self._period_ms - self._parts
        return now_ms + max(0, -(-missing // self._count))

    def _fill(self, now_ms: int) -> None:
        # The first look begins the time. Looks at an earlier time, from members with older clocks, bring nothing.
        since_ms = now_ms if self._filled_ms is None else self._filled_ms
        if now_ms >= since_ms:
            self._parts = min(self._full, self._parts + (now_ms - since_ms) * self._count)
            self._filled_ms = now_ms
