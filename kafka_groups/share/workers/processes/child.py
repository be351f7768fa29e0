"""A worker process as it sees itself: it obeys its parent, reports to it, and ends soon after it."""

import logging
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import TypeVar

from attrs import frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.net.spawned_process import BLOCKED_SIGNALS
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.processes.address import WorkerAddress
from kafka_groups.share.workers.processes.messages import (
    ChildEnded,
    ChildError,
    ChildReport,
    ChildStarted,
    MessageToParent,
    NameSuspects,
    StopChild,
)
from kafka_groups.share.workers.processes.notes import NotesLayout
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.telemetry.workers import ProcessSnapshot

__all__ = ["ChildControls", "ChildProgram", "ParentLink", "exit_at_the_latest"]

_LOG = logging.getLogger("kafka_groups.worker")

T = TypeVar("T")

_REPORT_S = 1.0
_LOOK_S = 0.1
_ORPHAN_GRACE_S = 10.0
_ORPHAN_CLOSE_S = 5.0


@frozen
class ChildProgram:
    """The program of a worker process, as the parent sends it.

    Attributes:
        address: Where the worker is.
        layout: The layout of the notes, to check that the child has the same handlers.
        log_level: The level of the parent's root logger.
        number: The number of the process, from 1.
        part: The part of the shared notes that is its own.
        suspects: What processes were running when they were killed.
    """

    address: WorkerAddress
    layout: NotesLayout
    log_level: int
    number: int = 0
    part: int = 0
    suspects: tuple[RunningRange, ...] = ()


@frozen
class ChildControls:
    """The functions of a running worker that its parent calls through the link. Any thread may call these.

    Attributes:
        stop: Begins to stop; takes the seconds that records in hand may run on.
        suspect: Takes what another process was running when it was killed.
        figures: Returns the figures.
        health: Returns the health.
    """

    stop: Callable[[float], None]
    suspect: Callable[[Sequence[RunningRange]], None]
    figures: Callable[[], ProcessSnapshot]
    health: Callable[[], Health]


