"""Deadlines by key, with fast access to the earliest one."""

import heapq
from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["Deadlines"]

K = TypeVar("K", bound=Hashable)


class Deadlines(Generic[K]):
    """At most one deadline per key.

    A heap. Outdated entries are dropped when they reach the top, so that moving a deadline needs no search.
    """

    def __init__(self) -> None:
        self._deadlines: dict[K, int] = {}
        self._heap: list[tuple[int, int, K]] = []
        self._count = 0  # breaks ties, so that keys need no order

    def __len__(self) -> int:
        """Number of keys that have a deadline."""
        return len(self._deadlines)

    def set(self, key: K, deadline_ms: int | None) -> None:
        """Set the deadline of a key. None removes it."""
        if deadline_ms is None:
            self._deadlines.pop(key, None)
        elif self._deadlines.get(key) != deadline_ms:
            self._deadlines[key] = deadline_ms
            self._count += 1
            heapq.heappush(self._heap, (deadline_ms, self._count, key))

    def earliest_ms(self) -> int | None:
        """Return the earliest deadline."""
        while self._heap:
            deadline_ms, _, key = self._heap[0]
            if self._deadlines.get(key) == deadline_ms:
                return deadline_ms
            heapq.heappop(self._heap)
        return None

    def due(self, now_ms: int) -> list[K]:
        """Return the keys whose deadlines have passed, earliest first. They keep their deadlines."""
        due = [(deadline_ms, key) for key, deadline_ms in self._deadlines.items() if deadline_ms <= now_ms]
        return [key for _, key in sorted(due, key=lambda entry: entry[0])]
