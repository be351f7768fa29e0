"""A worker whose handler takes 200 µs of Python for each record, in one process or several.

`python -m tests.benchmarks.workers.spinning PROCESSES` runs until its standard input closes. Each process then writes
the times at which its handlers started to a file. Settings come from the environment, as the processes import this.
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

__all__ = ["DIRECTORY", "GROUP", "SERVERS", "TOPIC"]

DIRECTORY: Final = "KAFKA_GROUPS_SPINNING_DIRECTORY"
GROUP: Final = "KAFKA_GROUPS_SPINNING_GROUP"
SERVERS: Final = "KAFKA_GROUPS_SPINNING_SERVERS"
TOPIC: Final = "KAFKA_GROUPS_SPINNING_TOPIC"

_SPIN_S: Final = 200e-6
_starts: list[float] = []


@contextmanager
def _written() -> Iterator[None]:
    """Write the times of this process when it ends."""
    yield
    if _starts:
        Path(os.environ[DIRECTORY], f"{os.getpid()}.json").write_text(json.dumps(_starts))


worker = Worker(
    os.environ.get(GROUP, "spinning"), bootstrap_servers=os.environ.get(SERVERS, "localhost:9092"), lifespan=_written
)


@worker.handler(os.environ.get(TOPIC, "spinning"), concurrency=1)
def spin(value: bytes) -> None:
    """Keep a processor busy for 200 µs."""
    began = time.perf_counter()
    _starts.append(time.monotonic())
    while time.perf_counter() - began < _SPIN_S:
        pass


def _end_with_stdin() -> None:
    sys.stdin.read()
    worker.stop(timeout=0)


if __name__ == "__main__":
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    worker.run(processes=int(sys.argv[1]))
