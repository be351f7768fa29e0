"""Averages, maxima and rates over 30 to 60 seconds, like those of Kafka's own client."""

import math

from attrs import define, field

__all__ = ["EventCount", "Windows"]

WINDOW_MS = 30_000
_NEVER_MS = -(1 << 60)


@define
class _Window:
    start_ms: int = _NEVER_MS
    total: float = 0.0
    count: int = 0
    largest: float = -math.inf

    def begin(self, now_ms: int) -> None:
        self.start_ms, self.total, self.count, self.largest = now_ms, 0.0, 0, -math.inf


class Windows:
    """Values of two windows of 30 seconds: the current one and the previous one.

    Recording takes constant time. One thread records; any thread may read.
    """

    __slots__ = ("_before", "_current")

    def __init__(self) -> None:
        self._current, self._before = _Window(), _Window()

    def record(self, value: float, now_ms: int, count: int = 1) -> None:
        """Add a value, or the sum of several."""
        window = self._current
        if now_ms - window.start_ms >= WINDOW_MS:
            window = self._turn(now_ms)
        window.total += value
        window.count += count
        if value > window.largest:  # noqa: PLR1730 - a call of max() for each value costs more than the rest
            window.largest = value

    def _turn(self, now_ms: int) -> _Window:
        self._before, self._current = self._current, self._before
        self._current.begin(now_ms)
        return self._current

    def per_second(self, now_ms: int) -> float:
        """Return the sum of the values per second, over the time that the windows span (one window at least)."""
        windows = self._fresh(now_ms)
        return sum(window.total for window in windows) / _seconds_of(windows, now_ms)

    def times_per_second(self, now_ms: int) -> float:
        """Return the number of values per second, over the same time."""
        windows = self._fresh(now_ms)
        return sum(window.count for window in windows) / _seconds_of(windows, now_ms)

    def average(self, now_ms: int) -> float:
        """Return the mean of the values; NaN without values."""
        windows = self._fresh(now_ms)
        count = sum(window.count for window in windows)
        return sum(window.total for window in windows) / count if count else math.nan

    def largest(self, now_ms: int) -> float:
        """Return the largest value; NaN without values."""
        return max((window.largest for window in self._fresh(now_ms)), default=math.nan)

    def _fresh(self, now_ms: int) -> list[_Window]:
        both = (self._current, self._before)
        return [window for window in both if window.count and now_ms - window.start_ms < 2 * WINDOW_MS]


def _seconds_of(windows: list[_Window], now_ms: int) -> float:
    elapsed_ms = now_ms - min((window.start_ms for window in windows), default=now_ms)
    return (elapsed_ms if elapsed_ms >= WINDOW_MS else elapsed_ms + WINDOW_MS) / 1000


@define
class EventCount:
    """Something that happens again and again.

    Attributes:
        total: How often it has happened.
        recent: One value for each time or for several together: how often.
    """

    total: int = 0
    recent: Windows = field(factory=Windows)

    def add(self, count: int, now_ms: int) -> None:
        """Note that it has happened."""
        self.total += count
        self.recent.record(count, now_ms)
