"""Worker processes: their reports, and how they end."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from kafka_groups.cli.demo.plain.worker_processes import WorkerFailedError, WorkerProcess

HOLDING = """
import signal
print('{"delivered": 500, "redelivered": 3}', flush=True)
print('{"held": 500}', flush=True)
signal.pause()
"""
SPLIT = """
import os
os.write(1, b'{"delivered": 5')
os.write(1, b'00}\\n{"accepted": 500}\\n')
"""
FAILING = """
import sys
sys.exit("no such broker")
"""
HELD = [{"delivered": 500, "redelivered": 3}, {"held": 500}]

Start = Callable[[str], Awaitable[WorkerProcess]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    started: list[WorkerProcess] = []

    async def starter(program: str) -> WorkerProcess:
        started.append(await WorkerProcess.start(0, [sys.executable, "-c", program], tmp_path / "log"))
        return started[-1]

    yield starter
    for worker in started:
        worker.kill()
        async for _ in worker.reports():
            pass


class Reports(list[dict[str, int]]):
    """The reports of a worker."""

    async def read(self, worker: WorkerProcess, until: str | None = None) -> None:
        """Read until a report has a name, or until the worker ends."""
        async with asyncio.timeout(20):
            async for report in worker.reports():
                self.append(report)
                if until in report:
                    return


def wait_until_it_has_ended(worker: WorkerProcess) -> None:
    """Wait for a worker's end and leave its status to others."""
    with suppress(ChildProcessError):  # asyncio has taken it already
        os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)


async def test_reports_arrive_in_order(start: Start) -> None:
    reports = Reports()
    await reports.read(await start(HOLDING), until="held")
    assert reports == HELD


@pytest.mark.parametrize(
    ("end", "sent"), [(WorkerProcess.kill, signal.SIGKILL), (WorkerProcess.terminate, signal.SIGTERM)]
)
async def test_a_worker_that_is_told_to_end_ends_without_an_error(
    start: Start, end: Callable[[WorkerProcess], None], sent: int
) -> None:
    worker, reports = await start(HOLDING), Reports()
    await reports.read(worker, until="held")
    end(worker)
    wait_until_it_has_ended(worker)
    end(worker)
    await reports.read(worker)
    assert reports == HELD
    assert f"status={-sent}>" in repr(worker)


@pytest.mark.parametrize(
    ("program", "said", "expected"),
    [
        ("", "ended with status 0: it wrote no output", []),
        (FAILING, "ended with status 1: no such broker", []),
        (SPLIT, "ended with status 0: it wrote no output", [{"delivered": 500}, {"accepted": 500}]),
    ],
)
async def test_a_worker_that_ends_by_itself_is_an_error_after_its_reports(
    start: Start, program: str, said: str, expected: list[dict[str, int]]
) -> None:
    worker, reports = await start(program), Reports()
    with pytest.raises(WorkerFailedError) as raised:
        await reports.read(worker)
    assert str(raised.value) == f"Worker 0 {said}"
    assert reports == expected


async def test_a_line_that_is_no_report_is_an_error(start: Start) -> None:
    worker = await start("print('received 500 3')")
    with pytest.raises(json.JSONDecodeError):
        await Reports().read(worker)
