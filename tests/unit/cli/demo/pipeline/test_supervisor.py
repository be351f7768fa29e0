"""Workers get the word to go on, and the one whose turn it is gets SIGKILL instead."""

import asyncio
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kafka_groups.cli.demo.pipeline.messages import Message, MessageKind
from kafka_groups.cli.demo.pipeline.supervisor import Supervisor
from kafka_groups.cli.demo.pipeline.tally import PipelineTally, Verdict
from kafka_groups.errors import ConfigurationError

WORKER = """
import sys
from kafka_groups.cli.demo.pipeline.channel import DemoGoneError, WithWord
from pathlib import Path

class Counts:  # of one record that comes for the first time and one that comes for the second
    def __gt__(self, number):
        return self

    def sum(self):
        return 1

class Batch:
    delivery_counts = Counts()

    def __len__(self):
        return 2

process = WithWord(lambda batch: None, "flights", Path(sys.argv[1]))
try:
    for _ in range(int(sys.argv[2])):
        process(Batch())
except DemoGoneError:
    sys.exit(3)
print("done")
"""


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:  # the path of a socket must be short
        yield Path(directory) / "socket"


@pytest.fixture
def tally() -> PipelineTally:
    return PipelineTally(8)


class Kills:
    """The kills that fell due, and a way to wait for one."""

    def __init__(self) -> None:
        self.seen: list[tuple[Verdict, int]] = []
        self._changed = asyncio.Event()

    def add(self, verdict: Verdict, message: Message) -> None:
        self.seen.append((verdict, message.pid))
        self._changed.set()

    async def until(self, count: int) -> None:
        while len(self.seen) < count:
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), 60)


@pytest.fixture
async def kills() -> Kills:
    return Kills()


@pytest.fixture
async def supervisor(path: Path, tally: PipelineTally, kills: Kills) -> AsyncIterator[Supervisor]:
    async with Supervisor(path, tally, kills.add) as listening:
        yield listening


async def start(path: Path, batches: int) -> asyncio.subprocess.Process:
    command = [sys.executable, "-c", WORKER, str(path), str(batches)]
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


async def test_a_worker_goes_on_at_the_demos_word(path: Path, tally: PipelineTally, supervisor: Supervisor) -> None:
    tally.total = 1_000
    worker = await start(path, 5)
    output, _ = await worker.communicate()
    assert (worker.returncode, output.strip()) == (0, b"done")
    await supervisor.all_gone()
    assert (tally.delivered, tally.redelivered, tally.stored) == (10, 5, 10)
    last = supervisor.said(MessageKind.STORED)
    assert last == Message(kind=MessageKind.STORED, pid=worker.pid, table="flights", records=2)
    supervisor.forget()
    assert supervisor.said(MessageKind.STORED) is None


async def test_a_worker_is_killed_while_it_holds_what_it_stored(
    path: Path, tally: PipelineTally, supervisor: Supervisor, kills: Kills
) -> None:
    worker = await start(path, 5)
    assert await worker.wait() == -signal.SIGKILL
    assert kills.seen == [(Verdict.KILL_WORKER, worker.pid)]
    await supervisor.all_gone()
    other = await start(path, 5)
    await kills.until(2)
    assert kills.seen[1] == (Verdict.KILL_QUERY, other.pid)
    assert other.returncode is None  # it waits for a word that does not come
    assert supervisor.connected == 1
    supervisor.kill_workers()
    assert await other.wait() == -signal.SIGKILL
    await supervisor.all_gone()
    assert tally.kills == {Verdict.KILL_WORKER: 2, Verdict.KILL_QUERY: 2}


async def test_without_the_demo_a_worker_fails_and_releases(path: Path) -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_unix_server(hang_up, path):
        worker = await start(path, 1)
        await worker.wait()
    assert worker.returncode in (1, 3)  # the pipe is broken when it speaks, or closed when it listens


async def test_what_is_connected_is_killed_at_the_end(path: Path, kills: Kills) -> None:
    async with Supervisor(path, PipelineTally(1, kills={Verdict.KILL_WORKER: 1}), kills.add):
        worker = await start(path, 1)
        await kills.until(1)
        assert worker.returncode is None
    assert await worker.wait() == -signal.SIGKILL


async def test_a_path_that_is_too_long_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="TMPDIR"):
        await Supervisor(tmp_path / ("x" * 120), PipelineTally(1), Kills().add).__aenter__()
