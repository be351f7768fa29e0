"""The consumers that are compared; each run of one is a process of its own.

`python -m tests.benchmarks.consumers '{"client": "ours", …}'` consumes and prints what it took as one line of JSON.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any, Protocol

import attrs
import confluent_kafka
from attrs import field, frozen

from kafka_groups.share import KafkaShareConsumer
from kafka_groups.types import AcknowledgeType

MODES = ("implicit", "explicit")
ONE_BY_ONE = "one by one"
"""A mode of our own client: explicit, with a `commit_sync` for each record."""

READY = "ready"
"""The line that a consumer prints when it has its first records."""

KEYS_VARIABLE = "KAFKA_GROUPS_BENCHMARK_KEYS"
"""Environment variable with more keys for both clients, as JSON, such as those for a secured cluster."""

_POLL_SECONDS = 5.0
_IDLE_POLLS = 6
_MEMORY_SAMPLES = 40
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@frozen(kw_only=True)
class Task:
    """What a consumer is to do: read value and offset of so many records, and acknowledge them.

    Attributes:
        keys: More configuration keys.
    """

    client: str
    mode: str
    bootstrap_servers: str
    topic: str
    group_id: str
    records: int
    keys: Mapping[str, Any] = field(factory=dict)


@frozen(kw_only=True)
class Outcome:
    """What it took, from the first records on, which are not counted.

    Attributes:
        records: Records read.
        seconds: Wall-clock time.
        cpu_seconds: CPU time of the whole process, user and system.
        polls: How many polls brought records.
        poll_p50_ms: Median time within a poll.
        poll_p99_ms: 99th percentile of it.
        resident_bytes: Resident memory at moments spread over the run.
        ended_monotonic: When the last record had been read, on the machine's monotonic clock.
    """

    records: int
    seconds: float
    cpu_seconds: float
    polls: int
    poll_p50_ms: float
    poll_p99_ms: float
    ended_monotonic: float
    resident_bytes: list[int] = field(factory=list)


class Contender(Protocol):
    """A client under test."""

    def poll(self) -> Sequence[Any]:
        """Wait for records."""
        ...

    def read(self, records: Any) -> int:
        """Read value and offset of each record, and acknowledge it in explicit mode; something made of both."""
        ...

    def close(self) -> None:
        """Leave the group."""
        ...


class Ours:
    """`KafkaShareConsumer` of this project."""

    def __init__(self, task: Task) -> None:
        self._consumer = KafkaShareConsumer(_keys(task))
        self._consumer.subscribe([task.topic])
        readers: Mapping[str, Callable[[Any], int]] = {
            "implicit": self._read,
            "explicit": self._read_and_acknowledge,
            ONE_BY_ONE: self._read_and_commit,
        }
        self.read = readers[task.mode]

    def poll(self) -> Any:
        return self._consumer.poll(_POLL_SECONDS)

    def _read(self, records: Any) -> int:
        total = 0
        for record in records:
            total += len(record.value) + record.offset
        return total

    def _read_and_commit(self, records: Any) -> int:
        total = 0
        for record in records:
            total += len(record.value) + record.offset
            self._consumer.acknowledge(record, AcknowledgeType.ACCEPT)
            self._consumer.commit_sync()
        return total

    def _read_and_acknowledge(self, records: Any) -> int:
        acknowledge, accept, total = self._consumer.acknowledge, AcknowledgeType.ACCEPT, 0
        for record in records:
            total += len(record.value) + record.offset
            acknowledge(record, accept)
        return total

    def close(self) -> None:
        self._consumer.close()


class Confluent:
    """`ShareConsumer` of confluent-kafka."""

    def __init__(self, task: Task) -> None:
        self._consumer: Any = confluent_kafka.ShareConsumer({**_keys(task), "log_level": 3})
        self._consumer.subscribe([task.topic])
        self.read: Callable[[Any], int] = self._read if task.mode == "implicit" else self._read_and_acknowledge

    def poll(self) -> Any:
        return self._consumer.poll(_POLL_SECONDS)

    def _read(self, records: Any) -> int:
        total = 0
        for record in records:
            total += len(record.value()) + record.offset()
        return total

    def _read_and_acknowledge(self, records: Any) -> int:
        acknowledge, accept, total = self._consumer.acknowledge, confluent_kafka.AcknowledgeType.ACCEPT, 0
        for record in records:
            total += len(record.value()) + record.offset()
            acknowledge(record, accept)
        return total

    def close(self) -> None:
        self._consumer.close()


def _keys(task: Task) -> dict[str, Any]:
    keys: dict[str, Any] = {
        "bootstrap.servers": task.bootstrap_servers,
        "group.id": task.group_id,
        "share.acknowledgement.mode": "implicit" if task.mode == "implicit" else "explicit",
    }
    keys.update(json.loads(os.environ.get(KEYS_VARIABLE, "{}")))
    keys.update(task.keys)
    return keys


def consume(task: Task, contender: Contender) -> Outcome:
    """Read so many records; the clock starts when the first have been read."""
    first = _first_records(contender)
    wanted = task.records - len(first)
    assert wanted > 0, (
        f"the first poll brought all {task.records} records, so that nothing can be measured: ask for more"
    )
    contender.read(first)
    print(READY, flush=True)
    poll_seconds: list[float] = []
    resident = [resident_bytes()]
    read = 0
    started, cpu_started = time.perf_counter(), time.process_time()
    while read < wanted:
        before = time.perf_counter()
        records = contender.poll()
        poll_seconds.append(time.perf_counter() - before)
        read += len(records)
        contender.read(records)
        if read * _MEMORY_SAMPLES >= len(resident) * wanted:
            resident.append(resident_bytes())
        assert records, f"no records for {_POLL_SECONDS} s, {wanted - read} are missing"
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    percentiles = quantiles(poll_seconds, n=100) if len(poll_seconds) > 1 else [0.0] * 99
    return Outcome(
        records=read,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        polls=len(poll_seconds),
        poll_p50_ms=percentiles[49] * 1000,
        poll_p99_ms=percentiles[98] * 1000,
        ended_monotonic=time.monotonic(),
        resident_bytes=resident,
    )


def _first_records(contender: Contender) -> Sequence[Any]:
    for _ in range(_IDLE_POLLS):
        records = contender.poll()
        if records:
            return records
    raise AssertionError(f"no records within {_IDLE_POLLS * _POLL_SECONDS} s")


def resident_bytes() -> int:
    """Resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_BYTES


def main() -> None:
    task = Task(**json.loads(sys.argv[1]))
    contender = Ours(task) if task.client == "ours" else Confluent(task)
    outcome = consume(task, contender)
    contender.close()
    print(json.dumps(attrs.asdict(outcome)), flush=True)


if __name__ == "__main__":
    main()
