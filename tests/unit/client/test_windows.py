"""Rates, averages and maxima of the last half minute or so."""

import math
import random

import pytest

from kafka_groups.client.windows import EventCount, Windows

SECOND_MS = 1_000


def test_nothing_recorded() -> None:
    windows = Windows()
    assert windows.per_second(5) == 0
    assert math.isnan(windows.average(5))
    assert math.isnan(windows.largest(5))


def test_a_rate_is_never_of_less_than_a_window() -> None:
    windows = Windows()
    windows.record(60, 1_000)
    assert windows.per_second(1_000) == 2  # 60 in the 30 seconds that a window lasts
    assert windows.per_second(16_000) == pytest.approx(60 / 45)
    assert windows.times_per_second(16_000) == pytest.approx(1 / 45)


def test_a_steady_rate_is_what_it_is() -> None:
    windows = Windows()
    for second in range(600):
        windows.record(7, second * SECOND_MS)
        if second > 60:
            assert windows.per_second(second * SECOND_MS) == pytest.approx(7, rel=0.04)


def test_old_values_are_forgotten() -> None:
    windows = Windows()
    windows.record(100, 0)
    for second in range(40, 80):
        windows.record(1, second * SECOND_MS)
    assert windows.largest(79 * SECOND_MS) == 1
    assert math.isnan(windows.largest(1_000 * SECOND_MS))
    assert windows.per_second(1_000 * SECOND_MS) == 0


@pytest.mark.parametrize("seed", range(5))
def test_average_and_maximum_are_of_values_of_the_last_minute(seed: int) -> None:
    rng, windows, now_ms = random.Random(seed), Windows(), 0
    values: list[tuple[int, float]] = []
    for _ in range(500):
        now_ms += rng.randrange(3_000)
        values.append((now_ms, rng.random()))
        windows.record(values[-1][1], now_ms)
        most = [value for at_ms, value in values if at_ms > now_ms - 60_000]
        assert values[-1][1] <= windows.largest(now_ms) <= max(most)
        assert min(most) <= windows.average(now_ms) <= max(most)


def test_events_are_counted_since_ever_and_lately() -> None:
    events = EventCount()
    events.add(4, 0)
    events.add(2, 100_000)
    assert events.total == 6
    assert events.recent.per_second(100_000) == pytest.approx(2 / 30)
    assert events.recent.average(100_000) == 2
