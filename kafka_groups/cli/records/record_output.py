"""Standard output for records: it is bytes, and may be a pipe whose reader is slow or has gone."""

import os
import select
import stat
import sys
from typing import Final

from kafka_groups.cli.output import ending_with_pipe
from kafka_groups.cli.records.interruption import Interruption

__all__ = ["RecordOutput"]

_PIECE: Final = 4_096
"""A pipe that takes something takes this much at once (`PIPE_BUF` of Linux; macOS has less, and writes a part)."""


class RecordOutput:
    """Writes records to standard output, at once.

    Args:
        interruption: Ends a wait for a pipe that nobody reads.
    """

    def __init__(self, interruption: Interruption) -> None:
        self._interruption = interruption
        self._stream = sys.stdout.buffer
        self._pipe = _pipe_of_output()

    def __repr__(self) -> str:
        return f"<RecordOutput {self._stream!r}>"

    def write(self, data: bytes) -> None:
        """Write data. Blocks while its reader is slow.

        Raises:
            SystemExit: Nobody reads it any more. The command ends silently, with status 0.
            InterruptedCommandError: A signal came while not everything was written.
        """
        with ending_with_pipe():
            if self._pipe is None:
                self._stream.write(data)
                self._stream.flush()
            else:
                self._write_to_pipe(memoryview(data), self._pipe)

    def _write_to_pipe(self, data: memoryview, pipe: int) -> None:
        # A signal ends the wait only. If it ended a write, nobody would know how much of it was written.
        room = select.poll()
        room.register(pipe, select.POLLOUT)
        while data:
            with self._interruption.blocking():
                room.poll()
            data = data[os.write(pipe, data[:_PIECE]) :]

    def end_with_reader(self) -> None:
        """End the command if nobody reads standard output any more, before there is something to write.

        Raises:
            SystemExit: Nobody does. The status is 0.
        """
        if self._pipe is None:
            return
        errors = select.poll()
        errors.register(self._pipe, 0)  # errors need not be asked for
        if errors.poll(0):
            sys.exit(0)


def _pipe_of_output() -> int | None:
    """Return the descriptor of standard output if it is a pipe that can be waited for."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # it is not a file, as in tests
        return None
    is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    return descriptor if is_pipe and hasattr(select, "poll") else None  # Windows has no poll
