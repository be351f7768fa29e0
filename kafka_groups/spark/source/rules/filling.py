"""Rules for closing a batch: decide how long a source waits for more records. No I/O."""

from attrs import define

__all__ = ["JOIN_TIMEOUT_MS", "Filling", "Saturation"]

JOIN_TIMEOUT_MS = 30_000
"""The longest time to join the group, for a run that has one batch or ends when no records arrive."""

_LINGER_MS = 10
_ALIKE = 1.25
_LOOKS_AGAIN_AFTER = 20
_LONGEST_LINGER_MS = 100


@define
class Filling:
    """A batch while it is being filled.

    After the first records, more arrive with the next response, or only after others are acknowledged, because locks
    are limited. So the batch is closed when a leader has responded without records. It must wait for that response: if
    the leader is far away, a batch that is closed sooner has the records of only one fetch, while most locks are free.

    Attributes:
        poll_timeout_ms: The longest wait for the first record.
        fetches: Fetches that had been answered when this began or when records last arrived.
        began_ms: Time when this began, or last started to count again.
        join_deadline_ms: Until when to wait for the answer to the first fetch.
        came_ms: Time when records last arrived.
    """

    poll_timeout_ms: int
    fetches: int
    began_ms: int
    join_deadline_ms: int
    came_ms: int

    @classmethod
    def begin(cls, poll_timeout_ms: int, fetches: int, join_timeout_ms: int, now_ms: int) -> "Filling":
        """Start to fill a batch; `join_timeout_ms` is how long to wait for the group instead of finding nothing."""
        return cls(poll_timeout_ms, fetches, now_ms, now_ms + join_timeout_ms, now_ms)

    def wait_ms(self, until_ready_ms: int | None, now_ms: int) -> int:
        """Return how long the next poll may wait.

        Args:
            until_ready_ms: Time when the held records may go to Spark; None if there are none.
            now_ms: Now.
        """
        # There are records for a batch already. A short poll finds those that have arrived in the meantime.
        if until_ready_ms == 0:
            return _LINGER_MS
        left_ms = max(1, self.began_ms + self.poll_timeout_ms - now_ms)
        return left_ms if until_ready_ms is None else min(left_ms, until_ready_ms)

    def polled(self, fetches: int, now_ms: int, *, came: bool) -> None:
        """Note that a poll ended, with or without records, and how many fetches were answered."""
        if came:
            self.came_ms, self.fetches = now_ms, fetches
        # The time also begins anew until the group has assigned partitions and a leader has answered: until then, an
        # empty poll does not show that there are no records.
        if came or (fetches == 0 and now_ms < self.join_deadline_ms):
            self.began_ms = now_ms

    def go_on(self, now_ms: int) -> None:
        """Continue although it was over."""
        self.began_ms = now_ms

    def is_over(self, until_ready_ms: int | None, fetches: int, now_ms: int) -> bool:
        """Return whether to close the batch after an empty poll."""
        is_answered = fetches > self.fetches or now_ms - self.came_ms >= _LONGEST_LINGER_MS
        return (until_ready_ms == 0 and is_answered) or now_ms - self.began_ms >= self.poll_timeout_ms


@define
class Saturation:
    """The size of the last batch after which a leader had no more records: with a backlog, what the locks allow.

    A leader without more records delays its response. So a batch of about this size is closed at once. Now and then it
    is not, because more records may have become available.

    Attributes:
        rows: The records of the last batch that was closed because no more arrived; None before that.
    """

    rows: int | None = None
    _times: int = 0

    def closed(self, rows: int) -> None:
        """Note that a batch was closed because no more records arrived."""
        self.rows = rows
        self._times = 0

    def is_reached(self, rows: int) -> bool:
        """Return whether to close a batch of this size without waiting for another response."""
        if self.rows is None or not self.rows <= rows <= self.rows * _ALIKE or self._times >= _LOOKS_AGAIN_AFTER:
            return False
        self._times += 1
        return True
