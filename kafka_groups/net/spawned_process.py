"""Spawn processes, each with a pipe to this one."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

__all__ = ["BLOCKED_SIGNALS", "SPAWN", "SpawnedProcess"]

SPAWN = multiprocessing.get_context("spawn")

BLOCKED_SIGNALS = (signal.SIGINT,)
"""Processes start with these signals blocked, so that Ctrl-C does not come before the process ignores it.

SIGTERM is not among them: a process that is still starting has nothing in hand, and has to end at once.
"""


class SpawnedProcess:
    """A process that was spawned, and the pipe to it.

    Args:
        target: Its program, a function that can be imported.
        arguments: Returns the arguments, given the other end of the pipe.
        name: The name of the process.
        daemon: Whether it ends with this one.

    Raises:
        OSError: The system has no room for a process.
    """

    def __init__(
        self,
        target: Callable[..., object],
        arguments: Callable[[Connection], tuple[Any, ...]],
        name: str,
        *,
        daemon: bool = False,
    ) -> None:
        ours, theirs = SPAWN.Pipe()
        self._process = SPAWN.Process(target=target, args=arguments(theirs), name=name, daemon=daemon)
        self._pipe: Connection | None = ours
        try:
            _start(self._process)
        except BaseException:  # also Ctrl-C: nobody else would close this end of the pipe
            ours.close()
            raise
        finally:
            theirs.close()
        self.pid = self._process.pid

    def __repr__(self) -> str:
        return f"<SpawnedProcess {self._process.name}, process id {self.pid}>"

    @property
    def exit_status(self) -> int | None:
        """The exit status; None while the process runs."""
        return self._process.exitcode

    @property
    def is_connected(self) -> bool:
        """True until the process closes its end of the pipe."""
        return self._pipe is not None

    @property
    def watched(self) -> list[Connection | int]:
        """The objects of which one becomes ready when the process says something, or exits."""
        return [self._process.sentinel] if self._pipe is None else [self._pipe, self._process.sentinel]

    def send(self, message: object) -> bool:
        """Send a message. Returns False if the process has ended; its end of the pipe is read next."""
        try:
            if self._pipe is not None:
                self._pipe.send(message)
        except OSError:
            return False
        return self._pipe is not None

    def received(self) -> Iterator[Any]:
        """Yield the messages that have come."""
        try:
            while self._pipe is not None and self._pipe.poll():
                yield self._pipe.recv()
        except (EOFError, OSError):
            self._close_pipe()

    def kill(self, *, wait: bool = False) -> None:
        """Kill the process, and if wished wait until it has exited."""
        self._process.kill()
        if wait:
            self._process.join()

    def close(self) -> None:
        """Let go of the process, which has exited."""
        self._close_pipe()
        self._process.close()

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        self._pipe = None


def _start(process: BaseProcess) -> None:
    """Start a process with some signals blocked, which it unblocks when it handles them."""
    resource_tracker.ensure_running()  # its own start, which the first process brings about, unblocks SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED_SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
