"""Since when nothing has come, and how long the next poll may wait for it."""

from attrs import define

__all__ = ["Idleness"]

_LONGEST_POLL_MS = 1_000
_EARLY_POLL_MS = 100
"""Longest poll before leaders have answered: a longer one would notice late that partitions were assigned."""


@define
class Idleness:
    """Whether nothing comes, as seen by who polls again and again.

    Attributes:
        since_ms: When the first poll of those began that nothing came of; None when something came, or when nothing
            coming means nothing.
        longest_poll_ms: How long the next poll may wait at most.
    """

    since_ms: int | None = None
    longest_poll_ms: int = _EARLY_POLL_MS

    def polled(self, count: int, began_ms: int, *, is_answered: bool) -> None:
        """A poll returned.

        Args:
            count: How many records came.
            began_ms: When it began.
            is_answered: Whether there were partitions to fetch from, and leaders have answered fetches: else nothing
                coming means nothing.
        """
        self.longest_poll_ms = _LONGEST_POLL_MS if is_answered else _EARLY_POLL_MS
        if count or not is_answered:
            self.since_ms = None
        elif self.since_ms is None:
            self.since_ms = began_ms
