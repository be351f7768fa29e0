"""The connection over which the driver and the workers report to the demo."""

import functools
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from kafka_groups.cli.demo.pipeline.messages import Message, MessageKind
from kafka_groups.errors import KafkaGroupsError

if TYPE_CHECKING:
    from kafka_groups.spark.records.batch import ShareBatch

__all__ = ["Channel", "DemoGoneError", "WithWord", "channel_to"]


class DemoGoneError(KafkaGroupsError):
    """The demo's own process has ended."""


class Channel:
    """A connection to the demo.

    Args:
        path: The demo's socket.
    """

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(path)
        self._answers = self._socket.makefile("rb")

    def tell(self, message: Message) -> None:
        """Send a message."""
        self._socket.sendall(message.line())

    def ask(self, message: Message) -> None:
        """Send a message and wait for the demo's permission to continue.

        Raises:
            DemoGoneError: The demo has ended.
        """
        self.tell(message)
        if not self._answers.readline():
            raise DemoGoneError("The demo has ended.")


def channel_to(path: str) -> Channel:
    """Return this process's connection, which stays open until the process ends."""
    return _channel(path, os.getpid())


@functools.lru_cache(maxsize=1)
def _channel(path: str, _pid: int) -> Channel:
    return Channel(path)


@frozen
class WithWord:
    """A sink that reports to the demo, and returns only when the demo permits the batch to be accepted."""

    sink: "Callable[[ShareBatch], None]"
    table: str
    path: Path

    def __call__(self, batch: "ShareBatch") -> None:
        """Store the batch."""
        channel, pid = channel_to(str(self.path)), os.getpid()
        again = int((batch.delivery_counts > 1).sum())
        kind = MessageKind.RECEIVED
        channel.tell(Message(kind=kind, pid=pid, table=self.table, records=len(batch), redelivered=again))
        self.sink(batch)
        channel.ask(Message(kind=MessageKind.STORED, pid=pid, table=self.table, records=len(batch)))
