"""How long a source waits for records before it closes a batch; without I/O."""

from attrs import define

__all__ = ["JOIN_TIMEOUT_MS", "Filling", "Saturation"]

JOIN_TIMEOUT_MS = 30_000
"""How long a run that has one batch only, or ends when nothing comes, waits for the group to let it in."""

_LINGER_MS = 10
_ALIKE = 1.25
_LOOKS_AGAIN_AFTER = 20
_LONGEST_LINGER_MS = 100


@define
class Filling:
    """One batch while it is filled.

    Once there are records, more come with the next answer or not before others are acknowledged, as the locks are
    limited. So the batch is closed when a leader has answered without records. Such an answer has to be seen: where it
    is far away, a batch that is closed sooner has the records of one fetch, while most locks are free.

    Attributes:
        poll_timeout_ms: How long to wait for the first record.
        fetches: Fetches that had been answered when this began, or when records came last.
        began_ms: When this began, or last started to count again.
        join_deadline_ms: Until when nothing is decided before the first fetch was answered.
        came_ms: When records came last.
    """

    poll_timeout_ms: int
    fetches: int
    began_ms: int
    join_deadline_ms: int
    came_ms: int

    @classmethod
    def begin(cls, poll_timeout_ms: int, fetches: int, now_ms: int, *, patient: bool) -> "Filling":
        """Start to fill a batch; `patient` if it is better to wait for the group than to find nothing."""
        return cls(poll_timeout_ms, fetches, now_ms, now_ms + (JOIN_TIMEOUT_MS if patient else 0), now_ms)

    def wait_ms(self, until_ready_ms: int | None, now_ms: int) -> int:
        """How long the next poll may wait.

        Args:
            until_ready_ms: When records in hand may go, None when there are none.
            now_ms: Now.
        """
        if until_ready_ms == 0:
            return _LINGER_MS
        left_ms = max(1, self.began_ms + self.poll_timeout_ms - now_ms)
        return left_ms if until_ready_ms is None else min(left_ms, until_ready_ms)

    def polled(self, fetches: int, now_ms: int, *, came: bool) -> None:
        """A poll ended, with records or without; so many fetches were answered by now."""
        if came:
            self.came_ms, self.fetches = now_ms, fetches
        if came or (fetches == 0 and now_ms < self.join_deadline_ms):
            self.began_ms = now_ms

    def go_on(self, now_ms: int) -> None:
        """It was over, but has to continue."""
        self.began_ms = now_ms

    def is_over(self, until_ready_ms: int | None, fetches: int, now_ms: int) -> bool:
        """Whether to close the batch after a poll that brought nothing."""
        is_answered = fetches > self.fetches or now_ms - self.came_ms >= _LONGEST_LINGER_MS
        return (until_ready_ms == 0 and is_answered) or now_ms - self.began_ms >= self.poll_timeout_ms


@define
class Saturation:
    """How many records there were when a leader had no more: as many as the locks allow, while records abound.

    A leader that has no more to give takes its time to say so. A batch of about as many records is closed at once
    instead; now and then it is not, as more may have become possible.

    Attributes:
        rows: The records of the last batch that was closed as no more came; None before.
    """

    rows: int | None = None
    _times: int = 0

    def closed(self, rows: int) -> None:
        """A batch was closed as no more came."""
        self.rows = rows
        self._times = 0

    def is_reached(self, rows: int) -> bool:
        """Whether to close a batch with so many records without another answer."""
        if self.rows is None or not self.rows <= rows <= self.rows * _ALIKE or self._times >= _LOOKS_AGAIN_AFTER:
            return False
        self._times += 1
        return True
