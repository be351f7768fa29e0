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
from kafka_groups.processes.parent import ParentPipe, exit_at_the_latest
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.processes.address import WorkerAddress
from kafka_groups.share.workers.processes.messages import (
    ChildEnded,
    ChildError,
    ChildReport,
    ChildStarted,
    NameSuspects,
    StopChild,
)
from kafka_groups.share.workers.processes.notes import RunningNotesLayout
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.telemetry.workers import ProcessSnapshot

__all__ = ["ChildControls", "ChildProgram", "ParentLink"]

_LOG = logging.getLogger("kafka_groups.worker")

T = TypeVar("T")

# Metrics go to the parent once a second. A change of the health goes after a tenth of that, as probes ask the parent.
_REPORT_S = 1.0
_LOOK_S = 0.1
# Nobody waits for an orphan, and its supervisor may start the worker again already. So it ends sooner than after a
# signal, but its records still have some time to finish.
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
        part: The part of the running notes that is its own.
        suspects: What processes were running when they were killed.
        processes: The number of processes.
    """

    address: WorkerAddress
    layout: RunningNotesLayout
    log_level: int
    number: int = 0
    part: int = 0
    suspects: tuple[RunningRange, ...] = ()
    processes: int = 1


@frozen
class ChildControls:
    """The functions of a running worker that its parent calls through the link. Any thread may call these.

    Attributes:
        stop: Begins to stop; takes the seconds that records in hand may run on.
        suspect: Takes what another process was running when it was killed.
        metrics: Returns the metrics.
        health: Returns the health.
    """

    stop: Callable[[float], None]
    suspect: Callable[[Sequence[RunningRange]], None]
    metrics: Callable[[], ProcessSnapshot]
    health: Callable[[], Health]


class ParentLink(ParentPipe):
    """The child's end of the pipe to its parent. Make it first of all, on the main thread.

    Args:
        program: The program of this process.
        pipe: The pipe.
    """

    def __init__(self, program: ChildProgram, pipe: Connection) -> None:
        super().__init__(pipe)
        self.program = program
        self._controls: ChildControls | None = None
        self._named: queue.SimpleQueue[NameSuspects] = queue.SimpleQueue()
        self._has_ended = threading.Event()
        self._was_terminated = self._handles_signals = False
        number = program.number
        logging.basicConfig(
            level=program.log_level, format=f"%(asctime)s %(levelname)s process {number} %(name)s: %(message)s"
        )
        self._follow()

    def load(self, kind: type[T], handlers: Callable[[T], Sequence[HandlerSpec]]) -> T:
        """Import the worker.

        Raises:
            ConfigurationError: It is not there, or has other handlers than in the parent.
        """
        worker = self.program.address.load(kind)
        layout = RunningNotesLayout.of(handlers(worker))
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
            # Importing the worker, its lifespan and its handlers run code of the user, which may raise anything. The
            # parent gets the error with its traceback, raises it or logs it, and decides whether another process helps.
            self._end(ChildEnded(ChildError.of(error)))
            raise SystemExit(1) from None
        except SystemExit:
            # The status says why: 70 after an attempt that hangs. The parent must not take the process for one that was
            # killed.
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
        self._take_named(controls)
        self.send(ChildStarted())
        self._start(self._report, "parent-reports")

    def _take_named(self, controls: ChildControls) -> None:
        """Take the suspects that the parent has named."""
        with suppress(queue.Empty):
            while True:
                controls.suspect(self._named.get_nowait().ranges)

    def terminated(self) -> None:
        """Note that a signal to this process alone told it to end."""
        self._was_terminated = True

    def _end(self, message: ChildEnded) -> None:
        self._has_ended.set()
        # The last report has what happened since the one before, such as the last acknowledgements. It comes before the
        # news of the end, because the parent reads nothing after that.
        if self._controls is not None:
            self.send(ChildReport(self._controls.metrics(), self._controls.health()))
        self.send(message)

    def _report(self) -> None:
        """Send metrics and health once a second, and health when it changes, until the worker ends."""
        controls = self._controls
        assert controls is not None  # noqa: S101 - begin has set it
        last: Health | None = None
        silent_s = 0.0
        while not self._has_ended.is_set():
            health = controls.health()
            if health != last or silent_s >= _REPORT_S:
                self.send(ChildReport(controls.metrics(), health))
                last, silent_s = health, 0.0
            self._has_ended.wait(_LOOK_S)
            silent_s += _LOOK_S

    # ------------------------------------------------------------------------------------------ from the parent

    def _obey(self, message: StopChild | NameSuspects) -> None:
        if isinstance(message, StopChild):
            self._stop(message.grace_ms / 1000)
            return
        # The worker may start on another thread just now: whichever thread comes second takes the suspects.
        self._named.put(message)
        if self._controls is not None:
            self._take_named(self._controls)

    def _stop(self, grace_s: float) -> None:
        controls = self._controls
        self._stop_start() if controls is None else controls.stop(grace_s)

    def _stop_start(self) -> None:
        """Stop a process that is still starting, and holds no records."""
        if self._was_terminated:
            return  # it leaves the lifespan already
        main = threading.main_thread().ident
        # It is still importing, has entered no lifespan and holds nothing, so there is nothing to end in order.
        if not self._handles_signals or main is None:
            os._exit(0)
        signal.pthread_kill(main, signal.SIGTERM)  # a signal ends also blocking code of the lifespan

    def _leave(self) -> None:
        if not self._has_ended.is_set():
            _LOG.warning("The parent process has ended, so process %d ends too", self.program.number)
            exit_at_the_latest(1, _ORPHAN_GRACE_S + _ORPHAN_CLOSE_S)
            self._stop(_ORPHAN_GRACE_S)


def _names(layout: RunningNotesLayout) -> str:
    return ", ".join(name for name, _, _ in layout.handlers) or "none"
