"""Java's priority queue."""

import random

import pytest

from kafka_groups.assignment.java_queue import JavaQueue


def test_values_come_out_least_first() -> None:
    values = random.Random(1).choices(range(100), k=500)
    assert list(JavaQueue(lambda value: value, values).drained()) == sorted(values)


def test_equal_values_come_out_as_in_java() -> None:
    """Measured with java.util.PriorityQueue: offered in this order, compared by the number alone."""
    queue = JavaQueue(lambda text: text[0], ["1a", "1b", "1c", "1d"])
    assert list(queue.drained()) == ["1a", "1d", "1c", "1b"]


def test_going_over_a_queue_shows_its_array() -> None:
    queue = JavaQueue(lambda value: value, [5, 4, 3, 2, 1])
    assert list(queue) == [1, 2, 4, 5, 3]
    assert queue.poll() == 1
    assert list(queue) == [2, 3, 4, 5]


def test_an_empty_queue() -> None:
    queue = JavaQueue[int](lambda value: value)
    assert not queue
    with pytest.raises(IndexError):
        queue.poll()
