"""A topic, a topic for dead letters, and a group, for one test of a worker."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from attrs import define, field

from kafka_groups import Backoff, Worker, current_attempt
from kafka_groups.protocol.record_builder import NewRecord
from tests.support.conditions import wait_until
from tests.support.workers.worker_brokers import WorkerBroker, WrittenLetter

__all__ = ["SOON", "Calls", "WorkerScene"]

SOON = Backoff(first=0.01, most=0.02, times=2)
"""Two retries, at once."""

_NO_CONFIGS: Mapping[str, str] = MappingProxyType({})


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

    def letters(self) -> list[WrittenLetter]:
        """Return the dead letters."""
        return self.broker.letters(self.dead)


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
