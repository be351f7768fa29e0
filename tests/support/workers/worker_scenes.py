"""A topic, a topic for dead letters, and a group, for one test of a worker."""

import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from attrs import define, field

from kafka_groups import Backoff, Worker, current_attempt
from kafka_groups.protocol.record_builder import NewRecord
from tests.support.conditions import wait_until
from tests.support.workers.worker_brokers import WorkerBroker, WrittenDeadLetter

__all__ = ["SOON", "Calls", "WorkerScene"]

SOON = Backoff(first=0.01, most=0.02, times=2)
"""Two retries, at once."""

_NO_CONFIGS: Mapping[str, str] = MappingProxyType({})
_MOST_LOCKS = 10


class WorkerScene:
    """What a worker needs. Everything is made when it is first used.

    Args:
        broker: Where it is.
        configs: Of the group.
        partitions: Of the topic.
    """

    def __init__(self, broker: WorkerBroker, configs: Mapping[str, str] = _NO_CONFIGS, *, partitions: int = 1) -> None:
        self.broker = broker
        self.topic = broker.new_topic(partitions)
        self.group_id = broker.new_group(configs)

    @cached_property
    def dead(self) -> str:
        """The topic for dead letters."""
        return self.broker.new_topic().name

    @property
    def name(self) -> str:
        """The name of the topic."""
        return self.topic.name

    def worker(self, **options: Any) -> Worker:
        """Return a worker without handlers. Its fetches are short, as acknowledgements wait for one under way."""
        options = {"fetch_max_wait_ms": 50, **options}
        return Worker(self.group_id, bootstrap_servers=self.broker.servers, **options)

    def send(self, *values: bytes | NewRecord, partition: int = 0) -> int:
        """Write records, and return the offset of the first."""
        return self.broker.produce(self.topic, values, partition)

    def wait_until_done(self, lag: int = 0) -> None:
        """Wait until all records but so many are accepted or archived."""
        self.broker.wait_for_lag(self.group_id, self.topic, lag)

    def letters(self) -> list[WrittenDeadLetter]:
        """Return the dead letters."""
        return self.broker.letters(self.dead)

    def outlast_locks(self, worker: Worker, is_done: Callable[[], object] | None = None) -> None:
        """Let more time pass than a lock of `broker.lock_s` takes, or as much as something takes to be done.

        Each step ends when the worker has renewed its locks: of a renewal whose answer comes after the lock, it cannot
        know that it was in time.

        Args:
            worker: The worker that renews them.
            is_done: Returns true when it is done.
        """
        lock_s, step_s = self.broker.lock_s, 0.6 * self.broker.lock_s
        passed_s = 0.0
        while not is_done() if is_done else passed_s <= lock_s:
            assert passed_s <= _MOST_LOCKS * lock_s, "it takes too long"
            self.broker.let_pass(step_s)
            passed_s += step_s
            wait_until(lambda: (is_done and is_done()) or _are_locks_fresh(worker, lock_s), 20)


def _are_locks_fresh(worker: Worker, lock_s: float) -> bool:
    """Whether more than half of each lock that a worker with one handler holds is left, as far as it knows."""
    runtime = worker._current._runtime
    assert runtime is not None, "it has not started"
    (handler,) = runtime._running
    left_s = handler.consumer.metrics()["oldest-lock-remaining-seconds"]
    return math.isnan(left_s) or left_s > lock_s / 2


@define
class Calls:
    """The calls of a handler, with the values, delivery counts and numbers of attempts."""

    all: list[tuple[Any, int, int]] = field(factory=list)
    _lock: threading.Lock = field(factory=threading.Lock)

    def add(self, value: Any) -> int:
        """Note a call of the handler that runs, and return which call with this value it is."""
        attempt = current_attempt()
        with self._lock:
            self.all.append((value, attempt.delivery_count, attempt.number))
            return self.counts[value]

    @property
    def counts(self) -> Counter[Any]:
        """How often there was a call with each value."""
        return Counter(value for value, _, _ in self.all)

    @property
    def values(self) -> Sequence[Any]:
        """The values, in the order of the calls."""
        return [value for value, _, _ in self.all]

    @property
    def delivery_counts(self) -> set[int]:
        """The delivery counts that occurred."""
        return {count for _, count, _ in self.all}

    def wait_for(self, count: int) -> None:
        """Wait until there were so many calls."""
        wait_until(lambda: len(self.all) >= count, 30, lambda: self.all)
