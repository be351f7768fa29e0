"""The share consumers of this process: kept between tasks, and closed when no task has used them for a while.

Joining a group takes seconds, and Spark runs one task after another in the same Python workers. It kills a worker that
was idle for a minute, so an idle consumer leaves its group before that.
"""

import logging
import os
import pickle
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from attrs import field, frozen

from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.share.consumer import KafkaShareConsumer
from kafka_groups.share.workers.group_settings import GroupSettings, group_settings
from kafka_groups.share.workers.rules.failures.outages import HELD_BACKOFF_MS, Outage, Waits
from kafka_groups.spark.dead_letters import DeadLetters
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.spark.rules.flow import Proof

__all__ = ["ConsumerSpec", "HeldConsumer", "close_idle", "leased"]

_LOG = logging.getLogger(__name__)
_CLOSE_SECONDS = 10.0

Process = Callable[[ShareBatch], object]


@frozen(kw_only=True)
class ConsumerSpec:
    """Specification of a worker's consumer. Equal specifications share one consumer in each process.

    Attributes:
        config: The consumer's configuration.
        given: The keys as the user gave them, for a producer to the same cluster.
        topics: The subscribed topics.
        process: The pickled function; unpickled once in each process, so that the connections it opens stay open.
        dead_letter_topic: The topic for copies of records that may not be redelivered, or None.
        idle_close_seconds: The longest time that it waits for another task.
        key: Digest of all of this.
    """

    config: ShareConsumerConfig
    given: Mapping[str, object] = field(repr=False)
    topics: frozenset[str]
    process: bytes = field(repr=False)
    dead_letter_topic: str | None = None
    idle_close_seconds: float
    key: str


class HeldConsumer:
    """A consumer, with everything else that outlives a task.

    Args:
        spec: The specification that it was created from.

    Attributes:
        consumer: The consumer, subscribed.
        process: The user's function.
        settings: The settings of the group's configuration.
        dead_letters: The producer of copies for the dead-letter topic, or None.
        outage: The state of the sink.
        proof: The processing that has succeeded.
        is_broken: Whether to close it after this task.
    """

    def __init__(self, spec: ConsumerSpec) -> None:
        self.spec = spec
        self.process: Process = pickle.loads(spec.process)  # noqa: S301 - Spark brought it, as all code of a task
        self.settings: GroupSettings = group_settings(spec.config)
        topic, group_id = spec.dead_letter_topic, spec.config.group_id
        self.dead_letters = DeadLetters(topic, group_id, spec.given) if topic is not None else None
        self.outage = Outage(Waits.of_tries_in_hand(HELD_BACKOFF_MS), random.Random())
        self.proof: Proof[ShareBatch] = Proof()
        self.is_broken = False
        self.consumer: KafkaShareConsumer = KafkaShareConsumer(spec.config)
        self.consumer.subscribe(spec.topics)
        self._timer: threading.Timer | None = None

    def __repr__(self) -> str:
        return f"<HeldConsumer {self.consumer!r}>"

    def start_timer(self, on_idle: Callable[["HeldConsumer"], None]) -> None:
        """Call a function later, unless another task starts in time."""
        self._timer = threading.Timer(self.spec.idle_close_seconds, on_idle, [self])
        self._timer.daemon = True
        self._timer.start()

    def stop_timer(self) -> None:
        """Cancel the timer, because a task has started."""
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        """Leave the group, and call the function's method `close` if it has one."""
        try:
            self.consumer.close(_CLOSE_SECONDS)
        except KafkaGroupsError as error:
            _LOG.warning("%r was not closed cleanly: %s", self.consumer, error)
        close = getattr(self.process, "close", None)
        if callable(close):
            close()


_IDLE: dict[tuple[int, str], list[HeldConsumer]] = {}
_LOCK = threading.Lock()


@contextmanager
def leased(spec: ConsumerSpec) -> Iterator[HeldConsumer]:
    """Lease a consumer for one task. It is closed after an exception, because Spark then ends the process."""
    held = _taken(spec) or HeldConsumer(spec)
    # Only a task that ends normally says otherwise. After an exception, Spark ends the process, and a consumer that
    # waits for a next task would keep its partitions until its session has timed out.
    held.is_broken = True
    try:
        yield held
    finally:
        if held.is_broken:
            held.close()
        else:
            _put_back(held)


def _taken(spec: ConsumerSpec) -> HeldConsumer | None:
    with _LOCK:
        # By process id: Spark forks its Python workers, and a fork must not use a consumer of the process before it.
        idle = _IDLE.get((os.getpid(), spec.key))
        held = idle.pop() if idle else None
    if held is not None:
        held.stop_timer()
    return held


def _put_back(held: HeldConsumer) -> None:
    with _LOCK:
        _IDLE.setdefault((os.getpid(), held.spec.key), []).append(held)
        held.start_timer(_close_if_idle)


def _close_if_idle(held: HeldConsumer) -> None:
    with _LOCK:
        idle = _IDLE.get((os.getpid(), held.spec.key), [])
        if held not in idle:
            return  # a task was faster
        idle.remove(held)
    held.close()


def close_idle() -> None:
    """Close all consumers of this process that no task uses."""
    with _LOCK:
        pid = os.getpid()
        idle = [held for (owner, _), consumers in _IDLE.items() if owner == pid for held in consumers]
        _IDLE.clear()
    for held in idle:
        held.stop_timer()
        held.close()
