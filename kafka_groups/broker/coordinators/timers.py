"""Deadlines of a shard, by key. They are soft state and are lost with the coordinator."""

import heapq
from collections.abc import Hashable, Iterator
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["Timers"]


class _Ordered(Hashable, Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


K = TypeVar("K", bound=_Ordered)


class Timers(Generic[K]):
    """At most one deadline per key. Of two that pass at the same time, the one with the smaller key comes first.

    A heap has an entry for each key. If a deadline moves into the future, as with every heartbeat, the entry stays
    where it is, and moves when it reaches the top.
    """

    def __init__(self) -> None:
        self._deadlines_ms: dict[K, int] = {}
        self._heap: list[tuple[int, K]] = []
        self._entries_ms: dict[K, int] = {}

    def __len__(self) -> int:
        """Number of deadlines."""
        return len(self._deadlines_ms)

    def __iter__(self) -> Iterator[K]:
        """Return the keys that have a deadline."""
        return iter(self._deadlines_ms)

    def __contains__(self, key: object) -> bool:
        """Return whether a key has a deadline."""
        return key in self._deadlines_ms

    def set(self, key: K, deadline_ms: int) -> None:
        """Set or move a deadline."""
        self._deadlines_ms[key] = deadline_ms
        entry_ms = self._entries_ms.get(key)
        # A later deadline needs no entry: `next_deadline_ms` moves the old one when its time has come.
        if entry_ms is None or deadline_ms < entry_ms:
            self._push(key, deadline_ms)

    def cancel(self, key: K) -> None:
        """Drop a deadline, if there is one."""
        self._deadlines_ms.pop(key, None)

    def next_deadline_ms(self) -> int | None:
        """Return the earliest deadline."""
        while self._heap:
            entry_ms, key = self._heap[0]
            deadline_ms = self._deadlines_ms.get(key)
            if entry_ms == deadline_ms:
                return entry_ms
            # The entry is out of date: its key was cancelled, or has a later deadline. Of a key that was set to an
            # earlier time there may be a second entry, which `_entries_ms` tells from the current one.
            heapq.heappop(self._heap)
            if self._entries_ms.get(key) == entry_ms:
                del self._entries_ms[key]
                if deadline_ms is not None:
                    self._push(key, deadline_ms)
        return None

    def take_due(self, now_ms: int) -> K | None:
        """Return the key whose deadline has passed first, and drop the deadline. None: no deadline has passed."""
        earliest_ms = self.next_deadline_ms()
        if earliest_ms is None or earliest_ms > now_ms:
            return None
        _, key = heapq.heappop(self._heap)
        del self._deadlines_ms[key], self._entries_ms[key]
        return key

    def _push(self, key: K, deadline_ms: int) -> None:
        self._entries_ms[key] = deadline_ms
        heapq.heappush(self._heap, (deadline_ms, key))
