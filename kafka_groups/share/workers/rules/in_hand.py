"""Records in hand that wait for a slot: fresh ones by arrival, and failed ones until their retry is due."""

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Generic, TypeVar

from kafka_groups.share.workers.rules.steps import OpenRecord

__all__ = ["FreshRecords", "WaitingRecords"]

R = TypeVar("R")


class FreshRecords(Generic[R]):
    """Records that no handler has seen, in lots of one delivery each. A run never spans two lots."""

    def __init__(self) -> None:
        self._lots: deque[Sequence[R]] = deque()
        self._position = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[R]:
        for number, lot in enumerate(self._lots):
            yield from lot[self._position :] if number == 0 else lot

    def firsts(self) -> Iterator[R]:
        """Return the first record of each lot."""
        for number, lot in enumerate(self._lots):
            yield lot[self._position if number == 0 else 0]

    def add(self, lot: Sequence[R]) -> None:
        """Add the records of a delivery, in order."""
        if lot:
            self._lots.append(lot)
            self._count += len(lot)

    def put_back(self, rest: Sequence[R]) -> None:
        """Put the records that a run did not start before all others."""
        if not rest:
            return
        if self._position:
            self._lots[0] = self._lots[0][self._position :]
            self._position = 0
        self._lots.appendleft(rest)
        self._count += len(rest)

    def take(self, most: int) -> Sequence[R]:
        """Take up to that many records of the first lot; empty if there are none."""
        if not self._lots:
            return ()
        lot = self._lots[0]
        taken = lot[self._position : self._position + most]
        self._position += len(taken)
        self._count -= len(taken)
        if self._position >= len(lot):
            self._lots.popleft()
            self._position = 0
        return taken

    def remove(self, matches: Callable[[R], bool]) -> list[R]:
        """Remove the records that match, and return them."""
        removed = [record for record in self if matches(record)]
        if removed:
            kept = [[record for record in lot if not matches(record)] for lot in self._all_lots()]
            self._lots = deque(lot for lot in kept if lot)
            self._position = 0
            self._count -= len(removed)
        return removed

    def _all_lots(self) -> list[Sequence[R]]:
        lots = list(self._lots)
        return [lots[0][self._position :], *lots[1:]] if lots else []


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
        """When the first is due; None without any."""
        return self._heap[0][0] if self._heap else None

    def take_due(self, now_ms: int) -> OpenRecord[R] | None:
        """Take the record that has been due for longest; None if none is due."""
        return heapq.heappop(self._heap)[2] if self._heap and self._heap[0][0] <= now_ms else None

    def take_first(self) -> OpenRecord[R] | None:
        """Take the record that is due first, even before its time."""
        return heapq.heappop(self._heap)[2] if self._heap else None

    def remove(self, matches: Callable[[OpenRecord[R]], bool]) -> list[OpenRecord[R]]:
        """Remove the records that match, and return them, the earliest first."""
        removed = sorted(entry for entry in self._heap if matches(entry[2]))
        if removed:
            self._heap = [entry for entry in self._heap if not matches(entry[2])]
            heapq.heapify(self._heap)
        return [opened for _, _, opened in removed]
