"""Standard output for records: it is bytes, and may be a pipe that nobody reads any more."""

import os
import select
import stat
import sys

from kafka_groups.cli.output import ending_with_pipe
from kafka_groups.cli.records.interruption import Interruption

__all__ = ["RecordOutput"]


class RecordOutput:
    """Writes records to standard output, at once.

    Args:
        interruption: Ends a write that nobody reads.
    """

    def __init__(self, interruption: Interruption) -> None:
        self._interruption = interruption
        self._stream = sys.stdout.buffer
        self._pipe = _pipe_poll()

    def __repr__(self) -> str:
        return f"<RecordOutput {self._stream!r}>"

    def write(self, data: bytes) -> None:
        """Write data. Blocks while its reader is slow.

        Raises:
            SystemExit: Nobody reads it any more. The command ends silently, with status 0.
            InterruptedCommandError: A signal came.
        """
        with ending_with_pipe(), self._interruption.blocking():
            self._stream.write(data)
            self._stream.flush()

    def end_with_reader(self) -> None:
        """End the command if nobody reads standard output any more, before there is something to write.

        Raises:
            SystemExit: Nobody does. The status is 0.
        """
        if self._pipe is not None and self._pipe.poll(0):
            sys.exit(0)


def _pipe_poll() -> "select.poll | None":
    """Return what tells that standard output has no reader; None if it is not a pipe."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # it is not a file, as in tests
        return None
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode) or not hasattr(select, "poll"):  # Windows has none
        return None
    found = select.poll()
    found.register(descriptor, 0)  # errors alone: they need not be asked for
    return found
