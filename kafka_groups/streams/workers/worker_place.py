"""The place of a worker in an application: its process, if it has one now, and what it said last."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from multiprocessing.connection import Connection

from attrs import define, field

from kafka_groups.net.spawned_process import SpawnedProcess
from kafka_groups.streams.workers.application_state import StreamsState
from kafka_groups.streams.workers.metrics import StreamsMetric
from kafka_groups.streams.workers.replacing import Replacements
from kafka_groups.streams.workers.worker_messages import OrderToWorker, WorkerChanged, WorkerMeasured

__all__ = ["WorkProgram", "WorkerPlace"]

_log = logging.getLogger(__name__)

WorkProgram = Callable[[bytes, int, Connection, bool], None]
_ENDED = (StreamsState.ERROR, StreamsState.NOT_RUNNING)


@define(eq=False)
class WorkerPlace:
    """The place of a worker.

    Attributes:
        number: Its number in the application, from 1.
        name: Its name.
        replacements: Its deaths.
        process: Its process.
        said: What the worker said last.
        start_ms: When to start a process.
        exit_by_ms: When the process, whose worker has ended or should end, is killed.
        removal: Gets the name when the worker, which is not wanted any more, has ended.
        metrics: What the worker measured last.
        replaced: How many workers of this process have failed and were replaced.
    """

    number: int
    name: str
    replacements: Replacements = field(factory=Replacements)
    process: SpawnedProcess | None = None
    said: WorkerChanged | None = None
    start_ms: int | None = 0
    exit_by_ms: int | None = None
    removal: "Future[str | None] | None" = None
    metrics: tuple[StreamsMetric, ...] = ()
    replaced: int = 0

    @property
    def is_empty(self) -> bool:
        """True if no process runs or will be started."""
        return self.process is None and self.start_ms is None

    @property
    def is_running(self) -> bool:
        """True if all tasks of the worker run."""
        return self.said is not None and self.said.state is StreamsState.RUNNING

    @property
    def watched(self) -> list[Connection | int]:
        """The objects of which one becomes ready when the worker says something, or its process exits."""
        return [] if self.process is None else self.process.watched

    def spawn(self, work: WorkProgram, program: bytes, *, is_paused: bool) -> None:
        """Start a process.

        Raises:
            OSError: The system has no room for one.
        """
        name = f"streams-worker-{self.number}"
        self.process = SpawnedProcess(work, lambda pipe: (program, self.number, pipe, is_paused), name, daemon=True)
        self.said = self.start_ms = None
        _log.info("Worker %d has process id %s", self.number, self.process.pid)

    def tell(self, message: OrderToWorker) -> None:
        """Tell the worker something. It may have ended."""
        if self.process is not None and not self.process.send(message):
            _log.debug("Worker %d has ended", self.number)

    def hear(self, exit_by_ms: int) -> int | None:
        """Take what the worker has said. Return the exit status of its process if that has exited.

        Args:
            exit_by_ms: By when the process has to exit, if the worker has ended.
        """
        if self.process is None:
            return None
        status = self.process.exit_status  # first, as it may say more before it exits
        for message in self.process.received():
            self._take(message)
        has_ended = not self.process.is_connected or (self.said is not None and self.said.state in _ENDED)
        if status is not None:
            self.process.close()
            self.process = self.exit_by_ms = None
        elif has_ended and self.exit_by_ms is None:
            self.exit_by_ms = exit_by_ms
        return status

    def kill_if_late(self, now_ms: int) -> None:
        """Kill the process if it should have exited."""
        if self.process is not None and self.exit_by_ms is not None and self.exit_by_ms <= now_ms:
            _log.warning("The process of worker %d has not ended in time, and is killed", self.number)
            self.process.kill()
            self.exit_by_ms = None

    def kill(self) -> None:
        """Kill the process, and wait until it has exited."""
        if self.process is not None:
            self.process.kill(wait=True)

    def _take(self, message: WorkerChanged | WorkerMeasured) -> None:
        if isinstance(message, WorkerMeasured):
            self.metrics, self.replaced = message.metrics, message.replaced
        else:
            self.said = message
