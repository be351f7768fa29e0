"""How long a drain goes on acquiring, and what ended it."""

from typing import Literal

from attrs import frozen

from kafka_groups.spark.budget import BudgetLimits, PollBudget

__all__ = ["DrainBudget", "DrainLimits", "StoppedBy"]

StoppedBy = Literal["idle", "records", "bytes", "time"]
"""Why a drain acquires no more: nothing came any more, or one of its limits was reached."""


@frozen
class DrainLimits:
    """What ends the acquiring.

    Attributes:
        max_records: Once this many records came.
        max_bytes: Once this much was fetched.
        idle_ms: When nothing came for this long, with partitions to fetch from.
        max_ms: After this time.
    """

    max_records: int
    max_bytes: int
    idle_ms: int
    max_ms: int


class DrainBudget:
    """Decides whether a drain polls once more, and how long that may wait.

    Args:
        limits: What ends it.
        now_ms: When it began.
    """

    def __init__(self, limits: DrainLimits, now_ms: int) -> None:
        self._limits = limits
        self._polls = PollBudget(BudgetLimits(limits.max_records, limits.max_ms, limits.idle_ms), now_ms)
        self._records = 0
        self._bytes = 0
        self._last_count = 0

    def next_timeout_ms(self, now_ms: int) -> int | None:
        """How long the next poll may wait: 0 for what is there only, None when there is to be no further poll."""
        timeout_ms = self._polls.next_timeout_ms(now_ms)
        if self._bytes < self._limits.max_bytes:
            return timeout_ms
        return 0 if self._last_count else None  # what was fetched ahead is taken, as giving it back costs a delivery

    def polled(self, count: int, fetched_bytes: int, now_ms: int, *, is_ready: bool) -> None:
        """A poll returned.

        Args:
            count: How many records came.
            fetched_bytes: How much was fetched since the drain began.
            now_ms: The time.
            is_ready: Whether there were partitions to fetch from when it began, and a leader had answered: else
                nothing coming means nothing.
        """
        self._polls.polled(count, now_ms, is_assigned=is_ready)
        self._records += count
        self._bytes = fetched_bytes
        self._last_count = count

    def expects_another(self, now_ms: int) -> bool:
        """Whether a poll after the next one is likely, so that fetching ahead is of use."""
        return self._bytes < self._limits.max_bytes // 2 and self._polls.expects_another(now_ms)

    def stopped_by(self, now_ms: int) -> StoppedBy:
        """What ended it."""
        if self._records >= self._limits.max_records:
            return "records"
        if self._bytes >= self._limits.max_bytes:
            return "bytes"
        return "idle" if self._polls.empty_ms(now_ms) >= self._limits.idle_ms else "time"
