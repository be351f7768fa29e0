"""A map from offsets to values whose cost depends on the number of runs of equal values, not of offsets."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Generic, TypeVar

from attrs import frozen

__all__ = ["OffsetRange", "Run", "Runs"]

V = TypeVar("V")


@frozen
class OffsetRange:
    """The offsets from `first` to `last`, both included."""

    first: int
    last: int

    @property
    def size(self) -> int:
        """Number of offsets."""
        return self.last - self.first + 1

    def __str__(self) -> str:
        return f"{self.first}..{self.last}"


@frozen
class Run(Generic[V]):
    """The offsets from `first` to `last`, which have the same value."""

    first: int
    last: int
    value: V

    @property
    def size(self) -> int:
        """Number of offsets."""
        return self.last - self.first + 1


class Runs(Generic[V]):
    """Disjoint runs, sorted by offset. Adjacent runs with equal values are merged.

    Uses three parallel lists, so that `bisect` can find an offset.
    """

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._values: list[V] = []

    def __repr__(self) -> str:
        return f"<Runs {', '.join(f'{run.first}..{run.last}: {run.value}' for run in self)}>"

    def __len__(self) -> int:
        """Number of runs."""
        return len(self._firsts)

    def __iter__(self) -> Iterator[Run[V]]:
        """Iterate over all runs. Make a list first if you change any of them."""
        return map(Run, self._firsts, self._lasts, self._values)

    @property
    def first_offset(self) -> int | None:
        """The lowest offset that has a value."""
        return self._firsts[0] if self._firsts else None

    @property
    def last_offset(self) -> int | None:
        """The highest offset that has a value."""
        return self._lasts[-1] if self._lasts else None

    def between(self, first: int, last: int) -> list[Run[V]]:
        """Return the runs of a range, cut to it, without offsets that have no value. A reversed range is empty."""
        if first > last:
            return []
        low, high = self._touched(first, last)
        return [Run(max(self._firsts[i], first), min(self._lasts[i], last), self._values[i]) for i in range(low, high)]

    def cover(self, first: int, last: int) -> Iterator[Run[V | None]]:
        """Return the runs of a range, cut to it, with a run of `None` for each gap."""
        offset = first
        for run in self.between(first, last):
            if run.first > offset:
                yield Run(offset, run.first - 1, None)
            yield Run(run.first, run.last, run.value)
            offset = run.last + 1
        if offset <= last:
            yield Run(offset, last, None)

    def assign(self, first: int, last: int, value: V) -> None:
        """Set the value of a range. Splits and merges runs as needed."""
        low, high = self._touched(first, last)
        pieces = [Run(first, last, value)]
        if low < high and self._firsts[low] < first:
            pieces.insert(0, Run(self._firsts[low], first - 1, self._values[low]))
        if low < high and self._lasts[high - 1] > last:
            pieces.append(Run(last + 1, self._lasts[high - 1], self._values[high - 1]))
        if low > 0 and self._lasts[low - 1] + 1 == pieces[0].first:
            low -= 1
            pieces.insert(0, Run(self._firsts[low], self._lasts[low], self._values[low]))
        if high < len(self) and self._firsts[high] - 1 == pieces[-1].last:
            pieces.append(Run(self._firsts[high], self._lasts[high], self._values[high]))
            high += 1
        self._replace(low, high, _merged(pieces))

    def drop_below(self, offset: int) -> None:
        """Remove the values of all offsets below the given one."""
        below = bisect_left(self._lasts, offset)
        if below:
            self._replace(0, below, [])
        if self._firsts and self._firsts[0] < offset:
            self._firsts[0] = offset

    def _touched(self, first: int, last: int) -> tuple[int, int]:
        """Return the index range of the runs that overlap with a range. The second index is exclusive."""
        return bisect_left(self._lasts, first), bisect_right(self._firsts, last)

    def _replace(self, low: int, high: int, pieces: list[Run[V]]) -> None:
        self._firsts[low:high] = [piece.first for piece in pieces]
        self._lasts[low:high] = [piece.last for piece in pieces]
        self._values[low:high] = [piece.value for piece in pieces]


def _merged(pieces: list[Run[V]]) -> list[Run[V]]:
    merged = pieces[:1]
    for piece in pieces[1:]:
        if piece.value == merged[-1].value:
            merged[-1] = Run(merged[-1].first, piece.last, piece.value)
        else:
            merged.append(piece)
    return merged
