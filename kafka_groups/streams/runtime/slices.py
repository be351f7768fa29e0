"""The number of records that a task processes before it is another task's turn."""

from typing import Final

__all__ = ["Slice"]

_MOST_RECORDS: Final = 100
_LONGEST_MS: Final = 50


class Slice:
    """The length of a task's slices: as many records as take about 50 ms, so that slow ones do not delay a commit.

    Attributes:
        records: The number of records of the next slice.
    """

    def __init__(self) -> None:
        self.records = 1

    def __repr__(self) -> str:
        return f"<Slice of {self.records} records>"

    def took(self, count: int, ms: int) -> None:
        """Note how long the processing of so many records took."""
        if ms > _LONGEST_MS:
            self.records = min(max(count * _LONGEST_MS // ms, 1), _MOST_RECORDS)
        elif count == self.records:
            self.records = min(2 * count, _MOST_RECORDS)
