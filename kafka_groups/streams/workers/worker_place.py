"""The place of a worker in an application: its process, if it has one now, and what it said last."""

import logging
import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import Future
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from attrs import define, field

from kafka_groups.streams.workers.application_state import StreamsState
from kafka_groups.streams.workers.metrics import StreamsMetric
from kafka_groups.streams.workers.replacing import Replacements
from kafka_groups.streams.workers.worker_messages import OrderToWorker, WorkerChanged, WorkerMeasured
from kafka_groups.streams.workers.worker_process import BLOCKED_SIGNALS

__all__ = ["SPAWN", "WorkProgram", "WorkerPlace"]

_log = logging.getLogger(__name__)

SPAWN = multiprocessing.get_context("spawn")
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
        pipe: The way to and from the process; None after the other end is closed.
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
    process: BaseProcess | None = None
    pipe: Connection | None = None
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
        pipes: list[Connection | int] = [] if self.pipe is None else [self.pipe]
        return pipes if self.process is None else [*pipes, self.process.sentinel]

    def spawn(self, work: WorkProgram, program: bytes, *, is_paused: bool) -> None:
        """Start a process.

        Raises:
            OSError: The system has no room for one.
        """
        ours, theirs = SPAWN.Pipe()
        arguments = (program, self.number, theirs, is_paused)
        process = SPAWN.Process(target=work, args=arguments, name=f"streams-worker-{self.number}", daemon=True)
        try:
            _start(process)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.process, self.pipe, self.said, self.start_ms = process, ours, None, None
        _log.info("Worker %d has process id %s", self.number, process.pid)

    def tell(self, message: OrderToWorker) -> None:
        """Tell the worker something. It may have ended."""
        try:
            if self.pipe is not None:
                self.pipe.send(message)
        except OSError:
            _log.debug("Worker %d has ended", self.number)  # its end of the pipe is read next

    def hear(self, exit_by_ms: int) -> int | None:
        """Take what the worker has said. Return the exit status of its process if that has exited.

        Args:
            exit_by_ms: By when the process has to exit, if the worker has ended.
        """
        status = None if self.process is None else self.process.exitcode  # first, as it may say more before it exits
        self._read()
        has_ended = self.pipe is None or (self.said is not None and self.said.state in _ENDED)
        if status is not None:
            self._clear()
        elif self.process is not None and has_ended and self.exit_by_ms is None:
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
            self.process.kill()
            self.process.join()

    def _read(self) -> None:
        try:
            while self.pipe is not None and self.pipe.poll():
                self._take(self.pipe.recv())
        except (EOFError, OSError):
            self._close_pipe()

    def _take(self, message: WorkerChanged | WorkerMeasured) -> None:
        if isinstance(message, WorkerMeasured):
            self.metrics, self.replaced = message.metrics, message.replaced
        else:
            self.said = message

    def _close_pipe(self) -> None:
        if self.pipe is not None:
            self.pipe.close()
        self.pipe = None

    def _clear(self) -> None:
        self._close_pipe()
        if self.process is not None:
            self.process.close()
        self.process = self.exit_by_ms = None


def _start(process: BaseProcess) -> None:
    """Start a worker process with some signals blocked, which it unblocks when it handles them."""
    resource_tracker.ensure_running()  # its own start, which the first process brings about, unblocks SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED_SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
