"""Limits of a task: it polls until it has enough records, time is up, or no more records arrive."""

from attrs import frozen

from kafka_groups.spark.idleness import Idleness

__all__ = ["BudgetLimits", "PollBudget"]


@frozen
class BudgetLimits:
    """The limits that end a task.

    Attributes:
        max_records: The task stops polling after this many records; the last poll may return more.
        max_ms: The task stops polling after this time.
        drained_ms: End when no records have arrived for this time while the worker had partitions, and not before; None
            to end after `max_ms` in any case.
    """

    max_records: int
    max_ms: int
    drained_ms: int | None = None


class PollBudget:
    """Decides whether there is another poll, and how long it may wait.

    When the budget is used up, prefetched records are still polled, because releasing them would cost each a delivery.

    Args:
        limits: The limits that end the task.
        now_ms: Start of the task.
    """

    def __init__(self, limits: BudgetLimits, now_ms: int) -> None:
        self._limits = limits
        self._started_ms = now_ms
        self._polled_ms = now_ms
        self._idleness = Idleness()
        self._taken = 0
        self._is_over = False
        self._last_taken: int | None = None
        self._last_cycle_ms = 0

    def next_timeout_ms(self, now_ms: int) -> int | None:
        """Return how long the next poll may wait: 0 for available records only, None for no further poll."""
        self._last_cycle_ms, self._polled_ms = now_ms - self._polled_ms, now_ms
        if not self._is_spent(now_ms):
            return max(1, min(self._idleness.longest_poll_ms, self._remaining_ms(now_ms)))
        # The last poll brought records, so more may be prefetched. An empty one shows that none are.
        return 0 if self._last_taken else None

    def spend(self) -> None:
        """Poll only once more, for available records."""
        self._is_over = True

    def _is_spent(self, now_ms: int) -> bool:
        return self._is_over or self._taken >= self._limits.max_records or self._remaining_ms(now_ms) <= 0

    def _remaining_ms(self, now_ms: int) -> int:
        # There are two cases. A task normally ends after its time. One that runs until the group is drained ends after
        # a time without records instead.
        if self._limits.drained_ms is None or self._idleness.since_ms is None:
            return self._started_ms + self._limits.max_ms - now_ms
        return self._idleness.since_ms + self._limits.drained_ms - now_ms

    def polled(self, count: int, *, is_answered: bool) -> None:
        """Note that a poll returned.

        Args:
            count: The number of records.
            is_answered: Whether the worker has partitions and leaders have answered its fetches. If not, an empty poll
                does not show that there are no records.
        """
        self._taken += count
        self._last_taken = count
        self._idleness.polled(count, self._polled_ms, is_answered=is_answered)

    def expects_another(self, now_ms: int) -> bool:
        """Return whether a poll after the next one is likely, so that prefetching is useful."""
        if self._last_taken is None:
            return True
        is_enough = self._is_over or self._taken + self._last_taken >= self._limits.max_records
        return not is_enough and self._remaining_ms(now_ms) > self._last_cycle_ms

    def is_drained(self, empty_ms: int) -> bool:
        """Return whether no records have arrived for long enough to consider the group drained."""
        return self._limits.drained_ms is not None and empty_ms >= self._limits.drained_ms

    def empty_ms(self, now_ms: int) -> int:
        """Return how long no records have arrived while there were partitions to fetch from."""
        return 0 if self._idleness.since_ms is None else now_ms - self._idleness.since_ms
