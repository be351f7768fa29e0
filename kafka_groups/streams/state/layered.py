"""The uncommitted changes of one table over its committed state."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import merge

from kafka_groups.streams.state.engine import KeyedBytes, MemoryTable, Table

__all__ = ["LayeredTable"]


class LayeredTable:
    """A table whose changes are kept apart until they are committed.

    Reads see the changes. A scan is a snapshot: later changes don't alter it.

    Attributes:
        changes: The changes since the last commit. None marks deleted keys.
    """

    def __init__(self, committed: Table) -> None:
        self._committed = committed
        self._get_committed = committed.get
        # A scan of a table in memory is a copy of what it finds; others read on.
        self._walk_committed = committed.walk if isinstance(committed, MemoryTable) else committed.scan
        self.changes: dict[bytes, bytes | None] = {}
        self._ordered: list[bytes] | None = None  # the keys of changes, from the first scan on

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        # A deleted key is None here, and must not be looked up below.
        if key in self.changes:
            return self.changes[key]
        return self._get_committed(key)

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set the value of a key; None deletes it."""
        if self._ordered is not None and key not in self.changes:
            insort(self._ordered, key)
        self.changes[key] = value

    def scan(self, low: bytes = b"", high: bytes | None = None) -> list[KeyedBytes]:
        """Return the pairs with `low` <= key < `high` in the order of their keys. None: to the last key."""
        return self._with_changes(list(self._committed.scan(low, high)), low, high)

    def walk(self, low: bytes, high: bytes, *, reverse: bool = False) -> Iterator[KeyedBytes]:
        """Iterate over the same pairs, and read no more of them than are asked for. Put nothing while it lasts."""
        committed = self._walk_committed(low, high, reverse=reverse)
        if not self.changes:
            return committed
        changes, ordered = self.changes, self._order()
        first, end = bisect_left(ordered, low), bisect_left(ordered, high)
        places = range(end - 1, first - 1, -1) if reverse else range(first, end)
        kept = (pair for pair in committed if pair[0] not in changes)
        put = ((ordered[at], value) for at in places if (value := changes[ordered[at]]) is not None)
        return merge(kept, put, reverse=reverse)

    def _with_changes(self, committed: list[KeyedBytes], low: bytes, high: bytes | None) -> list[KeyedBytes]:
        if not self.changes:
            return committed
        dirty = self._changed(low, high)
        return list(self._merged(committed, dirty)) if dirty else committed

    def _changed(self, low: bytes, high: bytes | None) -> list[bytes]:
        """Return the keys of changes with `low` <= key < `high`, in their order."""
        ordered = self._order()
        return ordered[bisect_left(ordered, low) : None if high is None else bisect_left(ordered, high)]

    def _order(self) -> list[bytes]:
        """Return the keys of all changes in their order."""
        # Few stores are scanned between two commits, so the order of the changes is made at the first scan, and kept up
        # from then on.
        if self._ordered is None:
            self._ordered = sorted(self.changes)
        return self._ordered

    def forget(self, key: bytes) -> None:
        """Drop the change of one key."""
        del self.changes[key]
        if self._ordered is not None:
            del self._ordered[bisect_left(self._ordered, key)]

    def forget_changes(self) -> None:
        """Drop the changes: the engine has them, or the transaction was aborted."""
        self.changes = {}
        self._ordered = None

    def _merged(self, committed: list[KeyedBytes], dirty: list[bytes]) -> Iterator[KeyedBytes]:
        position = 0
        for key in dirty:
            while position < len(committed) and committed[position][0] < key:
                yield committed[position]
                position += 1
            # The change replaces what the engine has for this key, or deletes it.
            if position < len(committed) and committed[position][0] == key:
                position += 1
            value = self.changes[key]
            if value is not None:
                yield key, value
        yield from committed[position:]
