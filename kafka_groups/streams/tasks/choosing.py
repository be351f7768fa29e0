"""Chooses the next record of a task among its partitions: the one with the lowest timestamp."""

from kafka_groups.streams.tasks.queues import PartitionQueue

__all__ = ["EarliestFirst"]

_Timed = tuple[int, PartitionQueue]


class EarliestFirst:
    """Queues in the order of the timestamps of their next records.

    It is a binary heap that moves its entries as Java's `PriorityQueue` does, because the order of queues with equal
    timestamps shows in the results of joins. Python's `heapq` moves them otherwise.
    """

    def __init__(self) -> None:
        self._heap: list[_Timed] = []

    def __bool__(self) -> bool:
        return bool(self._heap)

    @property
    def time_ms(self) -> int | None:
        """The lowest timestamp, or None if there is no queue."""
        return self._heap[0][0] if self._heap else None

    def offer(self, timestamp_ms: int, queue: PartitionQueue) -> None:
        """Add a queue with the timestamp of its next record. It is not in here."""
        heap, entry = self._heap, (timestamp_ms, queue)
        place = len(heap)
        heap.append(entry)
        while place:
            parent = (place - 1) // 2
            if timestamp_ms >= heap[parent][0]:
                break
            heap[place], place = heap[parent], parent
        heap[place] = entry

    def poll(self) -> PartitionQueue | None:
        """Remove and return the queue whose next record has the lowest timestamp. None: there is no queue."""
        heap = self._heap
        if not heap:
            return None
        first, last = heap[0], heap.pop()
        if heap:
            self._sink(last)
        return first[1]

    def _sink(self, entry: _Timed) -> None:
        """Put an entry in place of the first one, below those that are earlier."""
        heap, place = self._heap, 0
        while place < len(heap) // 2:
            child = self._earlier_child(place)
            if entry[0] <= heap[child][0]:
                break
            heap[place], place = heap[child], child
        heap[place] = entry

    def _earlier_child(self, place: int) -> int:
        left, right = 2 * place + 1, 2 * place + 2
        is_right = right < len(self._heap) and self._heap[left][0] > self._heap[right][0]
        return right if is_right else left
