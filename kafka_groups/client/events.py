"""Events in a client that belong in the log. The rules add them, and a driver logs them.

Packages without I/O do not log: whether a line is written depends on the time.
"""

import enum
from collections import deque
from collections.abc import Iterable, Iterator

from attrs import frozen

__all__ = ["Area", "Event", "Events", "listed"]

_MOST_LISTED = 8


class Area(enum.Enum):
    """The subject area of an event. Each area has its own logger."""

    GROUP = "group"
    RECORDS = "records"


@frozen
class Event:
    """One event.

    Attributes:
        area: The subject area.
        text: What happened, in a sentence.
        subject: Identifies repeats of a warning, which are logged at growing intervals. None for an event that is not a
            warning.
    """

    area: Area
    text: str
    subject: str | None = None


class Events:
    """Events in the order in which they happened. Any thread may add events; one thread takes them."""

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()

    def note(self, area: Area, text: str) -> None:
        """Add an event of normal operation."""
        self._waiting.append(Event(area, text))

    def warn(self, area: Area, subject: str, text: str) -> None:
        """Add a warning."""
        self._waiting.append(Event(area, text, subject))

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def take(self) -> Iterator[Event]:
        """Remove and return the waiting events one by one."""
        while self._waiting:
            yield self._waiting.popleft()


def listed(names: Iterable[object]) -> str:
    """Return names for a sentence: the first eight, and how many more there are."""
    every = [str(name) for name in names]
    more = len(every) - _MOST_LISTED
    return ", ".join(every[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
