"""The program of a worker process: it works until its parent tells it to stop, or is gone."""

import logging
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
from multiprocessing.connection import Connection

from kafka_groups.net.spawned_process import BLOCKED_SIGNALS
from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.workers.application_state import ApplicationLife, StreamsState
from kafka_groups.streams.workers.assembly import assembled_worker
from kafka_groups.streams.workers.configured import configured_application
from kafka_groups.streams.workers.pickled import WorkerProgram
from kafka_groups.streams.workers.process_end import LONGEST_CLOSE_S, ProcessEnd, read_orders
from kafka_groups.streams.workers.uncaught import UncaughtErrors
from kafka_groups.streams.workers.worker_messages import (
    AskShutdown,
    LeaveSoon,
    Order,
    Orders,
    PauseWorker,
    ResumeWorker,
    StopWorker,
    WorkerChanged,
    WorkerEnded,
    WorkerMeasured,
)
from kafka_groups.streams.workers.worker_thread import WorkerThread, worker_name

__all__ = ["work"]

_log = logging.getLogger(__name__)

_METRICS_S = 1.0
_SENDING = threading.Lock()
"""The worker's thread sends its state, and another one its metrics."""


def work(program: bytes, number: int, pipe: Connection, is_paused: bool) -> None:  # noqa: FBT001 - a process gets no keywords
    """Run a worker. The exit status is 0 if it ended as it should.

    Args:
        program: The pickled `WorkerProgram`: to read it here means that a module of the user's may take its time.
        number: The number of the worker, from 1.
        pipe: The way from and to the parent.
        is_paused: Whether the application is paused.
    """
    orders: Orders = queue.SimpleQueue()
    parent = multiprocessing.parent_process()
    end = ProcessEnd(orders, os.getppid() if parent is None or parent.pid is None else parent.pid)
    _take_signals(end)
    threading.Thread(target=read_orders, args=(pipe, orders, end), name="streams-orders", daemon=True).start()
    life = ApplicationLife(lambda state, _before: _tell(pipe, state, life, orders))
    try:
        worker = _started(pickle.loads(program), number, life, is_paused=is_paused)  # noqa: S301 - from the parent
    except Exception as error:
        _log.exception("The worker cannot start")
        pipe.send(WorkerChanged(StreamsState.ERROR, str(error)))
        sys.exit(1)
    threading.Thread(target=_report, args=(worker, pipe), name="streams-metrics", daemon=True).start()
    sys.exit(_obey(worker, orders, life))


def _take_signals(end: ProcessEnd) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, too, which stops its workers in order
    end.start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED_SIGNALS)


def _started(program: WorkerProgram, number: int, life: ApplicationLife, *, is_paused: bool) -> WorkerThread:
    _log_with_number(number, program.log_level)
    application = configured_application(program.build(), program.mapping, program.keywords, program.listeners)
    name = worker_name(application.config.application_id, number)
    uncaught = UncaughtErrors(application.config.uncaught_exception_handler)
    worker = WorkerThread(lambda: assembled_worker(application, program.process_id, number), life, name, uncaught)
    if is_paused:
        worker.pause()
    life.enter(StreamsState.REBALANCING)
    worker.start()
    return worker


def _obey(worker: WorkerThread, orders: Orders, life: ApplicationLife) -> int:
    """Do what the parent says until the worker has ended. Return the exit status."""
    status = 0
    while not isinstance(order := orders.get(), WorkerEnded):
        if isinstance(order, LeaveSoon):
            status = order.status
        _do(worker, order)
    return 1 if life.state is StreamsState.ERROR else status


def _report(worker: WorkerThread, pipe: Connection) -> None:
    """Send metrics once a second until the worker ends."""
    pause = threading.Event()
    while worker.is_alive and not pause.wait(_METRICS_S):
        measured = WorkerMeasured(worker.metrics(), worker.replaced)
        try:
            with _SENDING:
                pipe.send(measured)
        except OSError:
            return  # the thread that takes the orders sees that the parent is gone


def _do(worker: WorkerThread, order: Order) -> None:
    if isinstance(order, StopWorker):
        worker.tell_to_stop(order.timeout_s, order.operation)
    elif isinstance(order, LeaveSoon):
        _log.warning("The worker has to end: its parent process has ended, or it got SIGTERM")
        worker.tell_to_stop(LONGEST_CLOSE_S, GroupMembershipOperation.DEFAULT)
    elif isinstance(order, PauseWorker):
        worker.pause()
    elif isinstance(order, ResumeWorker):
        worker.resume()
    elif isinstance(order, AskShutdown):
        worker.request_shutdown()


def _tell(pipe: Connection, state: StreamsState, life: ApplicationLife, orders: Orders) -> None:
    error = None if life.error is None else f"{life.error}"
    try:
        with _SENDING:
            pipe.send(WorkerChanged(state, error))
    except OSError:
        _log.debug("The parent process does not hear that the worker is %s", state.name)
    finally:
        if life.has_ended:
            orders.put(WorkerEnded())


def _log_with_number(number: int, level: int) -> None:
    logging.basicConfig(level=level, format=f"%(asctime)s %(levelname)s worker {number} %(name)s: %(message)s")
