"""Programs that stand in for a worker process, and one that a real worker process runs."""

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from kafka_groups.net.spawned_process import BLOCKED_SIGNALS
from kafka_groups.streams import StreamsState, Topology
from kafka_groups.streams.workers.application_metrics import StreamsMetric
from kafka_groups.streams.workers.worker_messages import WorkerChanged, WorkerMeasured
from tests.unit.streams.runtime.counting import counting


def obedient(_program: bytes, _number: int, pipe: Connection, _is_paused: bool) -> None:
    """Runs and ends as told."""
    pipe.send(WorkerChanged(StreamsState.RUNNING))
    pipe.recv()
    pipe.send(WorkerChanged(StreamsState.NOT_RUNNING))


def measured(_program: bytes, _number: int, pipe: Connection, _is_paused: bool) -> None:
    """Tells its metrics, and that it has replaced two workers, before it runs."""
    pipe.send(WorkerMeasured((StreamsMetric("group", "name", {}, 7.0),), replaced=2))
    obedient(_program, _number, pipe, _is_paused)


def hanging_at_its_end(_program: bytes, _number: int, pipe: Connection, _is_paused: bool) -> None:
    """Ends as told. A thread of the user's then keeps the process from exiting."""
    pipe.send(WorkerChanged(StreamsState.RUNNING))
    pipe.recv()
    threading.Thread(target=threading.Event().wait).start()
    pipe.send(WorkerChanged(StreamsState.NOT_RUNNING))


def failing_beside_one_that_hangs(_program: bytes, number: int, pipe: Connection, _is_paused: bool) -> None:
    """The first worker runs and obeys nobody, and the second one fails."""
    if number == 1:
        pipe.send(WorkerChanged(StreamsState.RUNNING))
        threading.Event().wait()
    pipe.send(WorkerChanged(StreamsState.ERROR, "a bug"))


def dying_of_damage(_program: bytes, _number: int, pipe: Connection, _is_paused: bool) -> None:
    """Is ended by a signal the first time, as by damaged files, and then runs and ends as told."""
    has_died = Path("has died")
    if has_died.exists():
        obedient(_program, _number, pipe, _is_paused)
    else:
        has_died.touch()
        pipe.send(WorkerChanged(StreamsState.REBALANCING))
        os.abort()


def slow_to_handle_signals(_program: bytes, _number: int, pipe: Connection, _is_paused: bool) -> None:
    """Tells which signals come while it is starting."""
    signal.raise_signal(signal.SIGINT)
    pending = signal.sigpending() & set(BLOCKED_SIGNALS)
    pipe.send(WorkerChanged(StreamsState.ERROR, f"pending: {[each.name for each in map(signal.Signals, pending)]}"))


def counting_beside_a_thread() -> Topology:
    """A topology whose module starts a thread that never ends, and is not a daemon."""
    threading.Thread(target=threading.Event().wait).start()
    return counting()


def never_built() -> Topology:
    """Hangs while a worker process starts."""
    Path(f"{multiprocessing.current_process().pid}.building").touch()
    threading.Event().wait()
    raise AssertionError("it waits forever")
