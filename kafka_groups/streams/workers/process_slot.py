"""The slot of a worker process in an application: what the worker said last, and whether it is wanted."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from multiprocessing.connection import Connection

from attrs import define, field

from kafka_groups.net.spawned_process import SpawnedProcess
from kafka_groups.processes.slot import ProcessSlot, RestartRule
from kafka_groups.streams.engines.open_files import OpenFiles
from kafka_groups.streams.workers.application_metrics import StreamsMetric
from kafka_groups.streams.workers.application_state import StreamsState
from kafka_groups.streams.workers.query_places import QueryPlaces
from kafka_groups.streams.workers.uncaught import worker_restarts
from kafka_groups.streams.workers.worker_messages import (
    FilesOpened,
    OrderToWorker,
    StoreAnswered,
    WorkerChanged,
    WorkerMeasured,
)

__all__ = ["WorkProgram", "WorkerProcessSlot"]

FromWorker = WorkerChanged | WorkerMeasured | StoreAnswered | FilesOpened
WorkProgram = Callable[[bytes, int, Connection, bool], None]
_SILENT_MS = 10_000
_ENDED = (StreamsState.ERROR, StreamsState.NOT_RUNNING)


@define(eq=False)
class WorkerProcessSlot(ProcessSlot[OrderToWorker]):
    """The slot of a worker process.

    Attributes:
        name: The name of the worker.
        exit_ms: How long the process may take to exit after its worker has ended.
        said: What the worker said last.
        silent_since_ms: Since when the process has said nothing; None when it has, or after the warning.
        removal: Gets the name when the worker, which is not wanted any more, has ended.
        metrics: What the worker measured last.
        replaced: How many workers of this process have failed and were replaced.
        places: What the worker knows of the processes of its group.
        answered: The answers to questions that nobody has taken yet.
        files: The files of tasks that the process has open.
        left_files: Those that a process before it had open when it died.
    """

    log = logging.getLogger(__name__)
    title = "Worker"
    process_title = "The process of worker"

    name: str
    exit_ms: int
    restarts: RestartRule = field(factory=worker_restarts, init=False)
    said: WorkerChanged | None = None
    silent_since_ms: int | None = None
    removal: "Future[str | None] | None" = None
    metrics: tuple[StreamsMetric, ...] = ()
    replaced: int = 0
    places: QueryPlaces = field(factory=QueryPlaces)
    answered: list[StoreAnswered] = field(factory=list)
    files: tuple[OpenFiles, ...] = ()
    left_files: tuple[OpenFiles, ...] = ()

    @property
    def is_running(self) -> bool:
        """True if all tasks of the worker run."""
        return self.said is not None and self.said.state is StreamsState.RUNNING

    def spawn(self, work: WorkProgram, program: bytes, now_ms: int, *, is_paused: bool) -> None:
        """Start a process.

        Raises:
            OSError: The system has no room for one.
        """
        name = f"streams-worker-{self.number}"
        self._spawned(SpawnedProcess(work, lambda pipe: (program, self.number, pipe, is_paused), name, daemon=True))
        self.said, self.silent_since_ms = None, now_ms

    def hear(self, now_ms: int) -> int | None:
        """Receive the messages of the process, as any slot does. If its worker has ended, it has to exit soon."""
        status = super().hear(now_ms)
        self.warn_if_silent(now_ms)
        has_ended = self.said is not None and self.said.state in _ENDED
        if self.process is not None and self.kill_ms is None and (has_ended or not self.process.is_connected):
            self.kill_by(now_ms + self.exit_ms)
        return status

    def warn_if_silent(self, now_ms: int) -> None:
        """Warn if the process has not begun to work: the user's modules come first, and may wait for something."""
        if (
            self.process is not None
            and self.silent_since_ms is not None
            and now_ms - self.silent_since_ms >= _SILENT_MS
        ):
            self.silent_since_ms = None
            self.log.warning(
                "Worker %d has not started for %d s: process %s still imports the modules of the topology, or builds "
                "it. Look there for code that waits",
                self.number,
                _SILENT_MS // 1_000,
                self.process.pid,
            )

    def leave_files(self, *, are_readable: bool) -> None:
        """Note that the process has died. Nobody follows its files any more, and damaged ones must not be read."""
        known = {each.task_id: each for each in (*self.left_files, *self.files)} if are_readable else {}
        self.left_files = tuple(known.values())
        self.files = ()

    def _take(self, message: FromWorker, _now_ms: int) -> None:
        if isinstance(message, FilesOpened):
            self.files = message.files
        elif isinstance(message, StoreAnswered):
            self.answered.append(message)
        elif isinstance(message, WorkerMeasured):
            self.metrics, self.replaced, self.places = message.metrics, message.replaced, message.places
        else:
            self.said, self.silent_since_ms = message, None
