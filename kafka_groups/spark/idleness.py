"""Since when no records have arrived, and how long the next poll may wait."""

from attrs import define

__all__ = ["Idleness"]

_LONGEST_POLL_MS = 1_000
_EARLY_POLL_MS = 100
"""Longest poll before leaders have answered: a longer one would notice late that partitions were assigned."""


@define
class Idleness:
    """Notices when repeated polls return nothing.

    Attributes:
        since_ms: When the first of the empty polls began; None if the last poll returned records, or if its being empty
            does not show that there are none.
        longest_poll_ms: The longest time that the next poll may wait.
    """

    since_ms: int | None = None
    longest_poll_ms: int = _EARLY_POLL_MS

    def polled(self, count: int, began_ms: int, *, is_answered: bool) -> None:
        """Note that a poll returned.

        Args:
            count: The number of records.
            began_ms: Start of the poll.
            is_answered: Whether there were partitions to fetch from, and leaders have answered fetches. If not, an
                empty poll does not show that there are no records.
        """
        self.longest_poll_ms = _LONGEST_POLL_MS if is_answered else _EARLY_POLL_MS
        if count or not is_answered:
            self.since_ms = None
        elif self.since_ms is None:
            self.since_ms = began_ms
