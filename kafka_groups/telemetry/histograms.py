"""Histograms that take many values at once and can be sent to another process."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
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
    """Counts values by size.

    Attributes:
        bounds: The upper bounds of the buckets in ascending order, without infinity. A bound belongs to its bucket.
        value: The counts and the sum. Any thread may read it, as it is replaced as a whole.
    """

    bounds: tuple[float, ...]
    value: HistogramValue = field(init=False)

    @value.default
    def _empty(self) -> HistogramValue:
        return HistogramValue((0,) * (len(self.bounds) + 1), 0.0)

    def add(self, values: Sequence[float]) -> None:
        """Count some values: one sort, and one search for each bucket."""
        ordered = sorted(values)
        ends = (0, *(bisect_right(ordered, bound) for bound in self.bounds), len(ordered))
        counts = tuple(end - start for start, end in pairwise(ends))
        self.value = self.value.plus(HistogramValue(counts, sum(ordered)))
