"""The records of a topic with a delay that a member has in hand before their time, and how many more it fetches.

The records of a partition become ready in the order of their offsets, if the brokers set their timestamps. So a member
holds the first few only, and nobody acquires those behind them: no window fills, whatever the rate.
"""

import heapq
from collections.abc import Callable, Iterator
from itertools import count
from typing import Generic, TypeVar

__all__ = ["LARGEST_STEP", "DelayedRecords", "FetchSteps"]

T = TypeVar("T")

_HELD_PER_PARTITION = 2
LARGEST_STEP = 500
"""The most records of a fetch. If it overtakes those that are ready, so many are in hand before their time."""


class FetchSteps:
    """The sizes of fetches: one record first, and twice as many after each fetch of which all records were ready.

    A fetch with any record that was not ready, and one without records, is followed by a fetch of one record.
    """

    def __init__(self) -> None:
        self._step = 1
        self._ready = self._early = 0

    @property
    def next_size(self) -> int:
        """The most records of the next fetch."""
        return self._step

    def arrived(self, *, is_ready: bool) -> None:
        """Note a record of a fetch."""
        self._ready += is_ready
        self._early += not is_ready

    def ended(self) -> None:
        """Note that a fetch has ended."""
        is_behind = self._ready > 0 and self._early == 0
        self._step = min(2 * self._step, LARGEST_STEP) if is_behind else 1
        self._ready = self._early = 0


class DelayedRecords(Generic[T]):
    """Records in hand before their time, the earliest first.

    The driver sets `wall_ahead_ms` and `partitions`, which may change at any time.

    Attributes:
        fetches: The sizes of fetches.
        wall_ahead_ms: How far the time since the epoch is ahead of the time that `now_ms` arguments have.
        partitions: The number of partitions that this member reads.
        unready: How many of the records wait for the end of their delay.
    """

    def __init__(self) -> None:
        self.fetches = FetchSteps()
        self.wall_ahead_ms = 0
        self.partitions = 1
        self.unready = 0
        self._heap: list[tuple[int, int, bool, T]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[T]:
        return (record for _, _, _, record in self._heap)

    def wall_ms(self, now_ms: int) -> int:
        """Return the time since the epoch."""
        return now_ms + self.wall_ahead_ms

    @property
    def wanted(self) -> int:
        """The most records to fetch now; 0 while enough of those in hand are not ready."""
        return 0 if self.unready >= _HELD_PER_PARTITION * self.partitions else self.fetches.next_size

    def add(self, record: T, at_ms: int, *, is_ready: bool) -> None:
        """Add a record.

        Args:
            record: The record.
            at_ms: When to look at it again, in milliseconds since the epoch.
            is_ready: Whether its delay is over. Such records do not keep others from being fetched.
        """
        heapq.heappush(self._heap, (at_ms, next(self._numbers), is_ready, record))
        self.unready += not is_ready

    @property
    def next_ms(self) -> int | None:
        """The time when to look at the first record, as `now_ms` arguments have it; None without records."""
        return self._heap[0][0] - self.wall_ahead_ms if self._heap else None

    def take_due(self, now_ms: int) -> T | None:
        """Take a record whose time has come; None if there is none."""
        if not self._heap or self._heap[0][0] > self.wall_ms(now_ms):
            return None
        _, _, is_ready, record = heapq.heappop(self._heap)
        self.unready -= not is_ready
        return record

    def remove(self, matches: Callable[[T], bool]) -> list[T]:
        """Remove the records that match, and return them, the earliest first."""
        removed = sorted(entry for entry in self._heap if matches(entry[3]))
        if removed:
            self._heap = [entry for entry in self._heap if not matches(entry[3])]
            heapq.heapify(self._heap)
            self.unready -= sum(not is_ready for _, _, is_ready, _ in removed)
        return [record for _, _, _, record in removed]
