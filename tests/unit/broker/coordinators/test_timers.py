"""Deadlines of a shard: the earliest first, and a table that does not grow with every heartbeat."""

import random

from kafka_groups.broker.coordinators.timers import Timers

A, B = "a", "b"


def test_deadlines_move_both_ways_and_can_be_cancelled() -> None:
    timers = Timers[str]()
    timers.set(A, 50)
    timers.set(B, 40)
    timers.set(A, 30)
    assert timers.next_deadline_ms() == 30
    timers.set(A, 50)
    assert timers.next_deadline_ms() == 40
    timers.cancel(B)
    timers.cancel(B)
    assert timers.next_deadline_ms() == 50
    assert timers.take_due(49) is None
    assert timers.take_due(50) == A
    assert timers.take_due(50) is None
    assert timers.next_deadline_ms() is None
    assert len(timers) == 0


def test_it_does_what_a_dictionary_does() -> None:
    chance = random.Random(7)
    keys = [str(number) for number in range(6)]
    timers, expected = Timers[str](), dict[str, int]()
    for now_ms in range(3_000):
        key, action = chance.choice(keys), chance.randrange(4)
        if action == 0:
            timers.cancel(key)
            expected.pop(key, None)
        elif action < 3:
            deadline_ms = now_ms + chance.randrange(1, 40)
            timers.set(key, deadline_ms)
            expected[key] = deadline_ms
        while (due := timers.take_due(now_ms)) is not None:
            assert expected.pop(due) <= now_ms
        assert all(deadline_ms > now_ms for deadline_ms in expected.values())
        assert timers.next_deadline_ms() == min(expected.values(), default=None)
        assert len(timers) == len(expected)


def test_heartbeats_do_not_make_the_heap_grow() -> None:
    timers = Timers[str]()
    for now_ms in range(1_000):
        timers.set(A, now_ms + 10_000)
        timers.set(B, now_ms + 10_000)
    assert len(timers._heap) == 2


def test_the_earliest_is_taken_first() -> None:
    timers = Timers[str]()
    for key, deadline_ms in (("a", 30), ("b", 10), ("c", 20), ("d", 40)):
        timers.set(key, deadline_ms)
    assert [timers.take_due(30) for _ in range(4)] == ["b", "c", "a", None]
