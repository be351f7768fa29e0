"""Lines of a file or of standard input, read by a thread, a few ahead of those that are wanted."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

__all__ = ["InputLine", "InputLines", "LineTooLongError"]

_PIECE: Final = 64 * 1024
_AHEAD: Final = 4
"""The number of pieces that were read and not taken."""
_LONGEST: Final = 256 * 1024 * 1024
"""More than any broker takes in a request, also if JSON or base64 makes a record larger."""


class InputLine(NamedTuple):
    """A line, without its end.

    Attributes:
        number: Its number, counted from 1.
        data: Its bytes.
    """

    number: int
    data: bytes


class LineTooLongError(Exception):
    """A line is longer than any record. The text has its number."""


Read = Callable[[int], bytes | None]
"""Returns some bytes, at most so many; none at the end; None if there are none now."""


class InputLines:
    """Lines that arrive. Memory holds some pieces of 64 KiB, or one line that is longer.

    The thread is a daemon and may wait for input when the program ends, so `read` must not share a lock with others.

    Args:
        read: Reads the input.
        wait: Waits until there is something to read, after `read` has returned None.
        longest: The most bytes of a line.
    """

    def __init__(self, read: Read, wait: Callable[[], object], *, longest: int = _LONGEST) -> None:
        self._read = read
        self._wait = wait
        self._longest = longest
        self._number = 0
        self._found: asyncio.Queue[Sequence[InputLine] | Exception | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name="input-lines", daemon=True).start()

    def __repr__(self) -> str:
        return f"<InputLines: {self._number} lines>"

    async def next(self, timeout_s: float) -> Sequence[InputLine] | None:
        """Wait for lines. Returns none of them if the time is up, and None at the end of the input.

        Raises:
            LineTooLongError: A line is too long. Nothing behind it is read.
            OSError: The input cannot be read.
        """
        try:
            async with asyncio.timeout(timeout_s):
                found = await self._found.get()
        except TimeoutError:
            return ()
        self._room.release()
        if isinstance(found, Exception):
            raise found
        return found

    # ------------------------------------------------------------------------------------- on the thread

    def _run(self) -> None:
        try:
            self._read_all()
        except (OSError, ValueError, LineTooLongError) as error:  # ValueError: the input was closed
            self._tell(error)

    def _read_all(self) -> None:
        pieces: list[bytes] = []
        size = 0
        while piece := self._piece():
            *lines, rest = piece.split(b"\n")
            if lines:
                lines[0] = b"".join([*pieces, lines[0]])
                pieces, size = [], 0
                self._tell(self._numbered(lines))
            pieces.append(rest)
            size += len(rest)
            if size > self._longest:
                raise LineTooLongError(f"line {self._number + 1} is longer than {self._longest:,} bytes.")
        if last := b"".join(pieces):
            self._tell(self._numbered([last]))
        self._tell(None)

    def _piece(self) -> bytes:
        while (piece := self._read(_PIECE)) is None:
            self._wait()
        return piece

    def _numbered(self, lines: Sequence[bytes]) -> Sequence[InputLine]:
        first = self._number + 1
        self._number += len(lines)
        return [InputLine(number, line) for number, line in enumerate(lines, first)]

    def _tell(self, found: Sequence[InputLine] | Exception | None) -> None:
        self._room.acquire()
        with suppress(RuntimeError):  # the loop was closed: nobody wants more
            self._loop.call_soon_threadsafe(self._found.put_nowait, found)
