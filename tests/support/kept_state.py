"""Folders of applications with stores on disk, made in this process, or by one that still has them open."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from kafka_groups import serdes
from kafka_groups.net.clock import SystemClock
from kafka_groups.streams import stores
from kafka_groups.streams.engines.application_folder import claim
from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.engines.machine import boot_id
from kafka_groups.streams.engines.marks import read_json, write_json
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.state.engine import Changes
from kafka_groups.streams.workers.state_directory import StateDirectory, application_folder
from kafka_groups.types import TaskId, TopicPartition
from tests.support.kept_states import NEVER

__all__ = [
    "ROWS",
    "WINDOWS",
    "changed_mark",
    "lmdb_folder",
    "open_application",
    "running_application",
    "written",
    "written_global",
]

APPLICATION = "shop/eu"
DEFINITIONS = (
    stores.key_value("counts", serdes.string, serdes.int64, persistent=True),
    stores.window(
        "visits", serdes.string, serdes.int64, size=timedelta(minutes=1), retention=timedelta(hours=1), persistent=True
    ),
)
ROWS = {b"": b"empty key", **{b"key%05d" % number: b"v" * 20 for number in range(5_000)}}
WINDOWS: Changes = {"visits@1": {b"a": b"1"}, "visits@2": {b"a": b"1", b"b": b"2"}}
CHANGELOG = TopicPartition("shop-counts-changelog", 1)

_PROGRAM = """
import sys
from pathlib import Path
from tests.support.kept_state import open_application

with open_application(Path(sys.argv[1])) as engine:
    print("open", flush=True)
    sys.stdin.read()
"""


@contextmanager
def open_application(state_dir: Path) -> Iterator[TaskEngine]:
    """An application with one task that has committed. It is closed in the end."""
    directory = StateDirectory(str(state_dir), APPLICATION)
    claim(directory.path, APPLICATION, "topology")
    engine = DiskEngines(directory.path, boot_id(), SystemClock()).open(TaskId("0", 1), DEFINITIONS)
    assert engine is not None
    engine.commit({"counts": ROWS, **WINDOWS}, {CHANGELOG: 7})
    yield engine
    engine.close()
    directory.close()


def written(state_dir: Path) -> Path:
    """The folder of an application that was closed."""
    with open_application(state_dir):
        return application_folder(str(state_dir), APPLICATION)


def written_global(state_dir: Path, number: int = 2) -> Path:
    """The folder of an application in which a worker has closed its global stores."""
    directory = StateDirectory(str(state_dir), APPLICATION)
    claim(directory.path, APPLICATION, "topology")
    engine = DiskEngines(directory.path, boot_id(), SystemClock(), number=number).open_global({"names": DEFINITIONS[0]})
    assert engine is not None
    engine.commit({"counts": {b"a": b"1"}}, {TopicPartition("names", 0): 3})
    engine.close()
    directory.close()
    return directory.path


@contextmanager
def running_application(state_dir: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """A process that has an application open. It closes it in the end."""
    command = [sys.executable, "-c", _PROGRAM, str(state_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield process


def lmdb_folder(state_dir: Path) -> Path:
    """The folder with LMDB's files of the task."""
    return next(state_dir.glob("app-*/tasks/0_1/1/lmdb"))


def changed_mark(state_dir: Path, **changes: Any) -> None:
    """Change the mark of the task's files. Openings are those without a commit."""
    never = {"transaction": NEVER} if "openings" in changes else {}
    path = lmdb_folder(state_dir).with_name("mark.json")
    write_json(path, {**(read_json(path) or {}), **never, **changes})
