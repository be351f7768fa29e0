"""Events that a worker process reports to the demo on its standard output, one per line.

A worker writes `received` before it does anything else with a batch, `stored` when the rows are on disk, and `accepted`
when the broker has confirmed. If `received` is its last event, it has not started to acknowledge the batch, so a kill
at that moment is certain to cause redeliveries.
"""

import enum

from attrs import frozen

__all__ = ["EventKind", "WorkerEvent", "read_event"]


class EventKind(enum.Enum):
    """The step that a worker has just completed."""

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
        records: How many records it covers.
        redelivered: How many of them had been delivered before (only for `received`).
    """

    kind: EventKind
    records: int = 0
    redelivered: int = 0

    def line(self) -> str:
        """Return the event as a line, without a line end."""
        return f"{self.kind.value} {self.records} {self.redelivered}"


def read_event(line: str) -> WorkerEvent:
    """Return the event on a line.

    Raises:
        ValueError: The line is not an event.
    """
    kind, records, redelivered = line.split()
    return WorkerEvent(EventKind(kind), int(records), int(redelivered))
