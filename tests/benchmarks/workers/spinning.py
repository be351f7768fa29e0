"""A worker whose handler takes 200 µs of Python for each record, or another time, in one process or several.

`python -m tests.benchmarks.workers.spinning PROCESSES` runs until its standard input closes. The processes wait for
each other before they handle records. Each makes an empty file with its first record, and when it ends, one with the
times at which its handlers started. Settings come from the environment, as the processes import this.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kafka_groups import Worker

__all__ = ["BEGUN", "DIRECTORY", "GROUP", "PROCESSES", "SERVERS", "SPIN_S", "STARTS", "TOPIC", "USUAL_SPIN_S"]

DIRECTORY: Final = "KAFKA_GROUPS_SPINNING_DIRECTORY"
GROUP: Final = "KAFKA_GROUPS_SPINNING_GROUP"
SERVERS: Final = "KAFKA_GROUPS_SPINNING_SERVERS"
TOPIC: Final = "KAFKA_GROUPS_SPINNING_TOPIC"
SPIN_S: Final = "KAFKA_GROUPS_SPINNING_SECONDS"

PROCESSES: Final = "KAFKA_GROUPS_SPINNING_PROCESSES"

BEGUN: Final = "*.begun"
"""The files of processes that have handled a record."""
STARTS: Final = "*.json"
"""The files with the times."""

USUAL_SPIN_S: Final = 200e-6
_SPIN_S: Final = float(os.environ.get(SPIN_S, USUAL_SPIN_S))
_HERE: Final = "*.here"
_TOGETHER_S: Final = 60.0
_POLL_S: Final = 0.005
_starts: list[float] = []


@contextmanager
def _written() -> Iterator[None]:
    """Wait for the other processes, and write the times of this one when it ends."""
    _begin_together(Path(os.environ[DIRECTORY]), int(os.environ[PROCESSES]))
    yield
    if _starts:
        _file(STARTS).write_text(json.dumps(_starts))


def _file(pattern: str) -> Path:
    return Path(os.environ[DIRECTORY], pattern.replace("*", str(os.getpid())))


def _begin_together(directory: Path, processes: int) -> None:
    """Wait until all processes are here, or the first would have handled much before the last one starts."""
    _file(_HERE).touch()
    deadline_s = time.monotonic() + _TOGETHER_S
    while len(list(directory.glob(_HERE))) < processes:
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"there are no {processes} processes after {_TOGETHER_S:.0f} s")
        time.sleep(_POLL_S)


worker = Worker(
    os.environ.get(GROUP, "spinning"), bootstrap_servers=os.environ.get(SERVERS, "localhost:9092"), lifespan=_written
)


@worker.handler(os.environ.get(TOPIC, "spinning"), concurrency=1)
def spin(value: bytes) -> None:
    """Keep a processor busy for so long."""
    began = time.perf_counter()
    if not _starts:
        _file(BEGUN).touch()
    _starts.append(time.monotonic())
    while time.perf_counter() - began < _SPIN_S:
        pass


def _end_with_stdin() -> None:
    sys.stdin.read()
    worker.stop(timeout=0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    worker.run(processes=int(sys.argv[1]))
