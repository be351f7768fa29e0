"""Limits of a drain: decides when it stops acquiring records, and for what reason."""

from typing import Literal

from attrs import frozen

from kafka_groups.spark.idleness import Idleness

__all__ = ["DrainBudget", "DrainLimits", "StoppedBy"]

StoppedBy = Literal["idle", "records", "bytes", "time"]
"""The reason why a drain stopped: no more records arrived, or it reached a limit."""


@frozen
class DrainLimits:
    """The limits of a drain.

    Attributes:
        max_records: The drain stops after this many records.
        max_bytes: The drain stops after it has fetched this many bytes.
        idle_ms: The drain stops when no records have arrived for this long while it had partitions.
        max_ms: The drain stops after this time.
    """

    max_records: int
    max_bytes: int
    idle_ms: int
    max_ms: int


class DrainBudget:
    """Decides whether a drain polls again, and how long the poll may wait.

    When a limit is reached, prefetched records are still polled, because releasing them would cost each a delivery.

    Args:
        limits: The limits that end the drain.
        now_ms: Start of the drain.
    """

    def __init__(self, limits: DrainLimits, now_ms: int) -> None:
        self._limits = limits
        self._started_ms = self._polled_ms = now_ms
        self._idleness = Idleness()
        self._records = 0
        self._bytes = 0
        self._last_count = 0

    def next_timeout_ms(self, now_ms: int) -> int | None:
        """Return how long the next poll may wait: 0 for available records only, None for no further poll."""
        self._polled_ms = now_ms
        remaining_ms = self._started_ms + self._limits.max_ms - now_ms
        # Of the two limits, the nearer one counts: the time of the drain, and the time without records.
        if self._idleness.since_ms is not None:
            remaining_ms = min(remaining_ms, self._idleness.since_ms + self._limits.idle_ms - now_ms)
        if remaining_ms > 0 and not self._is_full:
            return min(self._idleness.longest_poll_ms, remaining_ms)
        return 0 if self._last_count else None

    @property
    def _is_full(self) -> bool:
        return self._records >= self._limits.max_records or self._bytes >= self._limits.max_bytes

    def polled(self, count: int, fetched_bytes: int, *, is_ready: bool) -> None:
        """Note that a poll returned.

        Args:
            count: The number of records.
            fetched_bytes: Bytes fetched since the drain began.
            is_ready: Whether there were partitions to fetch from when it began, and a leader had answered. If not, an
                empty poll does not show that there are no records.
        """
        self._records += count
        self._bytes = fetched_bytes
        self._last_count = count
        self._idleness.polled(count, self._polled_ms, is_answered=is_ready)

    @property
    def expects_another(self) -> bool:
        """True if a poll after the next one is likely, so that prefetching is useful."""
        # What is fetched ahead and not taken is released, which costs a delivery. So nothing is, from half of a limit
        # on.
        is_near = self._bytes > self._limits.max_bytes // 2 or self._records > self._limits.max_records // 2
        return not is_near

    def stopped_by(self, now_ms: int) -> StoppedBy:
        """Return the reason why the drain stopped."""
        if self._records >= self._limits.max_records:
            return "records"
        if self._bytes >= self._limits.max_bytes:
            return "bytes"
        is_idle = self._idleness.since_ms is not None and now_ms - self._idleness.since_ms >= self._limits.idle_ms
        return "idle" if is_idle else "time"
