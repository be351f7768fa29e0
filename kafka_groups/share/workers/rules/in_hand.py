"""Records in hand that wait for a slot: fresh ones by arrival, and failed ones until their retry is due."""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, islice
from typing import Generic, TypeVar

from kafka_groups.share.workers.rules.steps import OpenRecord

__all__ = ["FreshRecords", "WaitingRecords"]

R = TypeVar("R")


class _Lot(Generic[R]):
    """Records of one delivery. They are created when they are taken, so that few are in memory."""

    def __init__(self, records: Iterator[R], size: int) -> None:
        self._records = records
        self._first: list[R] = []
        self.size = size

    @property
    def first(self) -> R | None:
        """The first record; None if the lot is empty, for example because its records were unreadable."""
        # The announced size includes records that turn out to be unreadable, so a lot may be empty.
        if not self._first and self.size:
            self._first = list(islice(self._records, 1))
            if not self._first:
                self.size = 0
        return self._first[0] if self._first else None

    def take(self, most: int) -> list[R]:
        """Take up to that many records."""
        taken = self._first + list(islice(self._records, max(0, most - len(self._first))))
        self._first, rest = [], taken[most:]
        self._records = chain(rest, self._records) if rest else self._records
        # If fewer records came than were asked for, the iterator is used up, whatever size was announced.
        taken = taken[:most]
        self.size = self.size - len(taken) if len(taken) == most else 0
        return taken


class FreshRecords(Generic[R]):
    """Records that no handler has seen, in lots of one delivery each. A run never spans two lots."""

    def __init__(self) -> None:
        self._lots: deque[_Lot[R]] = deque()

    def __len__(self) -> int:
        return sum(lot.size for lot in self._lots)

    def firsts(self) -> Iterator[R]:
        """Return the first record of each lot."""
        return (first for lot in self._lots if (first := lot.first) is not None)

    def add(self, records: Iterable[R], size: int) -> None:
        """Add the records of a delivery, in order.

        Args:
            records: The records. They are read when they are taken.
            size: How many they are, or more if some turn out to be unreadable.
        """
        if size:
            self._lots.append(_Lot(iter(records), size))

    def put_back(self, rest: Sequence[R]) -> None:
        """Put the records that a run did not start before all others."""
        if rest:
            self._lots.appendleft(_Lot(iter(rest), len(rest)))

    def take(self, most: int) -> Sequence[R]:
        """Take up to that many records of the first lot; empty if there are none."""
        # One lot at a time: a run is acknowledged as one range of offsets of one delivery.
        while self._lots:
            taken = self._lots[0].take(most)
            if not self._lots[0].size:
                self._lots.popleft()
            if taken:
                return taken
        return ()

    def remove(self, matches: Callable[[R], bool]) -> list[R]:
        """Remove the records that match, and return them."""
        removed: list[R] = []
        lots: deque[_Lot[R]] = deque()
        for lot in self._lots:
            records = lot.take(lot.size)
            removed += filter(matches, records)
            kept = [record for record in records if not matches(record)]
            if kept:
                lots.append(_Lot(iter(kept), len(kept)))
        self._lots = lots
        return removed


class WaitingRecords(Generic[R]):
    """Records that wait for their time, the earliest first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, OpenRecord[R]]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[OpenRecord[R]]:
        return (opened for _, _, opened in self._heap)

    def add(self, opened: OpenRecord[R]) -> None:
        """Add a record, to be returned when it is due."""
        heapq.heappush(self._heap, (opened.due_ms, next(self._numbers), opened))

    @property
    def next_due_ms(self) -> int | None:
        """The time when the first is due; None without any."""
        return self._heap[0][0] if self._heap else None

    def due_after(self, now_ms: int) -> int | None:
        """Return when the next record is due after a time; None if none is."""
        # What is overdue waits for a free slot and not for a time. If it counted, the driver would wake up again and
        # again.
        if self._heap and self._heap[0][0] > now_ms:
            return self._heap[0][0]
        return min((due_ms for due_ms, _, _ in self._heap if due_ms > now_ms), default=None)

    def is_due(self, now_ms: int) -> bool:
        """Return whether a record is due."""
        return bool(self._heap) and self._heap[0][0] <= now_ms

    def count_due(self, now_ms: int) -> int:
        """Return how many records are due."""
        return sum(due_ms <= now_ms for due_ms, _, _ in self._heap)

    def take_due(self, now_ms: int) -> OpenRecord[R] | None:
        """Take the record that has been due for longest; None if none is due."""
        return heapq.heappop(self._heap)[2] if self.is_due(now_ms) else None

    def take_longest_there(self, matches: Callable[[OpenRecord[R]], bool]) -> OpenRecord[R] | None:
        """Take the record that has waited for longest among those that match, even before its time."""
        # The number of an entry grows with each `add`, so the lowest one belongs to the record whose last attempt was
        # longest ago. A record that is probed and fails is added anew, and the next probe takes another.
        found = min((entry for entry in self._heap if matches(entry[2])), key=lambda entry: entry[1], default=None)
        if found is None:
            return None
        self._heap.remove(found)
        heapq.heapify(self._heap)
        return found[2]

    def remove(self, matches: Callable[[OpenRecord[R]], bool]) -> list[OpenRecord[R]]:
        """Remove the records that match, and return them, the earliest first."""
        removed = sorted(entry for entry in self._heap if matches(entry[2]))
        if removed:
            self._heap = [entry for entry in self._heap if not matches(entry[2])]
            heapq.heapify(self._heap)
        return [opened for _, _, opened in removed]
