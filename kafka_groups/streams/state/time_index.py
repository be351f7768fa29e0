"""The rows of a store by their times, for operators that forward what has closed."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

__all__ = ["TimeIndex"]


class TimeIndex:
    """Finds the rows of a span of time without a look at all others.

    Only stores of operators that emit on close have one, as in Java (`RocksDBTimeOrderedWindowSegments`).

    Args:
        rows: The rows that there are, with their times.
    """

    def __init__(self, rows: Iterable[tuple[int, bytes]]) -> None:
        self._rows_at: dict[int, set[bytes]] = {}  # may have rows that were deleted since
        self._times: list[int] = []
        for time_ms, row in rows:
            self.add(time_ms, row)

    def add(self, time_ms: int, row: bytes) -> None:
        """Note a row that was put."""
        rows = self._rows_at.get(time_ms)
        if rows is None:
            rows = self._rows_at[time_ms] = set()
            insort(self._times, time_ms)
        rows.add(row)

    def between(self, first_ms: int, last_ms: int) -> Iterator[set[bytes]]:
        """Iterate over the rows of each time from one to the other, both included."""
        times = self._times
        for time_ms in times[bisect_left(times, first_ms) : bisect_right(times, last_ms)]:
            yield self._rows_at[time_ms]

    def forget_before(self, oldest_ms: int) -> None:
        """Forget the rows of earlier times."""
        times = self._times
        end = bisect_left(times, oldest_ms)
        gone, self._times = times[:end], times[end:]
        for time_ms in gone:
            del self._rows_at[time_ms]
