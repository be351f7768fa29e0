"""Worker processes end, whatever the user's code does while they start or stop."""

import multiprocessing
import os
import pickle
import queue
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from kafka_groups.streams import StreamsState, Topology
from kafka_groups.streams.runtime.restore_listeners import RestoreListeners
from kafka_groups.streams.workers.pickled import WorkerProgram
from kafka_groups.streams.workers.worker_messages import LeaveSoon, Orders
from kafka_groups.streams.workers.worker_process import WorkerParent, work
from tests.support.conditions import wait_until
from tests.unit.streams.workers.worker_programs import counting_beside_a_thread, never_built

SPAWN = multiprocessing.get_context("spawn")


def started(build: Callable[[], Topology]) -> tuple[BaseProcess, Connection]:
    """A real worker process, whose broker does not exist."""
    given = {"application.id": "app", "bootstrap.servers": "localhost:1", "num.workers": 2}
    program = WorkerProgram(
        build=build, mapping=given, keywords={}, listeners=RestoreListeners(), process_id="", log_level=30
    )
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=work, args=(pickle.dumps(program), 1, theirs, False), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def test_the_worker_leaves_when_its_parent_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    orders: Orders = queue.SimpleQueue()
    ends: queue.SimpleQueue[int] = queue.SimpleQueue()
    before = [(number, signal.getsignal(number)) for number in (signal.SIGTERM, signal.SIGINT)]
    ours, theirs = SPAWN.Pipe()
    parent = WorkerParent(theirs, orders, close_s=0.01)
    monkeypatch.setattr(os, "getppid", lambda: 1)
    monkeypatch.setattr(os, "_exit", ends.put)
    try:
        parent.start()
        assert orders.get(timeout=30) == LeaveSoon(1)
        assert ends.get(timeout=30) == 1
    finally:
        for number, handler in before:
            signal.signal(number, handler)
        ours.close()


@pytest.mark.slow
def test_a_worker_that_hangs_while_it_starts_ends_with_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    process, pipe = started(never_built)
    wait_until(lambda: list(tmp_path.glob("*.building")), 30)
    pipe.close()
    process.join(30)
    assert process.exitcode == 1


@pytest.mark.slow
def test_a_worker_whose_threads_never_end_ends_with_its_parent_or_after_a_signal() -> None:
    first, second = started(counting_beside_a_thread), started(counting_beside_a_thread)
    for _, pipe in (first, second):
        assert pipe.recv().state is StreamsState.REBALANCING
    first[1].close()
    second[0].terminate()
    for process, _ in (first, second):
        process.join(40)
    assert (first[0].exitcode, second[0].exitcode) == (1, 128 + signal.SIGTERM)
