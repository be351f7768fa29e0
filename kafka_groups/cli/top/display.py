"""Show looks again and again: on a terminal each in the place of the one before, elsewhere one below the other."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final

from kafka_groups.cli.documents.document import line_text
from kafka_groups.cli.output import say
from kafka_groups.cli.text_tables import terminal_width
from kafka_groups.cli.top.looks import TopLook, TopSource

__all__ = ["TopDisplay", "keep_showing"]

_CLEARED: Final = "\x1b[H\x1b[2J"
"""Moves the cursor of a terminal to its first line, and erases the screen."""


class TopDisplay:
    """Prints looks at all sources.

    Args:
        as_json: Print one object a line.
    """

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._is_first = True

    def __repr__(self) -> str:
        return f"<TopDisplay as_json={self._as_json}>"

    def show(self, looks: Sequence[TopLook]) -> None:
        """Print looks.

        Raises:
            SystemExit: Nobody reads standard output any more. The command ends silently, with status 0.
        """
        text = "\n".join(_json_lines(looks) if self._as_json else self._lines(looks))
        self._is_first = False
        say(text)

    def _lines(self, looks: Sequence[TopLook]) -> Iterator[str]:
        width = terminal_width()
        lines = _joined([look.lines(width) for look in looks])
        if width is None:
            yield from lines if self._is_first else ("", *lines)
            return
        height = max(2, shutil.get_terminal_size().lines)
        # One line is left for the cursor.
        shown = (
            lines if len(lines) < height else [*lines[: height - 2], f"… (lines left out: {len(lines) - height + 2})"]
        )
        yield from (f"{'' if number else _CLEARED}{line}" for number, line in enumerate(shown))


def _joined(views: Sequence[Sequence[str]]) -> Sequence[str]:
    """Return the lines of all views that have some, with an empty line between two views."""
    filled = [view for view in views if view]
    return [line for number, view in enumerate(filled) for line in (*([""] if number else ()), *view)]


def _json_lines(looks: Sequence[TopLook]) -> Iterator[str]:
    return (line_text(entry) for look in looks for entry in look.entries)


async def keep_showing(
    sources: Sequence[TopSource],
    display: TopDisplay,
    interval_s: float | None,
    pause: Callable[[float], Awaitable[object]],
) -> bool:
    """Look and show without end, or once. Returns whether the last look has failed.

    Args:
        sources: What to look at.
        display: Prints it.
        interval_s: The seconds from one look to the next; None looks once.
        pause: Waits so many seconds.
    """
    clock = asyncio.get_running_loop().time
    while True:
        begun_s = clock()
        looks = await asyncio.gather(*(source.look() for source in sources))
        display.show(looks)
        if interval_s is None:
            return any(look.has_failed for look in looks)
        await pause(max(0.0, interval_s - (clock() - begun_s)))
