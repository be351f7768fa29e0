"""What stores on disk do on a disk that is full: `python -m tests.support.full_disk SCENE FOLDER`.

The folder is a small file system, which this process sees alone. A scene that goes wrong ends with an error.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from kafka_groups.net.clock import SystemClock
from kafka_groups.streams.engines.machine import boot_id
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.engines.owned_engine import DiskEngine
from kafka_groups.streams.errors import StateDiskError
from kafka_groups.testing.clock import ManualClock
from kafka_groups.types import TaskId, TopicPartition
from tests.support.kept_states import CHANGELOG, PERSISTENT, TASK
from tests.unit.streams.runtime.counting import INPUT, Process, brokers, restored

__all__ = ["SCENES", "run_scene", "why_no_disk"]

_ROOT = Path(__file__).parents[2]
_DISK_BYTES = 4 << 20


class Ballast:
    """A file that takes all the room that is left."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ballast"

    def fill(self) -> None:
        """Take what is free."""
        with self._path.open("ab", buffering=0) as file:
            for size in (1 << 16, 1 << 12):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    def drop(self) -> None:
        """Free it."""
        self._path.unlink()


def _is_full(error: BaseException) -> bool:
    text = str(error)
    return ("No space left on device" in text or "Input/output error" in text) and "bytes are free there" in text


def _rows(first: int) -> dict[bytes, bytes | None]:
    return {b"%07d" % number: os.urandom(100) for number in range(first, first + 500)}


def commits(folder: Path) -> None:
    """Commit until the disk is full, and go on when there is room: what was committed is there, and nothing else."""
    engine = DiskEngines(folder, boot_id(), SystemClock()).open(TASK, [PERSISTENT])
    assert isinstance(engine, DiskEngine)
    ballast, kept = Ballast(folder), dict[bytes, bytes | None]()

    def more() -> None:
        rows, number = _rows(len(kept)), len(kept) // 500 + 1
        engine.commit({"counts": rows}, {CHANGELOG: number})
        kept.update(rows)

    def until_it_fails() -> None:
        while True:
            more()

    for _ in range(5):
        more()
    ballast.fill()
    with pytest.raises(StateDiskError) as caught:
        until_it_fails()
    assert _is_full(caught.value), caught.value
    _check(engine, kept)
    ballast.drop()
    more()
    _check(engine, kept)
    engine.close()
    again = DiskEngines(folder, boot_id(), SystemClock()).open(TASK, [PERSISTENT])
    assert isinstance(again, DiskEngine)
    _check(again, kept)
    again.close()


def _check(engine: DiskEngine, rows: dict[bytes, bytes | None]) -> None:
    assert dict(engine.table("counts").scan(b"", None)) == rows
    assert engine.positions == {CHANGELOG: len(rows) // 500}


def opening(folder: Path) -> None:
    """Open a task on a full disk, which fails, and again when there is room."""
    ballast, engines = Ballast(folder), DiskEngines(folder / "app", boot_id(), SystemClock())
    ballast.fill()
    with pytest.raises(StateDiskError, match="No space left on device"):
        engines.open(TASK, [PERSISTENT])
    ballast.drop()
    engine = engines.open(TASK, [PERSISTENT])
    assert isinstance(engine, DiskEngine)
    engine.commit({"counts": {b"k": b"v"}}, {CHANGELOG: 1})
    engine.close()


def worker(folder: Path) -> None:
    """Let a worker count while the disk is full: it does not end, and its task goes on when there is room."""
    asyncio.run(_worker(folder))


async def _worker(folder: Path) -> None:
    ballast, kafka = Ballast(folder), brokers()
    process = Process(kafka, engines=DiskEngines(folder / "app", boot_id(), ManualClock()))
    process.member.assign("0_0")
    await process.worker.start()
    await process.turn_until(lambda: process.worker.is_running)
    ballast.fill()
    words = [f"{number:0400}" for number in range(500)]
    for word in words:
        kafka.produce("words", word, "")
    await process.turn_until(lambda: process.worker._manager.obstacles)
    assert any("free there" in each or "cannot be used" in each for each in process.worker._manager.obstacles)
    assert process.has_committed(len(words)), "the group has the offsets"
    ballast.drop()
    await process.turn_until(lambda: process.worker.is_running)
    table = process.worker.tasks[TaskId("0", 0)].engine.table("counts")
    assert {key.decode() for key, _ in table.scan(b"", None)} == restored(kafka).keys() == set(words)
    assert process.kafka.committed[TopicPartition(INPUT.topic, 0)].offset == len(words)
    await process.worker.close()


SCENES: dict[str, Callable[[Path], None]] = {each.__name__: each for each in (commits, opening, worker)}


# ------------------------------------------------------------------------------------------------------------ its disk


def run_scene(name: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a scene on a disk of its own, which is mounted on a folder in a namespace of a new process."""
    return _with_disk(folder, sys.executable, "-m", __name__, name, str(folder))


@cache
def why_no_disk(folder: Path) -> str | None:
    """Return why this machine lets no process mount a disk, or None if it does."""
    try:
        done = _with_disk(folder, "true")
    except FileNotFoundError as error:
        return str(error)
    return (done.stderr.strip() or "mount failed") if done.returncode else None


def _with_disk(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    mounted = f'mount -t tmpfs -o size={_DISK_BYTES} none "$0" && exec "$@"'
    return subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, str(folder), *command],
        capture_output=True, text=True, cwd=_ROOT, timeout=120, check=False,
    )  # fmt: skip


if __name__ == "__main__":
    SCENES[sys.argv[1]](Path(sys.argv[2]))
