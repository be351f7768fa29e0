"""How long a drain keeps acquiring, and what ended it."""

from typing import Literal

from attrs import frozen

from kafka_groups.spark.idleness import Idleness

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

    When a limit is reached, what was fetched ahead is still taken, as giving it back would cost it a delivery.

    Args:
        limits: What ends it.
        now_ms: When it began.
    """

    def __init__(self, limits: DrainLimits, now_ms: int) -> None:
        self._limits = limits
        self._started_ms = self._polled_ms = now_ms
        self._idleness = Idleness()
        self._records = 0
        self._bytes = 0
        self._last_count = 0

    def next_timeout_ms(self, now_ms: int) -> int | None:
        """How long the next poll may wait: 0 for available records only, None if there should be no further poll."""
        self._polled_ms = now_ms
        remaining_ms = self._started_ms + self._limits.max_ms - now_ms
        if self._idleness.since_ms is not None:
            remaining_ms = min(remaining_ms, self._idleness.since_ms + self._limits.idle_ms - now_ms)
        if remaining_ms > 0 and not self._is_full:
            return min(self._idleness.longest_poll_ms, remaining_ms)
        return 0 if self._last_count else None

    @property
    def _is_full(self) -> bool:
        return self._records >= self._limits.max_records or self._bytes >= self._limits.max_bytes

    def polled(self, count: int, fetched_bytes: int, *, is_ready: bool) -> None:
        """A poll returned.

        Args:
            count: How many records came.
            fetched_bytes: How much was fetched since the drain began.
            is_ready: Whether there were partitions to fetch from when it began, and a leader had answered: else
                nothing coming means nothing.
        """
        self._records += count
        self._bytes = fetched_bytes
        self._last_count = count
        self._idleness.polled(count, self._polled_ms, is_answered=is_ready)

    @property
    def expects_another(self) -> bool:
        """Whether a poll after the next one is likely, so that fetching ahead is of use."""
        is_near = self._bytes > self._limits.max_bytes // 2 or self._records > self._limits.max_records // 2
        return not is_near

    def stopped_by(self, now_ms: int) -> StoppedBy:
        """What ended it."""
        if self._records >= self._limits.max_records:
            return "records"
        if self._bytes >= self._limits.max_bytes:
            return "bytes"
        is_idle = self._idleness.since_ms is not None and now_ms - self._idleness.since_ms >= self._limits.idle_ms
        return "idle" if is_idle else "time"
