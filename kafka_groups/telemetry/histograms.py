"""Histograms that take equal values at once and can be sent to another process."""

from bisect import bisect_left
from typing import Self

from attrs import define, field, frozen

__all__ = ["Histogram", "HistogramValue"]


@frozen
class HistogramValue:
    """A histogram at one moment.

    Attributes:
        counts: The number of values in each bucket, not counted in others; the last bucket has no upper bound.
        total: The sum of all values.
    """

    counts: tuple[int, ...]
    total: float

    def plus(self, other: Self) -> Self:
        """Return the histogram of the values of both, which have the same bounds."""
        counts = tuple(ours + theirs for ours, theirs in zip(self.counts, other.counts, strict=True))
        return type(self)(counts, self.total + other.total)


@define
class Histogram:
    """Counts values by size. One thread adds; any thread may read.

    Attributes:
        bounds: The upper bounds of the buckets in ascending order, without infinity. A bound belongs to its bucket.
    """

    bounds: tuple[float, ...]
    _counts: list[int] = field(init=False)
    _total: float = field(init=False, default=0.0)

    @_counts.default
    def _zeros(self) -> list[int]:
        return [0] * (len(self.bounds) + 1)

    @property
    def value(self) -> HistogramValue:
        """The counts and the sum."""
        return HistogramValue(tuple(self._counts), self._total)

    def add(self, value: float, count: int = 1) -> None:
        """Count a value that occurred so many times."""
        self._total += value * count
        self._counts[bisect_left(self.bounds, value)] += count
