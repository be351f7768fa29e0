"""What happens in a client that its operator wants to read in the log; the rules note it, a driver logs it.

The packages without I/O do not log themselves: whether a line is written depends on the time, and where on the program.
"""

import enum
from collections import deque
from collections.abc import Iterable, Iterator

from attrs import frozen

__all__ = ["Area", "Event", "Events", "counted", "listed"]

_MOST_LISTED = 8


class Area(enum.Enum):
    """What an event is about; each has a logger of its own."""

    GROUP = "group"
    RECORDS = "records"


@frozen
class Event:
    """One event.

    Attributes:
        area: What it is about.
        text: What happened, in a sentence.
        subject: What repeats of a warning have in common, so that they are logged at growing intervals; None for an
            event of an ordinary life.
    """

    area: Area
    text: str
    subject: str | None = None


class Events:
    """Events in the order in which they happened; any thread may add, one takes."""

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()

    def note(self, area: Area, text: str) -> None:
        """Something happened that belongs to an ordinary life."""
        self._waiting.append(Event(area, text))

    def warn(self, area: Area, subject: str, text: str) -> None:
        """Something happened that somebody should look at."""
        self._waiting.append(Event(area, text, subject))

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def take(self) -> Iterator[Event]:
        """All events that wait."""
        while self._waiting:
            yield self._waiting.popleft()


def listed(names: Iterable[object]) -> str:
    """Names for a sentence: the first eight, and how many more there are."""
    every = [str(name) for name in names]
    more = len(every) - _MOST_LISTED
    return ", ".join(every[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def counted(number: int, thing: str) -> str:
    """A number of things for a sentence."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