class ParentLink:
    """The child's end of the pipe to its parent. Make it first of all, on the main thread.

    Args:
        program: The program of this process.
        pipe: The pipe.
    """

    def __init__(self, program: ChildProgram, pipe: Connection) -> None:
        self.program = program
        self._pipe = pipe
        self._parent = os.getppid()
        self._sending = threading.Lock()
        self._controls: ChildControls | None = None
        self._early: queue.SimpleQueue[NameSuspects] = queue.SimpleQueue()
        self._has_ended = threading.Event()
        self._was_terminated = self._handles_signals = False
        self._orphaning = threading.Lock()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, too, which stops its processes
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED_SIGNALS)
        number = program.number
        logging.basicConfig(
            level=program.log_level, format=f"%(asctime)s %(levelname)s process {number} %(name)s: %(message)s"
        )
        self._start(self._read, "parent-orders")
        self._start(self._watch_parent, "parent-watch")

    def __repr__(self) -> str:
        return f"<ParentLink of process {self.program.number} to {self._parent}>"

    def _start(self, target: Callable[[], None], name: str) -> None:
        threading.Thread(target=target, name=name, daemon=True).start()

    def load(self, kind: type[T], handlers: Callable[[T], Sequence[HandlerSpec]]) -> T:
        """Import the worker.

        Raises:
            ConfigurationError: It is not there, or has other handlers than in the parent.
        """
        worker = self.program.address.load(kind)
        layout = NotesLayout.of(handlers(worker))
        if layout != self.program.layout:
            raise ConfigurationError(
                f"{self.program.address} has other handlers in a worker process ({_names(layout)}) than in its parent"
                f" ({_names(self.program.layout)}): declare all of them in the module {self.program.address.module}, or"
                " import there the modules that declare them"
            )
        return worker

    # ------------------------------------------------------------------------------------------ to the parent

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Tell the parent how the block ended. Errors end the process with status 1, which the parent explains."""
        try:
            yield
        except Exception as error:
            self._end(ChildEnded(ChildError.of(error)))
            raise SystemExit(1) from None
        except SystemExit:
            self._end(ChildEnded())
            raise
        else:
            self._end(ChildEnded(was_terminated=self._was_terminated))

    def starting(self) -> None:
        """Note that SIGTERM now ends the start, and leaves the lifespan."""
        self._handles_signals = True

    def begin(self, controls: ChildControls) -> None:
        """Tell the parent that the worker has started, and let it control the worker from now on."""
        self._controls = controls
        with suppress(queue.Empty):
            while True:
                controls.suspect(self._early.get_nowait().ranges)
        self._send(ChildStarted())
        self._start(self._report, "parent-reports")

    def terminated(self) -> None:
        """Note that a signal to this process alone told it to end."""
        self._was_terminated = True

    def _end(self, message: ChildEnded) -> None:
        self._has_ended.set()
        if self._controls is not None:
            self._send(ChildReport(self._controls.figures(), self._controls.health()))
        self._send(message)

    def _send(self, message: MessageToParent) -> None:
        try:
            with self._sending:
                self._pipe.send(message)
        except OSError:
            _LOG.debug("The parent process has ended and does not receive %r", message)

    def _report(self) -> None:
        """Send figures and health once a second, and health when it changes, until the worker ends."""
        controls = self._controls
        assert controls is not None  # noqa: S101 - begin has set it
        last: Health | None = None
        silent_s = 0.0
        while not self._has_ended.is_set():
            health = controls.health()
            if health != last or silent_s >= _REPORT_S:
                self._send(ChildReport(controls.figures(), health))
                last, silent_s = health, 0.0
            self._has_ended.wait(_LOOK_S)
            silent_s += _LOOK_S

    # ------------------------------------------------------------------------------------------ from the parent

    def _read(self) -> None:
        try:
            while True:
                self._obey(self._pipe.recv())
        except (EOFError, OSError):
            self._orphaned()

    def _obey(self, message: StopChild | NameSuspects) -> None:
        controls = self._controls
        if isinstance(message, StopChild):
            self._stop(message.grace_ms / 1000)
        elif controls is None:
            self._early.put(message)
        else:
            controls.suspect(message.ranges)

    def _stop(self, grace_s: float) -> None:
        controls = self._controls
        self._stop_start() if controls is None else controls.stop(grace_s)

    def _stop_start(self) -> None:
        """Stop a process that is still starting, and holds no records."""
        if self._was_terminated:
            return  # it leaves the lifespan already
        main = threading.main_thread().ident
        if not self._handles_signals or main is None:
            os._exit(0)
        signal.pthread_kill(main, signal.SIGTERM)  # a signal ends also blocking code of the lifespan

    def _watch_parent(self) -> None:
        """End this process after its parent. The pipe alone is not enough: other processes may hold its end."""
        while os.getppid() == self._parent:
            self._has_ended.wait(_REPORT_S)
            if self._has_ended.is_set():
                return
        self._orphaned()

    def _orphaned(self) -> None:
        """End soon. Both threads that notice the end of the parent call this; the second call does nothing."""
        if self._has_ended.is_set() or not self._orphaning.acquire(blocking=False):
            return
        _LOG.warning("The parent process has ended, so process %d ends too", self.program.number)
        exit_at_the_latest(1, _ORPHAN_GRACE_S + _ORPHAN_CLOSE_S)
        self._stop(_ORPHAN_GRACE_S)


def exit_at_the_latest(status: int, after_s: float) -> None:
    """End this process with a status after some time, whatever its threads and tasks do."""
    timer = threading.Timer(after_s, os._exit, (status,))
    timer.daemon = True
    timer.start()


def _names(layout: NotesLayout) -> str:
    return ", ".join(name for name, _, _ in layout.handlers) or "none"
