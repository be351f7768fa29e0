"""The slot of a worker process in its parent: its part of the running notes, and its last reports."""

import ctypes
import logging
from collections.abc import Callable
from multiprocessing.connection import Connection

from attrs import define, evolve, field

from kafka_groups.net.spawned_process import SpawnedProcess
from kafka_groups.processes.slot import ProcessSlot, RestartRule
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.processes.child import ChildProgram
from kafka_groups.share.workers.processes.exits import ChildExit, ChildState
from kafka_groups.share.workers.processes.messages import (
    ChildEnded,
    ChildReport,
    ChildStarted,
    MessageToParent,
    NameSuspects,
    StopChild,
)
from kafka_groups.share.workers.processes.notes import RunningNotes
from kafka_groups.share.workers.processes.notes_file import NotesMapping
from kafka_groups.telemetry.workers import WorkerTelemetry

__all__ = ["ChildMain", "ChildProcessSlot"]

ChildMain = Callable[[ChildProgram, Connection, "ctypes.Array[ctypes.c_ubyte] | NotesMapping"], None]
"""The program of a process: what it runs, the pipe to its parent, and the memory for the notes of all processes."""

_FIRST_WAIT_MS = 100


@define(eq=False)
class ChildProcessSlot(ProcessSlot[StopChild | NameSuspects]):
    """The slot of a worker process.

    Attributes:
        restarts: When the process is replaced. There is no last time: a record that kills processes must not end the
            worker.
        telemetry: Gets its metrics.
        part: The part of the running notes that its process has, or its last process had; None before the first.
        has_started: Whether the process handles records.
        has_ever_started: Whether it does, or one before it did.
        last_words: Its report about its end.
        health: Its last report about its health.
        heard_ms: When it last reported something, or was started.
    """

    log = logging.getLogger("kafka_groups.worker")
    title = process_title = "Process"

    telemetry: WorkerTelemetry
    restarts: RestartRule = field(factory=lambda: RestartRule(_FIRST_WAIT_MS), init=False)
    part: int | None = None
    has_started: bool = False
    has_ever_started: bool = False
    last_words: ChildEnded | None = None
    health: Health | None = None
    heard_ms: int = 0

    def spawn(self, main: ChildMain, program: ChildProgram, notes: RunningNotes, now_ms: int) -> None:
        """Start a process.

        Raises:
            OSError: The system cannot start another process.
        """
        part = RunningNotes.next_part(self.number - 1, self.part)
        # This part had the notes of the last but one process. Those of the last one stay, because brokers may redeliver
        # its records only now.
        notes.clear(part)
        own = evolve(program, number=self.number, part=part)
        self._spawned(SpawnedProcess(main, lambda pipe: (own, pipe, notes.memory), f"worker-{self.number}"))
        self.part, self.has_started, self.heard_ms = part, False, now_ms
        self.last_words = self.health = None

    def _take(self, message: MessageToParent, now_ms: int) -> None:
        self.heard_ms = now_ms
        if isinstance(message, ChildReport):
            self.health = message.health
            self.telemetry.received(str(self.number), message.metrics)
        elif isinstance(message, ChildStarted):
            self.has_started = self.has_ever_started = True
        else:
            self.last_words = message

    def exit_of(self, status: int, notes: RunningNotes) -> ChildExit:
        """Return how the last process ended, which exited with this status."""
        running = () if self.part is None else notes.read(self.part)
        return ChildExit(self.number, status, self.has_started, self.last_words, running)

    def state(self, now_ms: int) -> ChildState:
        """Return what is known about the process."""
        return ChildState(self.number, self.process is not None, self.health, now_ms - self.heard_ms)
