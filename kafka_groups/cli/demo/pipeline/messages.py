"""What the driver and the workers tell the demo, over a socket of the host: one line of JSON for each message.

A worker says `received` before it does anything with a batch, and `stored` when the batch's rows are on disk. Then it
waits for the demo's word before it lets the batch be accepted: a worker that is killed instead of getting that word
provably holds records that it has stored and not acknowledged.
"""

import enum
import json

from attrs import asdict, frozen

__all__ = ["GO_ON", "Message", "MessageKind", "read_message"]

GO_ON = b"go on\n"
"""The demo's answer to `stored`."""


class MessageKind(enum.Enum):
    """The step that was just done."""

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
        pid: The process that did it.
        table: The table that the records are of, of `received` and `stored`.
        records: How many records it was about.
        redelivered: How many of them had been delivered before, of `received`.
        figures: Figures by name, of `finished`.
    """

    kind: MessageKind
    pid: int
    table: str = ""
    records: int = 0
    redelivered: int = 0
    figures: dict[str, int] | None = None

    def line(self) -> bytes:
        """The message as a line."""
        return json.dumps(asdict(self) | {"kind": self.kind.value}).encode() + b"\n"


def read_message(line: bytes) -> Message:
    """The message on a line.

    Raises:
        ValueError: The line is not a message.
    """
    fields = json.loads(line)
    return Message(**fields | {"kind": MessageKind(fields["kind"])})
