"""The program of a worker process: it works until its parent tells it to stop, or is gone."""

import logging
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from types import FrameType

from kafka_groups.streams.member.rules.member_events import GroupMembershipOperation
from kafka_groups.streams.runtime.application_state import ApplicationLife, StreamsState
from kafka_groups.streams.runtime.assembly import assembled_worker
from kafka_groups.streams.runtime.configured import configured_application
from kafka_groups.streams.runtime.pickled import WorkerProgram
from kafka_groups.streams.runtime.worker_messages import (
    AskShutdown,
    PauseWorker,
    ResumeWorker,
    StopWorker,
    WorkerChanged,
    WorkerMeasured,
)
from kafka_groups.streams.runtime.worker_thread import WorkerThread

__all__ = ["work"]

_log = logging.getLogger(__name__)

_LONGEST_CLOSE_S = 10.0
"""The longest time that a worker takes to close its tasks if nobody waits for it."""

_METRICS_S = 1.0
_SENDING = threading.Lock()
"""The worker's thread sends its state, and another one its metrics."""

_TERMINATED = 128 + signal.SIGTERM


class _TerminatedError(Exception):
    """The worker got SIGTERM."""


def work(program: WorkerProgram, number: int, pipe: Connection, is_paused: bool) -> None:  # noqa: FBT001 - a process gets no keywords
    """Run a worker. The exit status is 0 if it ended as it should."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, too, which stops its workers in order
    signal.signal(signal.SIGTERM, _terminated)
    _log_with_number(number, program.log_level)
    life = ApplicationLife(lambda state, _before: _tell(pipe, state, life))
    try:
        worker = _started(program, number, life, is_paused=is_paused)
    except Exception as error:
        _log.exception("The worker cannot start")
        pipe.send(WorkerChanged(StreamsState.ERROR, str(error)))
        sys.exit(1)
    threading.Thread(target=_report, args=(worker, pipe), name="streams-metrics", daemon=True).start()
    _obey(worker, pipe)


def _started(program: WorkerProgram, number: int, life: ApplicationLife, *, is_paused: bool) -> WorkerThread:
    application = configured_application(program.build(), program.mapping, program.keywords, program.listeners)
    name = f"streams-{application.config.application_id}-{number}"
    worker = WorkerThread(lambda: assembled_worker(application, program.process_id, number), life, name)
    if is_paused:
        worker.pause()
    life.enter(StreamsState.REBALANCING)
    worker.start()
    return worker


def _obey(worker: WorkerThread, pipe: Connection) -> None:
    try:
        while not isinstance(told := pipe.recv(), StopWorker):
            _do(worker, told)
    except (EOFError, OSError):
        _log.warning("The parent process has ended, so its worker ends")
        _leave_soon(worker, 1)
    except _TerminatedError:
        _leave_soon(worker, _TERMINATED)
    else:
        worker.stop(None, told.operation)


def _report(worker: WorkerThread, pipe: Connection) -> None:
    """Send metrics once a second until the worker ends. On the main thread, SIGTERM could cut a message."""
    pause = threading.Event()
    while worker.is_alive and not pause.wait(_METRICS_S):
        metrics = worker.metrics()
        try:
            with _SENDING:
                pipe.send(WorkerMeasured(metrics))
        except OSError:
            return  # the main thread sees that the parent is gone


def _do(worker: WorkerThread, told: AskShutdown | PauseWorker | ResumeWorker) -> None:
    if isinstance(told, PauseWorker):
        worker.pause()
    elif isinstance(told, ResumeWorker):
        worker.resume()
    else:
        worker.request_shutdown()


def _leave_soon(worker: WorkerThread, status: int) -> None:
    if worker.stop(_LONGEST_CLOSE_S, GroupMembershipOperation.DEFAULT):
        sys.exit(status)
    os._exit(status)  # code of the application does not return


def _tell(pipe: Connection, state: StreamsState, life: ApplicationLife) -> None:
    error = None if life.error is None else f"{life.error}"
    try:
        with _SENDING:
            pipe.send(WorkerChanged(state, error))
    except OSError:
        _log.debug("The parent process does not hear that the worker is %s", state.name)


def _terminated(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _TerminatedError


def _log_with_number(number: int, level: int) -> None:
    logging.basicConfig(level=level, format=f"%(asctime)s %(levelname)s worker {number} %(name)s: %(message)s")
