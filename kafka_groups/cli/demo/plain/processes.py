"""The demo's worker processes: the demo starts them, reads their events, kills one and stops the others."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from kafka_groups.cli.demo.child_process import ChildProcess
from kafka_groups.cli.demo.plain.events import WorkerEvent, read_event
from kafka_groups.errors import KafkaGroupsError

__all__ = ["WorkerFailedError", "WorkerProcess"]

_CHUNK_BYTES = 65_536


class WorkerFailedError(KafkaGroupsError):
    """A worker process ended unexpectedly."""


class WorkerProcess(ChildProcess):
    """A worker process. Its events arrive on the event loop, in order.

    Args:
        number: The worker's number.
        command: The command to run. It writes events to its standard output.
        log: File for its standard error.
        on_event: Called with the worker's number and each event.
    """

    def __init__(
        self, number: int, command: Sequence[str], log: Path, on_event: Callable[[int, WorkerEvent], None]
    ) -> None:
        self.number = number
        self._on_event = on_event
        self._begun = b""
        self._events_fd, events_end = os.pipe()
        os.set_blocking(self._events_fd, False)
        try:
            super().__init__(_start(command, events_end, log), log)
        finally:
            os.close(events_end)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._events_fd, self.read_events)
        self._listening = True

    def read_events(self) -> None:
        """Handle all events that the worker has written so far, without blocking."""
        while self._listening:
            try:
                chunk = os.read(self._events_fd, _CHUNK_BYTES)
            except BlockingIOError:
                return
            if not chunk:
                self._stop_listening()
                return
            *lines, self._begun = (self._begun + chunk).split(b"\n")
            for line in lines:
                self._on_event(self.number, read_event(line.decode()))

    def pause(self) -> bool:
        """Suspend the process (SIGSTOP) and wait until it has stopped. Return `False` if it has ended."""
        self._process.send_signal(signal.SIGSTOP)
        if self._process.returncode is not None:
            return False
        state = os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        return state is not None and state.si_code == os.CLD_STOPPED

    def resume(self) -> None:
        """Let the process continue (SIGCONT)."""
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """Kill the process if it is running, and release its resources."""
        if self.running:
            self.kill()
        self.read_events()
        self._stop_listening()

    def failure(self) -> WorkerFailedError:
        """Return the error for a worker that ended unexpectedly, with the end of its standard error."""
        return WorkerFailedError(f"Worker {self.number} {self.last_words()}")

    def _stop_listening(self) -> None:
        if self._listening:
            self._listening = False
            self._loop.remove_reader(self._events_fd)
            os.close(self._events_fd)


def _start(command: Sequence[str], events_fd: int, log: Path) -> "subprocess.Popen[bytes]":
    with log.open("wb") as errors:
        return subprocess.Popen(  # noqa: S603 - the demo's own command
            command, stdin=subprocess.DEVNULL, stdout=events_fd, stderr=errors, start_new_session=True
        )
