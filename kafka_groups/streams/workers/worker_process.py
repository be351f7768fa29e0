"""The program of a worker process: it works until its parent tells it to stop, or is gone."""

import logging
import pickle
import queue
import signal
import sys
import threading
from multiprocessing.connection import Connection
from types import FrameType

from kafka_groups.errors.log_tracebacks import cut_tracebacks
from kafka_groups.net.repeated_signals import RepeatedSignals
from kafka_groups.net.short_waits import taken
from kafka_groups.processes.parent import ParentPipe, exit_at_the_latest
from kafka_groups.streams.errors import InvalidStateStoreError, reason_of
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.workers.application_state import ApplicationLife, StreamsState
from kafka_groups.streams.workers.assembly import assembled_worker
from kafka_groups.streams.workers.configured import configured_application
from kafka_groups.streams.workers.pickled import WorkerProgram
from kafka_groups.streams.workers.uncaught import UncaughtErrors
from kafka_groups.streams.workers.worker_messages import (
    AskShutdown,
    AskStore,
    FilesOpened,
    LeaveSoon,
    Order,
    Orders,
    PauseWorker,
    ResumeWorker,
    StopWorker,
    StoreAnswered,
    WorkerChanged,
    WorkerEnded,
    WorkerMeasured,
)
from kafka_groups.streams.workers.worker_thread import WorkerThread, worker_name

__all__ = ["LONGEST_CLOSE_S", "work"]

_log = logging.getLogger(__name__)
cut_tracebacks(_log)

LONGEST_CLOSE_S = 10.0
"""The longest time that a worker process takes to end after its parent has ended, or after SIGTERM."""
_METRICS_S = 1.0
_TERMINATED = 128 + signal.SIGTERM


def work(program: bytes, number: int, pipe: Connection, is_paused: bool) -> None:  # noqa: FBT001 - a process gets no keywords
    """Run a worker. The exit status is 0 if it ended as it should.

    Args:
        program: The pickled `WorkerProgram`: to read it here means that a module of the user's may take its time.
        number: The number of the worker, from 1.
        pipe: The way from and to the parent.
        is_paused: Whether the application is paused.
    """
    orders: Orders = queue.SimpleQueue()
    parent = WorkerParent(pipe, orders)
    parent.start()
    life = ApplicationLife(lambda state, _before: _tell(parent, state, life, orders))
    try:
        worker = _made(pickle.loads(program), number, life, parent)  # noqa: S301 - from the parent
        parent.worker = worker
        _start(worker, life, is_paused=is_paused)
    except Exception as error:  # importing the user's topology may raise anything; the parent must learn of it
        _log.exception("The worker cannot start")
        parent.send(WorkerChanged(StreamsState.ERROR, reason_of(error)))
        sys.exit(1)
    threading.Thread(target=_report, args=(worker, parent), name="streams-metrics", daemon=True).start()
    threading.Thread(target=parent.answer, args=(worker,), name="streams-answers", daemon=True).start()
    sys.exit(_obey(worker, orders, life))


class WorkerParent(ParentPipe):
    """Hands the parent's orders on, and lets the worker leave when the parent has ended, or at SIGTERM.

    Args:
        pipe: The pipe to the parent.
        orders: Gets the orders.
        close_s: How long the process may take to end by itself, in seconds.

    Attributes:
        worker: The worker, once it is made.
    """

    def __init__(self, pipe: Connection, orders: Orders, close_s: float = LONGEST_CLOSE_S) -> None:
        super().__init__(pipe)
        self.worker: WorkerThread | None = None
        self._orders = orders
        self._close_s = close_s
        self._questions: queue.SimpleQueue[AskStore] = queue.SimpleQueue()
        self._statuses: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._repeated = RepeatedSignals((signal.SIGTERM,))

    def start(self) -> None:
        """Begin. Call it on the main thread, before it imports the user's modules, which may block."""
        signal.signal(signal.SIGTERM, self._terminated)
        self._repeated.start()
        self._start(self._exit, "streams-process-end")
        self._follow()

    def answer(self, worker: WorkerThread) -> None:
        """Answer questions to stores, one after the other, for as long as the process lives."""
        while True:
            asked = self._questions.get()
            try:
                answered = StoreAnswered(asked.number, tuple(worker.ask(asked.question)))
            except InvalidStateStoreError as error:
                answered = StoreAnswered(asked.number, error=error)
            self.send(answered)

    def _obey(self, message: Order | AskStore) -> None:
        if isinstance(message, AskStore):
            self._questions.put(message)
        else:
            self._orders.put(message)

    def _leave(self, status: int = 1) -> None:
        self._statuses.put(status)
        self._orders.put(LeaveSoon(status))

    def _exit(self) -> None:
        exit_at_the_latest(self._statuses.get(), self._close_s)

    def _terminated(self, _signal: int, _frame: FrameType | None) -> None:
        if self._repeated.ran():
            self._leave(_TERMINATED)


def _made(program: WorkerProgram, number: int, life: ApplicationLife, parent: WorkerParent) -> WorkerThread:
    log_format = f"%(asctime)s %(levelname)s worker {number} %(name)s: %(message)s"
    logging.basicConfig(level=program.log_level, format=log_format)
    application = configured_application(program.build(), program.mapping, program.keywords, program.listeners)
    name = worker_name(application.config.application_id, number)
    uncaught = UncaughtErrors(application.config.uncaught_exception_handler)
    return WorkerThread(
        lambda: assembled_worker(application, program.process_id, number),
        life,
        name,
        uncaught,
        on_files=lambda files: parent.send(FilesOpened(files)),
    )


def _start(worker: WorkerThread, life: ApplicationLife, *, is_paused: bool) -> None:
    if is_paused:
        worker.pause()
    life.enter(StreamsState.REBALANCING)
    worker.start()


def _obey(worker: WorkerThread, orders: Orders, life: ApplicationLife) -> int:
    """Do what the parent says until the worker has ended. Return the exit status."""
    status = 0
    while not isinstance(order := taken(orders), WorkerEnded):
        if isinstance(order, LeaveSoon):
            status = order.status
        _do(worker, order)
    return 1 if life.state is StreamsState.ERROR else status


def _report(worker: WorkerThread, parent: ParentPipe) -> None:
    """Send metrics once a second until the worker or the parent ends."""
    pause = threading.Event()
    while worker.is_alive and not pause.wait(_METRICS_S):
        if not parent.send(_measured(worker)):
            return


def _measured(worker: WorkerThread) -> WorkerMeasured:
    return WorkerMeasured(worker.metrics(), worker.replaced, worker.places)


def _do(worker: WorkerThread, order: Order) -> None:
    if isinstance(order, StopWorker):
        worker.tell_to_stop(order.timeout_s, order.operation)
    elif isinstance(order, LeaveSoon):
        _log.warning("The worker ends: its parent process has ended, or it got SIGTERM")
        worker.tell_to_stop(LONGEST_CLOSE_S, GroupMembershipOperation.DEFAULT)
    elif isinstance(order, PauseWorker):
        worker.pause()
    elif isinstance(order, ResumeWorker):
        worker.resume()
    elif isinstance(order, AskShutdown):
        worker.request_shutdown()


def _tell(parent: WorkerParent, state: StreamsState, life: ApplicationLife, orders: Orders) -> None:
    try:
        # A program that has waited for RUNNING may ask at once which process has a key.
        if state is StreamsState.RUNNING and parent.worker is not None:
            parent.send(_measured(parent.worker))
        parent.send(WorkerChanged(state, None if life.error is None else reason_of(life.error)))
    finally:
        if life.has_ended:
            orders.put(WorkerEnded())
