import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from kafka_groups.cli.demo.plain.events import EventKind, WorkerEvent
from kafka_groups.cli.demo.plain.processes import WorkerProcess

HOLDING = """
import signal, sys
print("joined 0 0", flush=True)
print("received 500 3", flush=True)
signal.pause()
"""
SPLIT = """
import os
os.write(1, b"received 5")
os.write(1, b"00 3\\nstored 500 0\\n")
"""
FAILING = """
import sys
sys.exit("no such broker")
"""


class Events:
    """The events of a worker, and a way to wait for one of a kind."""

    def __init__(self) -> None:
        self.seen: list[WorkerEvent] = []
        self._changed = asyncio.Event()

    def add(self, _number: int, event: WorkerEvent) -> None:
        self.seen.append(event)
        self._changed.set()

    async def until(self, kind: EventKind) -> None:
        while kind not in {event.kind for event in self.seen}:
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), 20)


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


Start = Callable[[str], WorkerProcess]


@pytest.fixture
async def events() -> Events:
    return Events()


@pytest.fixture
async def start(tmp_path: Path, events: Events) -> AsyncIterator[Start]:
    started: list[WorkerProcess] = []

    def starter(program: str) -> WorkerProcess:
        worker = WorkerProcess(0, [sys.executable, "-c", program], tmp_path / "log", events.add)
        started.append(worker)
        return worker

    yield starter
    for worker in started:
        worker.close()


async def test_events_arrive_in_order(start: Start, events: Events) -> None:
    start(HOLDING)
    await events.until(EventKind.RECEIVED)
    assert events.seen == [WorkerEvent(EventKind.JOINED), WorkerEvent(EventKind.RECEIVED, 500, 3)]


async def test_event_in_two_writes_is_put_together(start: Start, events: Events) -> None:
    worker = start(SPLIT)
    await events.until(EventKind.STORED)
    assert events.seen == [WorkerEvent(EventKind.RECEIVED, 500, 3), WorkerEvent(EventKind.STORED, 500)]
    assert await worker.ended() == 0


async def test_paused_worker_is_stopped_and_can_go_on_or_be_killed(start: Start, events: Events) -> None:
    worker = start(HOLDING)
    await events.until(EventKind.RECEIVED)
    assert worker.pause()
    assert state_of(worker.pid) == "T"
    worker.resume()
    assert worker.running
    assert worker.pause()
    worker.kill()
    assert await worker.ended() == -signal.SIGKILL


async def test_ended_worker_cannot_be_paused(start: Start) -> None:
    worker = start("")
    await asyncio.to_thread(os.waitid, os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    assert not worker.pause()


async def test_terminated_worker_ends(start: Start, events: Events) -> None:
    worker = start(HOLDING)
    await events.until(EventKind.RECEIVED)
    worker.terminate()
    assert await worker.ended() == -signal.SIGTERM


async def test_failure_says_what_the_worker_said(start: Start) -> None:
    worker = start(FAILING)
    assert await worker.ended() == 1
    assert str(worker.failure()) == "Worker 0 ended with status 1: no such broker"


async def test_close_ends_the_process_and_may_be_repeated(start: Start) -> None:
    worker = start(HOLDING)
    worker.close()
    worker.close()
    assert not worker.running
