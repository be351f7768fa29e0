"""Figures of retry topics: records are written to them at a rate, as a handler that fails would do."""

import json
import random
import sys
import time
from typing import Any, Final

from attrs import frozen
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups import RetryTopics
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState
from tests.benchmarks.children import Child, child
from tests.benchmarks.topics import new_group, new_topic, unique_name
from tests.benchmarks.workers.retrying import HANDLER, delays_of

__all__ = ["Lateness", "held_before_their_time", "lateness"]

_PROGRAM: Final = "tests.benchmarks.workers.retrying"
_PARTITIONS: Final = 2
_PER_SECOND: Final = 400
_SKEW: Final = 0.98
_LONG: Final = 0.05
_TIMEOUT_S: Final = 400.0
_SEED: Final = 46


@frozen
class Lateness:
    """How late records started, in ms.

    Attributes:
        early: How many started before they were due.
        median_ms: Half of them started later.
        p99_ms: One in a hundred started later.
        most_ms: The latest.
    """

    early: int
    median_ms: float
    p99_ms: float
    most_ms: float


def lateness(servers: str, records: int, *, is_skewed: bool) -> Lateness:
    """Return how late records started that were due after 2 s, and one in twenty after 20 s."""
    scene = _Scene(servers, "lateness")
    with scene.running(records) as worker:
        rng, begun_s = random.Random(_SEED), time.monotonic()
        for number in range(records):
            delay = delays_of("lateness")[rng.random() < _LONG]
            partition = int(rng.random() > _SKEW) if is_skewed else number % _PARTITIONS
            scene.write(delay, partition)
            time.sleep(max(0.0, begun_s + number / _PER_SECOND - time.monotonic()))
        scene.flush()
        return Lateness(**_figures(worker))


def held_before_their_time(servers: str, records: int) -> tuple[int, int]:
    """Return how many records a worker held of so many that were not due, and the most that it may hold."""
    scene = _Scene(servers, "holding")
    for number in range(records):
        scene.write(delays_of("holding")[0], number % _PARTITIONS)
    scene.flush()
    with scene.running(records) as worker:
        figures = _figures(worker)
    assert not figures["started"], "records started before their time"
    return figures["held"], 2 * _PARTITIONS


def _figures(worker: Child) -> Any:
    line = worker.line()
    if not line.strip():
        raise worker.failed("the worker printed nothing")
    return json.loads(line)


class _Scene:
    """The topics of a worker, and who writes to them."""

    def __init__(self, servers: str, kind: str) -> None:
        self._servers, self._kind = servers, kind
        self._topic, self._group = new_topic(servers), new_group(servers)
        self._topics = RetryTopics(unique_name("retries"), delays=delays_of(kind))
        configs = {"message.timestamp.type": "LogAppendTime", "retention.ms": "604800000"}
        admin = AdminClient({"bootstrap.servers": servers, "log_level": 3})
        topics = [NewTopic(topic, _PARTITIONS, 1, config=configs) for topic in self._topics.names]
        for future in admin.create_topics([*topics, NewTopic(f"{self._topic}.dead", 1, 1)]).values():
            future.result(30)
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 1, "log_level": 3})

    def running(self, records: int) -> Any:
        """Run the worker."""
        arguments = (self._servers, self._topic, self._topics.prefix, self._group, str(records))
        return _Ready(child([sys.executable, "-m", _PROGRAM, self._kind, *arguments], timeout_s=_TIMEOUT_S))

    def write(self, delay_s: int, partition: int) -> None:
        """Write a record that is due after a delay."""
        wall_ms = round(1000 * time.time())
        due_ms = wall_ms + 1000 * delay_s
        state = RetryState(
            group=self._group,
            handler=HANDLER,
            origin=RecordOrigin(self._topic, 0, 0, wall_ms),
            attempts=1,
            retries=1,
            first_failure_ms=wall_ms,
            due_ms=due_ms,
        )
        topic = self._topics.topic_for(1000 * delay_s)
        assert topic is not None
        while True:
            try:
                self._producer.produce(
                    topic.topic, str(due_ms).encode(), partition=partition, headers=list(state.headers())
                )
            except BufferError:
                self._producer.poll(0.1)
            else:
                break
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until all is written."""
        assert self._producer.flush(60) == 0, "not all records were written"


class _Ready:
    """A worker that is ready when the block begins."""

    def __init__(self, running: Any) -> None:
        self._running = running

    def __enter__(self) -> Child:
        worker: Child = self._running.__enter__()
        line = worker.line()
        if line.strip() != "ready":
            raise worker.failed(f"the worker printed {line!r}")
        return worker

    def __exit__(self, *error: object) -> object:
        return self._running.__exit__(*error)
