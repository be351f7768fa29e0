"""Figures of handler workers, each from processes of its own against an embedded broker or a real Kafka."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

from confluent_kafka import Producer

from tests.benchmarks.children import Child, child
from tests.benchmarks.topics import new_group, new_topic, produce
from tests.benchmarks.workers import spinning
from tests.benchmarks.workers.waiting import HANDLER_S, WAITING_THREADS

__all__ = ["delay_ms", "import_s", "memory_bytes", "rate", "skewed_rate", "spinning_rate"]

_TIMEOUT_S: Final = 400.0
_PROGRAMS: Final = "tests.benchmarks.workers.programs"
_WAITING: Final = "tests.benchmarks.workers.waiting"
_SKEWED_PARTITIONS: Final = 12
_MEMORY_PARTITIONS: Final = 8
_PER_SECOND: Final = 100
_SETTLE_S: Final = 4.0


def _result(module: str, *arguments: object) -> Any:
    with child([sys.executable, "-m", module, *map(str, arguments)], timeout_s=_TIMEOUT_S) as process:
        return _read(process)


def _read(process: Child) -> Any:
    line = process.line()
    if not line.strip():
        raise process.failed("a program printed nothing")
    return json.loads(line)


def rate(servers: str, topic: str, kind: str, records: int) -> float:
    """Return the records a second of a program."""
    result = _result(_PROGRAMS, kind, servers, topic, new_group(servers), records)
    return float(result["records"]) / float(result["seconds"])


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


def spinning_rate(servers: str, topic: str, processes: int, seconds: float) -> float:
    """Return the records a second of a worker whose handler takes 200 µs of Python, in so many processes."""
    with tempfile.TemporaryDirectory() as directory:
        settings = {
            spinning.DIRECTORY: directory,
            spinning.GROUP: new_group(servers),
            spinning.SERVERS: servers,
            spinning.TOPIC: topic,
        }
        command = [sys.executable, "-m", spinning.__name__, str(processes)]
        done = subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, **settings})
        time.sleep(_SETTLE_S + seconds)
        done.communicate(timeout=_TIMEOUT_S)
        starts = [json.loads(path.read_text()) for path in Path(directory).iterdir()]
    if len(starts) != processes:
        raise RuntimeError(f"{len(starts)} of {processes} processes handled records")
    begin, end = max(map(min, starts)), min(map(max, starts))
    count = sum(begin <= start <= end for each in starts for start in each)
    return float(count / (end - begin))


def import_s(rounds: int) -> float:
    """Return the median of the seconds that importing `Worker` takes."""
    code = "import time; t = time.perf_counter(); from kafka_groups import Worker; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", code]
    return median(
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(rounds)
    )
