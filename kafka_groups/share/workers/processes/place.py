"""The place of one worker process in its parent: the process, if there is one now, and its last reports."""

import ctypes
import logging
from collections.abc import Callable
from multiprocessing.connection import Connection

from attrs import define, evolve, field

from kafka_groups.net.spawned_process import SpawnedProcess
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.processes.child import ChildProgram
from kafka_groups.share.workers.processes.fates import ChildExit, ChildState, RestartWaits
from kafka_groups.share.workers.processes.messages import (
    ChildEnded,
    ChildReport,
    ChildStarted,
    MessageToParent,
    NameSuspects,
    StopChild,
)
from kafka_groups.share.workers.processes.notes import SharedNotes
from kafka_groups.telemetry.workers import ProcessSnapshot

__all__ = ["ChildMain", "ChildPlace"]

_LOG = logging.getLogger("kafka_groups.worker")

ChildMain = Callable[[ChildProgram, Connection, "ctypes.Array[ctypes.c_ubyte]"], None]
"""The program of a process: what it runs, the pipe to its parent, and the memory for the notes of all processes."""


@define(eq=False)
class ChildPlace:
    """The place of a worker process.

    Attributes:
        number: Its number, from 1.
        waits: When the process is replaced.
        process: The process; None if there is none now.
        part: The part of the shared notes that its process has, or its last process had; None before the first.
        has_started: Whether the process handles records.
        last_words: Its report about its end.
        health: Its last report about its health.
        figures: Its latest figures, until they are taken.
        heard_ms: When it last reported something, or was started.
        start_ms: When to start a process; None for never.
        kill_ms: When to kill the process, which should have ended; None for never.
    """

    number: int
    waits: RestartWaits = field(factory=RestartWaits)
    process: SpawnedProcess | None = None
    part: int | None = None
    has_started: bool = False
    last_words: ChildEnded | None = None
    health: Health | None = None
    figures: ProcessSnapshot | None = None
    heard_ms: int = 0
    start_ms: int | None = 0
    kill_ms: int | None = None

    @property
    def is_empty(self) -> bool:
        """True if no process runs or will be started."""
        return self.process is None and self.start_ms is None

    @property
    def watched(self) -> list[Connection | int]:
        """Objects to wait for: one becomes ready when the process sends a message or exits."""
        return [] if self.process is None else self.process.watched

    def spawn(self, main: ChildMain, program: ChildProgram, notes: SharedNotes, now_ms: int) -> None:
        """Start a process.

        Raises:
            OSError: The system cannot start another process.
        """
        part = SharedNotes.next_part(self.number - 1, self.part)
        notes.clear(part)
        own = evolve(program, number=self.number, part=part)
        self.process = SpawnedProcess(main, lambda pipe: (own, pipe, notes.memory), f"worker-{self.number}")
        self.part = part
        self.last_words = self.health = self.start_ms = None
        self.has_started, self.heard_ms = False, now_ms
        _LOG.info("Process %d has process id %s", self.number, self.process.pid)

    def tell(self, message: StopChild | NameSuspects) -> None:
        """Send a message to the process, which may have ended."""
        if self.process is not None and not self.process.send(message):
            _LOG.debug("Process %d has ended", self.number)

    def hear(self, now_ms: int) -> int | None:
        """Receive the messages of the process. Return its exit status if it has exited."""
        if self.process is None:
            return None
        status = self.process.exit_status  # first, as it may send more before it exits
        for message in self.process.received():
            self._take(message, now_ms)
        return status

    def _take(self, message: MessageToParent, now_ms: int) -> None:
        self.heard_ms = now_ms
        if isinstance(message, ChildReport):
            self.figures, self.health = message.figures, message.health
        elif isinstance(message, ChildStarted):
            self.has_started = True
        else:
            self.last_words = message

    def take_figures(self) -> ProcessSnapshot | None:
        """Take the latest figures; None if there are no new ones."""
        figures, self.figures = self.figures, None
        return figures

    def bury(self, status: int, notes: SharedNotes) -> ChildExit:
        """Forget the process, which has exited. Returns how it ended."""
        running = () if self.part is None else notes.read(self.part)
        ended = ChildExit(self.number, status, self.has_started, self.last_words, running)
        if self.process is not None:
            self.process.close()
        self.process = self.kill_ms = self.health = None
        return ended

    def kill_if_late(self, now_ms: int) -> None:
        """Kill the process if it should have ended."""
        if self.process is not None and self.kill_ms is not None and self.kill_ms <= now_ms:
            _LOG.warning("Process %d has not ended in time, and is killed", self.number)
            self.process.kill()
            self.kill_ms = None

    def kill(self) -> None:
        """Kill the process, and wait until it has exited."""
        if self.process is not None:
            self.process.kill(wait=True)

    def state(self, now_ms: int) -> ChildState:
        """Return what is known about the process."""
        return ChildState(self.number, self.process is not None, self.health, now_ms - self.heard_ms)
