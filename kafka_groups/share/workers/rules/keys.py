"""Order by key: of the records of one key in hand, one runs at a time, in the order of their offsets."""

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from kafka_groups.errors.texts import named
from kafka_groups.share.workers.rules.failures.signals import ParseError

__all__ = ["KeyOrder", "OrderKeyError"]

T = TypeVar("T")


class OrderKeyError(ParseError):
    """The key of a record, which `order_by` returns, is not known, so its handler was not called. It is not retried.

    Args:
        error: What `order_by` raised, or why its result cannot be a key.
    """

    def __init__(self, error: Exception) -> None:
        Exception.__init__(self, f"order_by has no key for the record: {named(error)}")
        self.error = error


class KeyOrder(Generic[T]):
    """Records that wait for others with their key."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, deque[T]] = {}
        self._blocked = 0

    def __len__(self) -> int:
        return self._blocked

    def enters(self, key: Hashable, record: T) -> bool:
        """Return whether a record may go on. If not, it waits until `leaves` returns it."""
        queue = self._waiting.get(key)
        # An entry without waiting records means that the key is held. It is removed when the last record leaves, so the
        # memory is bounded by the records in hand and not by all keys ever seen.
        if queue is None:
            self._waiting[key] = deque()
            return True
        queue.append(record)
        self._blocked += 1
        return False

    def leaves(self, key: Hashable) -> T | None:
        """Note that the record that held a key has ended. Returns the next one of that key, which now holds it."""
        queue = self._waiting[key]
        if not queue:
            del self._waiting[key]
            return None
        self._blocked -= 1
        return queue.popleft()

    def all_blocked(self) -> list[T]:
        """Return the records that wait."""
        return [record for queue in self._waiting.values() for record in queue]

    def remove(self, key: Hashable, record: T) -> bool:
        """Remove a record that waits, because its lock was lost. Returns whether it waited."""
        queue = self._waiting.get(key)
        # The record that holds the key is in no queue. It ends through `leaves`.
        if queue is None or record not in queue:
            return False
        queue.remove(record)
        self._blocked -= 1
        return True
