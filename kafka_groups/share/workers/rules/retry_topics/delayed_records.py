"""The records of a topic with a delay that a member has in hand before their time, and how many more it fetches.

The records of a partition become ready in the order of their offsets, if the brokers set their timestamps. So a member
holds the first few only, and nobody acquires those behind them: no window fills, whatever the rate. But a fetch cannot
choose its partition, so while one has records that are due, those of others may be fetched before their time.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import Generic, TypeVar

from kafka_groups.types import TopicIdPartition

__all__ = ["LARGEST_STEP", "DelayedRecords", "FetchSteps"]

T = TypeVar("T")

_HELD_PER_PARTITION = 2
LARGEST_STEP = 500
"""The most records of a fetch, and the most that are fetched before their time because another partition is behind."""


class FetchSteps:
    """The sizes of fetches: one record first, and twice as many after each fetch that brought ready ones.

    A partition is *behind* if all records that came from it are ready by now, so that the next may be ready, too. If
    none is behind, the next fetch is of one record. A fetch that brings only records of other partitions says nothing
    about those that are behind, as brokers take turns between partitions.
    """

    def __init__(self) -> None:
        self._step = 1
        # How many fetches have brought nothing of a partition that is behind.
        self._behind: dict[TopicIdPartition, int] = {}
        self._seen: set[TopicIdPartition] = set()

    @property
    def next_size(self) -> int:
        """The most records of the next fetch."""
        return self._step

    @property
    def is_behind(self) -> bool:
        """True while a partition may have records that are ready."""
        return bool(self._behind)

    def arrived(self, partition: TopicIdPartition, *, is_ready: bool) -> None:
        """Note a record of a fetch, in the order of offsets."""
        if is_ready:
            self._behind[partition] = 0
            self._seen.add(partition)
        else:
            self._behind.pop(partition, None)  # nothing behind it is ready, either

    def became_ready(self, partition: TopicIdPartition) -> None:
        """Note that the last record of a partition that was not ready is ready now."""
        self._behind[partition] = 0

    def ended(self, partitions: int) -> None:
        """Note that a fetch has ended.

        Args:
            partitions: The number of partitions.
        """
        for partition in [each for each in self._behind if each not in self._seen]:
            self._behind[partition] += 1
            # Each partition had its turn, and this one had no more records. What is written to it from now on becomes
            # ready later than all that is in hand.
            if self._behind[partition] >= partitions:
                del self._behind[partition]
        if not self._behind:
            self._step = 1
        elif self._seen:
            self._step = min(2 * self._step, LARGEST_STEP)
        self._seen.clear()

    def found_nothing(self) -> None:
        """Note a fetch that has waited for records, and of which none came."""
        self._behind.clear()
        self._step = 1


class DelayedRecords(Generic[T]):
    """Records in hand before their time, the earliest first.

    The driver sets `wall_ahead_ms` and `partitions`, which may change at any time.

    Attributes:
        fetches: The sizes of fetches.
        wall_ahead_ms: How far the time since the epoch is ahead of the time that `now_ms` arguments have.
        partitions: The number of partitions that this member reads.
    """

    def __init__(self) -> None:
        self.fetches = FetchSteps()
        self.wall_ahead_ms = 0
        self.partitions = 1
        self._heap: list[tuple[int, int, TopicIdPartition | None, T]] = []
        self._unready_in: Counter[TopicIdPartition] = Counter()
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
        # Records that wait in one partition must not keep those that are due in another from being fetched.
        most = _HELD_PER_PARTITION * self.partitions + (LARGEST_STEP if self.fetches.is_behind else 0)
        return self.fetches.next_size if self.unready < most else 0

    @property
    def unready(self) -> int:
        """The number of records that wait for the end of their delay."""
        return self._unready_in.total()

    def add(self, record: T, at_ms: int, *, waits_in: TopicIdPartition | None) -> None:
        """Add a record.

        Args:
            record: The record.
            at_ms: When to look at it again, in milliseconds since the epoch.
            waits_in: Its partition; None if its delay is over, so that it does not keep others from being fetched.
        """
        heapq.heappush(self._heap, (at_ms, next(self._numbers), waits_in, record))
        if waits_in is not None:
            self._unready_in[waits_in] += 1

    def _left(self, partition: TopicIdPartition | None) -> bool:
        """Note that a record does not wait any more. Returns True if it was the last of its partition."""
        if partition is None:
            return False
        self._unready_in[partition] -= 1
        is_last = not self._unready_in[partition]
        if is_last:
            del self._unready_in[partition]
        return is_last

    @property
    def next_ms(self) -> int | None:
        """The time when to look at the first record, as `now_ms` arguments have it; None without records."""
        return self._heap[0][0] - self.wall_ahead_ms if self._heap else None

    def take_due(self, now_ms: int) -> T | None:
        """Take a record whose time has come; None if there is none."""
        if not self._heap or self._heap[0][0] > self.wall_ms(now_ms):
            return None
        _, _, partition, record = heapq.heappop(self._heap)
        if self._left(partition) and partition is not None:
            self.fetches.became_ready(partition)
        return record

    def remove(self, matches: Callable[[T], bool]) -> list[T]:
        """Remove the records that match, and return them, the earliest first."""
        removed = sorted((entry for entry in self._heap if matches(entry[3])), key=lambda entry: entry[:2])
        if removed:
            self._heap = [entry for entry in self._heap if not matches(entry[3])]
            heapq.heapify(self._heap)
            for _, _, partition, _ in removed:
                self._left(partition)
        return [record for _, _, _, record in removed]
