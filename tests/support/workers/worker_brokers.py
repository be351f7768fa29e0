"""Brokers for tests of handler workers, behind methods that block: embedded ones, and a real Kafka."""

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, TypeVar

import pytest
from attrs import frozen
from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as Position

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.loop_thread import LoopThread
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.share.parts import Environment
from kafka_groups.testing.fast_settings import FAST_SETTINGS
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.cluster_client import ClusterClient, Topic
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.leaping_clock import LeapingClock
from tests.support.targets import EMBEDDED_PROPERTIES, GROUP_DEFAULTS

__all__ = ["BEFORE_PROCESSING", "Place", "WorkerBroker", "WrittenDeadLetter", "embedded_broker", "kafka_broker"]

T = TypeVar("T")
Place = tuple[int, int]
"""Partition and offset."""

BEFORE_PROCESSING = "before processing"
_START = "share.auto.offset.reset"
_PATIENCE_S = 60.0
_LAST_OF_LOCKS_S = 2
_NO_CONFIGS: Mapping[str, str] = MappingProxyType({})
_FAST_HEARTBEATS: Mapping[str, str] = MappingProxyType({"share.heartbeat.interval.ms": "100"})
_EMBEDDED_SETTINGS: Mapping[str, object] = {**EMBEDDED_PROPERTIES, **FAST_SETTINGS}


@frozen
class WrittenDeadLetter:
    """A dead letter.

    Attributes:
        place: Where the record came from.
        value: Its value.
        headers: Its headers, those of dead letters without their prefix.
    """

    place: Place
    value: bytes | None
    headers: Mapping[str, str]

    @property
    def reason(self) -> str:
        """Why it was written."""
        return self.headers["message"]

    @property
    def delivery_count(self) -> int:
        """The delivery on which it was written."""
        return int(self.headers["delivery.count"])

    @property
    def is_early(self) -> bool:
        """Whether it was written before the record was processed."""
        return self.reason == BEFORE_PROCESSING

    @property
    def is_possible_duplicate(self) -> bool:
        """Whether it says that there may be another copy."""
        return self.headers.get("possible.duplicate") == "true"


@frozen
class _Power:
    """How a broker is killed, and how it starts again."""

    kill: Callable[[], None]
    start: Callable[[], None]


class WorkerBroker:
    """A broker.

    Args:
        servers: Its address.
        group_defaults: Configs of each new group.
        power: How it is killed and started; None if others use it, too.
        clock: Its clock, which a test may move; None if that is not possible.
    """

    def __init__(
        self,
        servers: str,
        group_defaults: Mapping[str, str],
        power: _Power | None = None,
        clock: LeapingClock | None = None,
    ) -> None:
        self.servers = servers
        self._clock = clock
        self._group_defaults = group_defaults
        self._power = power
        self._thread = LoopThread("worker-broker")
        host, _, port = servers.rpartition(":")
        self._cluster = ClusterClient(TcpNetwork(), host, int(port))
        self._thread.start()

    def __repr__(self) -> str:
        return f"<WorkerBroker {self.servers}>"

    def close(self) -> None:
        """Break the connections to it."""
        self._thread.stop(last=self._cluster.close())

    def _ask(self, question: Coroutine[Any, Any, T]) -> T:
        return self._thread.run(question, _PATIENCE_S)

    # ------------------------------------------------------------------------------------------ topics and groups

    def new_topic(
        self, partitions: int = 1, *, name: str | None = None, configs: Mapping[str, str] = _NO_CONFIGS
    ) -> Topic:
        """Make a topic."""
        return self._ask(self._cluster.create_topic(partitions, name=name, configs=configs))

    def delete_topic(self, topic: Topic) -> None:
        """Delete a topic."""
        self._ask(self._cluster.delete_topic(topic))

    def new_group(self, configs: Mapping[str, str] = _NO_CONFIGS) -> str:
        """Return the id of a new group with these configs, which begins at the beginning of topics."""
        group_id = unique("group")
        self._ask(self._cluster.coordinator_of(group_id))
        self.alter_group(group_id, {**self._group_defaults, **configs})
        return group_id

    def fresh_group(self) -> str:
        """Return the id of a new group that has no start of its own."""
        group_id = unique("group")
        self._ask(self._cluster.coordinator_of(group_id))
        self.alter_group(group_id, {name: value for name, value in self._group_defaults.items() if name != _START})
        return group_id

    def alter_group(self, group_id: str, configs: Mapping[str, str]) -> None:
        """Set configs of a group."""
        self._ask(self._cluster.set_group_config(group_id, configs))

    def produce(self, topic: Topic, records: Sequence[bytes | NewRecord], partition: int = 0) -> int:
        """Write records, and return the offset of the first."""
        return self._ask(self._cluster.produce(topic, records, partition))

    def lag(self, group_id: str, topic: Topic) -> int | None:
        """Return how many records the group has neither accepted nor archived; None if that is unknown."""
        progress = self._ask(self._cluster.progress(group_id, topic))
        lags = [partition.lag for partition in progress.values()]
        return None if not lags or -1 in lags else sum(lags)

    def wait_for_lag(self, group_id: str, topic: Topic, lag: int = 0, timeout_s: float = 80.0) -> None:
        """Wait until the group has so many records left; 0 means that all are accepted or archived."""
        wait_until(lambda: self.lag(group_id, topic) == lag, timeout_s, lambda: self.lag(group_id, topic))

    # ------------------------------------------------------------------------------------------ time

    @property
    def lock_s(self) -> int:
        """The length of a lock whose end a test waits for: as long as a busy machine needs, if time can be moved."""
        return 3 if self._clock is None else 20

    @property
    def environment(self) -> Environment:
        """The environment of clients for which time passes as for the broker."""
        return Environment() if self._clock is None else Environment(clock=self._clock)

    def let_pass(self, seconds: float) -> None:
        """Let so much time pass: at once, if time can be moved."""
        if self._clock is None:
            wait_s(seconds)
        else:
            self._clock.leap(round(1000 * seconds))

    def end_locks(self) -> None:
        """Let the locks end that nobody renews.

        Their last seconds pass by themselves: a fetch on its way during a leap would acquire the records again,
        with a lock that its client counts from before.
        """
        self.let_pass(self.lock_s - _LAST_OF_LOCKS_S)
        wait_s(_LAST_OF_LOCKS_S)

    # ------------------------------------------------------------------------------------------ dead letters

    def letters(self, topic: str) -> list[WrittenDeadLetter]:
        """Return the dead letters in a topic of one partition."""
        return [_letter(message) for message in self.messages(topic)]

    def messages(self, topic: str) -> list[Message]:
        """Return the records in a topic of one partition, read with another client."""
        consumer = Consumer({
            "bootstrap.servers": self.servers, "group.id": unique("check"), "enable.partition.eof": True,
            "enable.auto.commit": False, "fetch.wait.max.ms": 10, "log_level": 2,
        })  # fmt: skip
        try:
            consumer.assign([Position(topic, 0, 0)])
            return list(_until_the_end(consumer))
        finally:
            consumer.close()

    # ------------------------------------------------------------------------------------------ outages

    def is_away_for(self, seconds: float) -> None:
        """Kill it, and start it again so much later. Blocks until it serves."""
        assert self._power is not None, "others use this broker, too"
        self._ask(self._cluster.close())
        self._power.kill()
        wait_s(seconds)
        self._power.start()


