"""The choice of a task's next record: the earliest, and among equal ones that of Java's PriorityQueue."""

from typing import cast

from kafka_groups.streams.tasks.queues import PartitionQueue
from kafka_groups.streams.tasks.record_choice import EarliestFirst


class Waiting:
    """A queue of timestamps."""

    def __init__(self, name: str, *timestamps_ms: int) -> None:
        self.name = name
        self.timestamps_ms = list(timestamps_ms)


def taken(*queues: Waiting) -> str:
    """Take all records, each queue offered again with its next one, as tasks do it."""
    earliest, found = EarliestFirst(), []
    for queue in queues:
        earliest.offer(queue.timestamps_ms[0], cast("PartitionQueue", queue))
    while earliest:
        time_ms = earliest.time_ms
        chosen = cast("Waiting", earliest.poll())
        assert chosen.timestamps_ms.pop(0) == time_ms
        found.append(f"{chosen.name}{time_ms}")
        if chosen.timestamps_ms:
            earliest.offer(chosen.timestamps_ms[0], cast("PartitionQueue", chosen))
    return " ".join(found)


def test_the_earliest_record_comes_first() -> None:
    assert taken(Waiting("a", 5, 9), Waiting("b", 3, 7), Waiting("c", 4)) == "b3 c4 a5 b7 a9"


def test_two_queues_with_equal_times_take_turns() -> None:
    assert taken(Waiting("a", 5, 5, 5), Waiting("b", 5, 5, 5)) == "a5 b5 a5 b5 a5 b5"


def test_equal_times_come_in_the_order_of_javas_priority_queue() -> None:
    queues = [
        Waiting("a", 5, 5, 5, 9),
        Waiting("b", 5, 5, 7),
        Waiting("c", 5, 6, 6),
        Waiting("d", 5, 5, 5),
        Waiting("e", 4, 5, 8),
    ]
    # What a program in Java printed that did the same with a PriorityQueue.
    assert taken(*queues) == "e4 b5 e5 b5 a5 d5 a5 d5 a5 d5 c5 c6 c6 b7 e8 a9"


def test_without_queues_there_is_nothing_to_choose() -> None:
    earliest = EarliestFirst()
    assert not earliest
    assert (earliest.time_ms, earliest.poll()) == (None, None)
