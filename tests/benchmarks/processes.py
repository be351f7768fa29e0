"""The processes of a benchmark: consumers and producers, each with an interpreter of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

from tests.benchmarks.children import Child, child
from tests.benchmarks.consumers import READY, Outcome, Task
from tests.benchmarks.topics import PARTITIONS

_TIMEOUT_S = 900


class ConsumerProcess:
    """A consumer that runs; made by `consuming`."""

    def __init__(self, running: Child) -> None:
        self._running = running

    def wait_until_ready(self) -> None:
        """Wait until it has its first records."""
        line = self._running.line().strip()
        if line != READY:
            raise self._running.failed(f"the consumer said {line!r}")

    def outcome(self) -> Outcome:
        """Wait until it has read everything; what it took."""
        line = self._running.line()
        if not line or self._running.process.wait(_TIMEOUT_S) != 0:
            raise self._running.failed("the consumer failed")
        return Outcome(**json.loads(line))


@contextmanager
def consuming(task: Task, checkout: Path | None = None) -> Iterator[ConsumerProcess]:
    """A consumer in a process of its own, ended with the block; of another checkout of this project if one is given."""
    told = attrs.asdict(task)
    if not task.keys:  # earlier checkouts do not know them
        del told["keys"]
    with child([sys.executable, "-m", "tests.benchmarks.consumers", json.dumps(told)], checkout) as running:
        try:
            yield ConsumerProcess(running)
        finally:
            running.process.kill()


def consumed(task: Task, checkout: Path | None = None) -> Outcome:
    """What a consumer took."""
    with consuming(task, checkout) as consumer:
        consumer.wait_until_ready()
        return consumer.outcome()


def produce(bootstrap_servers: str, topic: str, records: int, batches: str, partitions: int = PARTITIONS) -> float:
    """Write records from a process of its own; when it began, on the machine's monotonic clock."""
    arguments = [bootstrap_servers, topic, str(records), batches, str(partitions)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.producer", *arguments],
        stdout=subprocess.PIPE, text=True, check=True, timeout=_TIMEOUT_S,
    )  # fmt: skip
    return float(done.stdout)