def wait_s(seconds: float) -> None:
    """Let so much time pass: for outages, which last for a time."""
    clock = SystemClock()
    until_ms = clock.now_ms() + 1000 * seconds
    wait_until(lambda: clock.now_ms() >= until_ms, seconds + _PATIENCE_S)


@contextmanager
def embedded_broker(profile: str = "4.4") -> Iterator[WorkerBroker]:
    """Run an embedded broker of one's own, over TCP."""
    clock = LeapingClock()
    with EmbeddedCluster(settings=_EMBEDDED_SETTINGS, profile=profile, clock=clock) as cluster:
        (node,) = cluster.running_brokers
        power = _Power(lambda: cluster.kill_broker(node), lambda: cluster.start_broker(node))
        defaults = {**_group_defaults(profile), **_FAST_HEARTBEATS}
        yield from _closing(WorkerBroker(cluster.bootstrap_servers, defaults, power, clock))
        assert cluster.unexpected_errors == ()


@contextmanager
def kafka_broker(kafka: KafkaProcess, *, is_shared: bool) -> Iterator[WorkerBroker]:
    """Use a real Kafka that runs. If it `is_shared`, it cannot be killed."""
    power = None if is_shared else _Power(kafka.kill, kafka.restart)
    yield from _closing(WorkerBroker(kafka.bootstrap_servers, _group_defaults(kafka.version), power))


def _group_defaults(release: str) -> Mapping[str, str]:
    """The configs of groups, as far as a release has them."""
    missing = "share.assignment.interval.ms" if release.startswith("4.2") else ""
    return {name: value for name, value in GROUP_DEFAULTS.items() if name != missing}


def _closing(broker: WorkerBroker) -> Iterator[WorkerBroker]:
    try:
        yield broker
    finally:
        broker.close()


def _until_the_end(consumer: Consumer) -> Iterator[Message]:
    while True:
        for message in consumer.consume(1_000, 0.2):
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                return
            else:
                raise AssertionError(error)


def _letter(message: Message) -> WrittenDeadLetter:
    prefix = "__dlq.errors."
    given: Any = message.headers()
    headers = {name.removeprefix(prefix): value.decode() for name, value in given}
    return WrittenDeadLetter((int(headers["partition"]), int(headers["offset"])), message.value(), headers)


@contextmanager
def requested_broker(request: pytest.FixtureRequest) -> Iterator[WorkerBroker]:
    """The broker that the parameter of a fixture names: `embedded`, or `kafka`, a real one for many tests."""
    if request.param == "embedded":
        with embedded_broker() as embedded:
            yield embedded
    else:
        with kafka_broker(request.getfixturevalue("real_kafka"), is_shared=True) as kafka:
            yield kafka
