"""Draws records and windows at their times, one row for each, as text."""

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

__all__ = ["Bar", "Drawing", "Row"]

MINUTE_MS = 60_000
_COLUMNS_OF_A_MINUTE = 3


@frozen
class Bar:
    """A span of time.

    Attributes:
        start: Its start in minutes.
        end: Its end in minutes; None: it has no end.
        closing: The character at the end: `)` if the end does not belong to it, or `]`.
        grace: The minutes after its end in which it takes late records.
        opening: The character at the start.
    """

    start: float
    end: float | None
    closing: str = ")"
    grace: float = 0
    opening: str = "["


@frozen
class Row:
    """A row of a picture.

    Attributes:
        name: The words at its beginning.
        marks: Texts and their minutes.
        bar: A span of time.
        results: The columns at its end.
    """

    name: str
    marks: Sequence[tuple[float, str]] = ()
    bar: Bar | None = None
    results: Sequence[str] = ()


@frozen
class Drawing:
    """A picture of time.

    Attributes:
        minutes: The last minute of the axis.
        rows: Its rows, from the top.
        headings: The words above the columns at the end.
    """

    minutes: int
    rows: Sequence[Row]
    headings: Sequence[str] = ()

    def text(self) -> str:
        """Return the picture."""
        axis = Row("minute", [(minute, str(minute)) for minute in range(self.minutes + 1)], results=self.headings)
        rows = [axis, *self.rows]
        return "\n".join(line.rstrip() for line in self._lines(rows)) + "\n"

    def _lines(self, rows: Sequence[Row]) -> Iterator[str]:
        left = max(len(row.name) for row in rows) + 2
        times = [self._time(row).rstrip() for row in rows]
        width = max(len(time) for time in times) + 2
        for row, time in zip(rows, times, strict=True):
            yield f"{row.name:{left}}{time:{width}}{_columns(row.results, _widths(rows))}"

    def _time(self, row: Row) -> str:
        cells = [" "] * (self._column(self.minutes) + 2)
        if row.bar is not None:
            self._draw(cells, row.bar)
        for minute, text in row.marks:
            at = self._column(minute)
            cells[at : at + len(text)] = text
        return "".join(cells)

    def _draw(self, cells: list[str], bar: Bar) -> None:
        start, end = self._column(bar.start), self._column(self.minutes if bar.end is None else bar.end)
        cells[start : end + 1] = "─" * (end - start + 1)
        cells[start] = bar.opening
        cells[end] = "▶" if bar.end is None else bar.closing
        if start == end:
            cells[start : start + 2] = "[]"
        graced = self._column(bar.grace)
        cells[end + 1 : end + 1 + graced] = "┄" * graced

    @staticmethod
    def _column(minute: float) -> int:
        return round(minute * _COLUMNS_OF_A_MINUTE)


def _widths(rows: Sequence[Row]) -> list[int]:
    count = max(len(row.results) for row in rows)
    return [max((len(row.results[at]) for row in rows if at < len(row.results)), default=0) for at in range(count)]


def _columns(texts: Sequence[str], widths: Iterable[int]) -> str:
    return "  ".join(f"{text:{width}}" for text, width in zip(texts, widths, strict=False))
