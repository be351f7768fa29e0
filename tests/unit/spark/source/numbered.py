"""Pieces that are plain numbers, for tests of the micro-batch rules."""

from collections.abc import Sequence
from typing import Self

from attrs import frozen


@frozen(eq=False)
class NumberedPiece:
    """Records that are numbers, all of one size."""

    numbers: tuple[int, ...]
    delivery_count: int = 1
    record_bytes: int = 10
    may_wait: bool = True

    @property
    def rows(self) -> int:
        return len(self.numbers)

    @property
    def size_bytes(self) -> int:
        return len(self.numbers) * self.record_bytes

    def rows_within(self, size_bytes: int) -> int:
        return min(len(self.numbers), size_bytes // self.record_bytes)

    def split(self, rows: int) -> tuple[Self, Self]:
        assert 0 < rows < len(self.numbers)
        cut = self.numbers[:rows], self.numbers[rows:]
        first, rest = (type(self)(numbers, self.delivery_count, self.record_bytes) for numbers in cut)
        return first, rest


def numbers_of(pieces: Sequence[NumberedPiece]) -> list[int]:
    """The records of pieces, in order."""
    return [number for piece in pieces for number in piece.numbers]
