"""What a worker process tells the demo on its standard output: one line per event, written at once.

The order is what makes the kill certain to bite: `received` before anything else is done with a batch, `stored` when
its rows are on disk, `accepted` when the broker has confirmed. A worker that is stopped with `received` as its last
word has not begun to acknowledge that batch.
"""

import enum

from attrs import frozen

__all__ = ["EventKind", "WorkerEvent", "read_event"]


class EventKind(enum.Enum):
    """The step that a worker has just done."""

    JOINED = "joined"
    IDLE = "idle"
    RECEIVED = "received"
    STORED = "stored"
    ACCEPTED = "accepted"
    FAILED = "failed"


@frozen
class WorkerEvent:
    """One step of a worker.

    Attributes:
        kind: The step.
        records: How many records it was about.
        redelivered: How many of them had been delivered before, of `received`.
    """

    kind: EventKind
    records: int = 0
    redelivered: int = 0

    def line(self) -> str:
        """The event as a line without its end."""
        return f"{self.kind.value} {self.records} {self.redelivered}"


def read_event(line: str) -> WorkerEvent:
    """The event on a line.

    Raises:
        ValueError: The line is not an event.
    """
    kind, records, redelivered = line.split()
    return WorkerEvent(EventKind(kind), int(records), int(redelivered))
