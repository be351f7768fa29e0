"""Messages from the driver and the workers to the demo, over a Unix socket: one line of JSON each.

A worker sends `received` before it does anything with a batch, and `stored` when the rows are on disk. Then it waits
for the demo's permission before it accepts the batch. If the demo kills the worker instead, the worker certainly holds
records that are stored but not acknowledged.
"""

import enum
import json

from attrs import asdict, frozen

__all__ = ["GO_ON", "Message", "MessageKind", "read_message"]

GO_ON = b"go on\n"
"""The demo's answer to `stored`."""


class MessageKind(enum.Enum):
    """The step that was just completed."""

    STARTED = "started"
    REFERENCE_READY = "reference ready"
    RECEIVED = "received"
    STORED = "stored"
    ACCEPTED = "accepted"
    STOPPED = "stopped"
    FINISHED = "finished"


@frozen(kw_only=True)
class Message:
    """One step of a process.

    Attributes:
        kind: The step.
        pid: The process that completed it.
        table: The table of the records (only for `received` and `stored`).
        records: How many records it covers.
        redelivered: How many of them had been delivered before (only for `received`).
        figures: Counts by name (only for `finished`).
    """

    kind: MessageKind
    pid: int
    table: str = ""
    records: int = 0
    redelivered: int = 0
    figures: dict[str, int] | None = None

    def line(self) -> bytes:
        """Return the message as a line."""
        return json.dumps(asdict(self) | {"kind": self.kind.value}).encode() + b"\n"


def read_message(line: bytes) -> Message:
    """Return the message on a line.

    Raises:
        ValueError: The line is not a message.
    """
    fields = json.loads(line)
    return Message(**fields | {"kind": MessageKind(fields["kind"])})
