"""Chooses the next record of a task: the one with the lowest timestamp, or none while it waits for a partition."""

from collections.abc import Collection

from kafka_groups.streams.tasks.queues import PartitionQueue

__all__ = ["EarliestFirst", "is_ready", "still_idle_ms"]

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
            # A queue does not pass one with an equal timestamp that was there before (PriorityQueue.siftUp in Java).
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
            # It stays above children with an equal timestamp (PriorityQueue.siftDown in Java). Of two equal queues, the
            # one that is polled and offered again therefore ends up below the other, and they alternate.
            if entry[0] <= heap[child][0]:
                break
            heap[place], place = heap[child], child
        heap[place] = entry

    def _earlier_child(self, place: int) -> int:
        left, right = 2 * place + 1, 2 * place + 2
        # Of two equal children Java takes the left one.
        is_right = right < len(self._heap) and self._heap[left][0] > self._heap[right][0]
        return right if is_right else left


def is_ready(empty: Collection[object], read_to_end: Collection[object], idle_ms: int, max_idle_ms: int) -> bool:
    """Return whether a task that has records may process the one with the lowest timestamp (KIP-353, KIP-695).

    Args:
        empty: Its partitions of which no record waits.
        read_to_end: The partitions of which everything is fetched.
        idle_ms: How long it has been waiting since everything is fetched.
        max_idle_ms: `max.task.idle.ms`: -1 waits for nothing, 0 until everything is fetched that the brokers have, more
            so long for records to come.
    """
    # There are three cases, as in Kafka's PartitionGroup.readyToProcess. In the first one nothing keeps the task
    # waiting: every partition has a record, so that the lowest timestamp is known, or -1 switches waiting off and
    # accepts that records of several partitions may be processed out of order.
    if not empty or max_idle_ms < 0:
        return True
    # Second, an empty partition may have records on its broker. The task waits for them without a limit, because to
    # process others first would be a wrong order that could be avoided. Third, all empty partitions are read to their
    # ends: then the task waits for new records for as long as the setting says. Java keeps a deadline for each
    # partition; here one clock for the task starts when the last of them is read to its end.
    return all(each in read_to_end for each in empty) and idle_ms >= max_idle_ms


def still_idle_ms(since_ms: int | None, now_ms: int) -> int:
    """Return how long a task has been waiting."""
    return 0 if since_ms is None else now_ms - since_ms
