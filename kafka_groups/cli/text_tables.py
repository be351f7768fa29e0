"""Tables of plain text: a line of headings in capitals, and aligned columns."""

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size

__all__ = ["UNKNOWN", "cut_line", "one_line", "shown_number", "table_lines", "terminal_width"]

UNKNOWN: Final = "-"
"""A cell without a value."""

_BETWEEN: Final = "  "
_CUT: Final = "…"


def one_line(text: str | None) -> str:
    """Return a text for a cell. Control characters are escaped, so that no text of a record moves the cursor."""
    if text is None:
        return UNKNOWN
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def shown_number(number: int | None) -> str:
    """Return a number for a cell."""
    return UNKNOWN if number is None else str(number)


def table_lines(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Iterable[str] = (), width: int | None = None
) -> Iterator[str]:
    """Return the lines of a table.

    Args:
        headings: The headings.
        rows: The cells of each row.
        numbers: The headings of columns that are aligned to the right.
        width: Where lines are cut, in columns of a terminal; None: nowhere.
    """
    lines = [headings, *rows]
    widths = [max(cell_len(line[at]) for line in lines) for at in range(len(headings))]
    right = frozenset(numbers)
    for line in lines:
        spaces = [" " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True)]
        cells = [
            space + cell if heading in right else cell + space
            for heading, cell, space in zip(headings, line, spaces, strict=True)
        ]
        yield cut_line(_BETWEEN.join(cells).rstrip(), width)


def terminal_width() -> int | None:
    """Return the width of the terminal; None if standard output is not one, so that nothing may be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def cut_line(line: str, width: int | None) -> str:
    """Return a line that has at most so many columns of a terminal; None for any number."""
    return line if width is None or cell_len(line) <= width else set_cell_size(line, width - 1) + _CUT
