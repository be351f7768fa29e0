"""Figures of handler workers, each from processes of its own against an embedded broker or a real Kafka."""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

from attrs import frozen
from confluent_kafka import Producer

from tests.benchmarks.children import Child, child
from tests.benchmarks.topics import new_group, new_topic, produce
from tests.benchmarks.workers import spinning
from tests.benchmarks.workers.waiting import HANDLER_S, WAITING_THREADS

__all__ = ["Handled", "delay_ms", "import_s", "memory_bytes", "output_rate", "rate", "skewed_rate", "spinning_rate"]

_TIMEOUT_S: Final = 400.0
_PROGRAMS: Final = "tests.benchmarks.workers.programs"
_OUTPUT_PROGRAMS: Final = "tests.benchmarks.workers.output_programs"
_WAITING: Final = "tests.benchmarks.workers.waiting"
_SKEWED_PARTITIONS: Final = 12
_MEMORY_PARTITIONS: Final = 8
_PER_SECOND: Final = 100
_SETTLE_S: Final = 4.0
_BEGIN_S: Final = 90.0
_POLL_S: Final = 0.05


@frozen
class Handled:
    """What a program did.

    Attributes:
        records: How many it handled.
        seconds: From the first one on.
        cpu_us: Processor time for each record, in µs, with the start of the program.
    """

    records: int
    seconds: float
    cpu_us: float

    @property
    def per_second(self) -> float:
        """Records in a second."""
        return self.records / self.seconds


def _result(module: str, *arguments: object, checkout: Path | None = None) -> Any:
    with child([sys.executable, "-m", module, *map(str, arguments)], checkout, timeout_s=_TIMEOUT_S) as process:
        return _read(process)


def _read(process: Child) -> Any:
    line = process.line()
    if not line.strip():
        raise process.failed("a program printed nothing")
    return json.loads(line)


def rate(servers: str, topic: str, kind: str, records: int, checkout: Path | None = None) -> Handled:
    """Return what a program did that handled so many records, with the package of another checkout if one is given."""
    result = _result(_PROGRAMS, kind, servers, topic, new_group(servers), records, checkout=checkout)
    return Handled(result["records"], result["seconds"], result["cpu_seconds"] / result["records"] * 1e6)


def output_rate(servers: str, topic: str, kind: str, records: int) -> Handled:
    """Return what a program did that wrote an output for each of so many records."""
    result = _result(_OUTPUT_PROGRAMS, kind, servers, topic, new_group(servers), records)
    return Handled(result["records"], result["seconds"], result["cpu_seconds"] / result["records"] * 1e6)


def delay_ms(servers: str, records: int, partitions: int) -> tuple[float, float]:
    """Return the median and the 99th percentile of the time from producing a record until its handler starts."""
    topic, group = new_topic(servers, partitions), new_group(servers)
    with child([sys.executable, "-m", _WAITING, "delay", servers, topic, group, str(records)]) as process:
        time.sleep(_SETTLE_S)
        producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "log_level": 3})
        for _ in range(records):
            producer.produce(topic, b"x" * 100)
            producer.poll(1 / _PER_SECOND)
        producer.flush()
        figures = _read(process)
    return float(figures["median_ms"]), float(figures["p99_ms"])


def memory_bytes(servers: str, handlers: int) -> float:
    """Return the memory of a worker with so many asynchronous handlers that wait, above that of an idle one."""
    topic = new_topic(servers, _MEMORY_PARTITIONS)
    produce(servers, topic, handlers, "large", _MEMORY_PARTITIONS)
    return float(_result(_WAITING, "memory", servers, topic, new_group(servers), handlers)["bytes"])


def skewed_rate(servers: str, seconds: float) -> tuple[float, float]:
    """Run two workers with handlers of 50 ms over a skewed topic.

    Returns:
        The rate as a part of the ideal one, and the longest time that a worker started nothing while records waited.
    """
    topic, group = new_topic(servers, _SKEWED_PARTITIONS), new_group(servers)
    ideal = 2 * WAITING_THREADS / HANDLER_S
    _produce_skewed(servers, topic, round(2 * ideal * seconds))
    command = [sys.executable, "-m", _WAITING, "slow", servers, topic, group, "0"]
    with child(command) as first, child(command) as second:
        time.sleep(_SETTLE_S + seconds)
        first.close_input()
        second.close_input()
        starts = [_read(first), _read(second)]
    begin, end = max(map(min, starts)), min(map(max, starts))
    inside = [[start for start in each if begin <= start <= end] for each in starts]
    return sum(map(len, inside)) / (end - begin) / ideal, max(map(_longest_gap, inside))


def _produce_skewed(servers: str, topic: str, records: int) -> None:
    producer = Producer({"bootstrap.servers": servers, "log_level": 3, "queue.buffering.max.messages": 1_000_000})
    weights = [1 / (number + 1) for number in range(_SKEWED_PARTITIONS)]
    for partition in random.Random(1).choices(range(_SKEWED_PARTITIONS), weights, k=records):
        producer.produce(topic, b"x", partition=partition)
    producer.flush()


def _longest_gap(starts: Sequence[float]) -> float:
    ordered = sorted(starts)
    return max((later - earlier for earlier, later in pairwise(ordered)), default=0.0)


def spinning_rate(
    servers: str,
    topic: str,
    processes: int,
    seconds: float,
    spin_s: float = spinning.USUAL_SPIN_S,
    checkout: Path | None = None,
) -> Handled:
    """Return what a worker did in so many processes, whose handler takes 200 µs of Python if not told otherwise.

    Its records are those that began while all processes handled some.
    """
    with tempfile.TemporaryDirectory() as directory:
        settings = {
            spinning.DIRECTORY: directory,
            spinning.GROUP: new_group(servers),
            spinning.SERVERS: servers,
            spinning.TOPIC: topic,
            spinning.SPIN_S: str(spin_s),
            spinning.PROCESSES: str(processes),
        }
        cpu_s = _spun(processes, seconds, settings, checkout)
        starts = [json.loads(path.read_text()) for path in Path(directory).glob(spinning.STARTS)]
    begin, end = max(map(min, starts)), min(map(max, starts))
    count = sum(begin <= start <= end for each in starts for start in each)
    return Handled(count, end - begin, cpu_s / sum(map(len, starts)) * 1e6)


def _spun(processes: int, seconds: float, settings: Mapping[str, str], checkout: Path | None) -> float:
    """Let the worker run, and return the processor time of all its processes."""
    command = [sys.executable, "-m", spinning.__name__, str(processes)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with child(command, checkout, {**os.environ, **settings}, timeout_s=_TIMEOUT_S, passes_errors_on=False) as running:
        _wait_for_first_records(running, Path(settings[spinning.DIRECTORY]), processes)
        time.sleep(seconds)
        running.close_input()
        if running.process.wait() != 0:
            raise running.failed("the worker failed")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _wait_for_first_records(running: Child, directory: Path, processes: int) -> None:
    deadline_s = time.monotonic() + _BEGIN_S
    while (begun := len(list(directory.glob(spinning.BEGUN)))) < processes:
        if running.process.poll() is not None or time.monotonic() > deadline_s:
            raise running.failed(f"{begun} of {processes} processes handled records")
        time.sleep(_POLL_S)


def import_s(rounds: int) -> float:
    """Return the median of the seconds that importing `Worker` takes."""
    code = "import time; t = time.perf_counter(); from kafka_groups import Worker; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", code]
    return median(
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(rounds)
    )
