"""The order of Java's priority queue.

It is a binary heap in an array. Values that compare as equal come out in an order that follows from the heap, and going
over the queue shows the array. Kafka Streams does both, so that the order decides which task goes where.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Self, TypeVar

__all__ = ["JavaQueue"]

T = TypeVar("T")


class JavaQueue(Generic[T]):
    """A priority queue, least value first.

    Args:
        key: Returns what values are compared by.
        values: Values that are added one by one.
    """

    def __init__(self, key: Callable[[T], Any], values: Iterable[T] = ()) -> None:
        self._heap: list[tuple[Any, T]] = []
        self._key = key
        for value in values:
            self.offer(value)

    @classmethod
    def of(cls, key: Callable[[T], Any], values: Iterable[T]) -> Self:
        """Return a queue that is made of a collection at once, which gives the array another order."""
        queue = cls(key)
        queue._heap = [(key(value), value) for value in values]
        # As `PriorityQueue(Collection)`, which orders the whole array at once, from the middle to the front.
        for place in range(len(queue._heap) // 2 - 1, -1, -1):
            queue._sink(place)
        return queue

    def __repr__(self) -> str:
        return f"<JavaQueue of {len(self._heap)}>"

    def __bool__(self) -> bool:
        return bool(self._heap)

    def __iter__(self) -> Iterator[T]:
        """Go over the values as they are in the array."""
        return iter([value for _, value in self._heap])

    @property
    def first(self) -> T:
        """The least value. It stays in the queue.

        Raises:
            IndexError: The queue is empty.
        """
        return self._heap[0][1]

    def offer(self, value: T) -> None:
        """Add a value."""
        self._heap.append((self._key(value), value))
        self._rise(len(self._heap) - 1)

    def poll(self) -> T:
        """Take the least value out.

        Raises:
            IndexError: The queue is empty.
        """
        least, last = self._heap[0][1], self._heap.pop()
        if self._heap:
            self._heap[0] = last
            self._sink(0)
        return least

    def remove(self, value: T) -> None:
        """Take a value out, wherever it is.

        Raises:
            ValueError: It is not in the queue.
        """
        place = [each for _, each in self._heap].index(value)
        last = self._heap.pop()
        # As `PriorityQueue.removeAt`: the last value takes the place, sinks, and rises only if it did not sink.
        if place < len(self._heap):
            self._heap[place] = last
            self._sink(place)
            if self._heap[place] is last:
                self._rise(place)

    def drained(self) -> Iterator[T]:
        """Take all values out, least first."""
        while self._heap:
            yield self.poll()

    def _rise(self, place: int) -> None:
        """Let a value change places with those above it that are larger."""
        heap, moved = self._heap, self._heap[place]
        while place and moved[0] < heap[above := (place - 1) // 2][0]:
            heap[place] = heap[above]
            place = above
        heap[place] = moved

    def _sink(self, place: int) -> None:
        """Let a value change places with the smaller one below it, the left one of equals, while that is less."""
        heap, moved = self._heap, self._heap[place]
        while (below := 2 * place + 1) < len(heap):
            if below + 1 < len(heap) and heap[below + 1][0] < heap[below][0]:
                below += 1
            if not heap[below][0] < moved[0]:
                break
            heap[place] = heap[below]
            place = below
        heap[place] = moved
