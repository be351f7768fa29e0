"""The brokers of the runs: an embedded one and a real Kafka, each behind a proxy that cuts connections."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from attrs import frozen
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.share.consumer import KafkaShareConsumer
from kafka_groups.testing.fault_proxy import FaultProxy
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.faults.ledger import Key
from tests.faults.plan import LOCK_MS, Plan
from tests.support.cluster_client import ClusterClient, Topic
from tests.support.targets import EMBEDDED_PROPERTIES, GROUP_DEFAULTS

T = TypeVar("T")

_QUIET_POLLS = 8
"""Longer than the lock and the session of a member that is gone."""
_NOT_NOW = (KafkaGroupsError, AssertionError, OSError)
_GROUP_CONFIGS: Mapping[str, str] = {
    **GROUP_DEFAULTS,
    "share.record.lock.duration.ms": str(LOCK_MS),
    "share.session.timeout.ms": "5000",  # a member that was killed keeps its partitions for so long
}


@frozen
class Source:
    """What a run consumes.

    Attributes:
        topic: It has been made for this run.
        group_id: The same.
        bootstrap_servers: Where the pipeline finds the broker.
    """

    topic: Topic
    group_id: str
    bootstrap_servers: str


class Target:
    """A broker of its own for a run after the other.

    Args:
        kind: One of `tests.faults.plan.BROKERS`.
        upstream: Its address.
        proxy: What stands before it.
        kafka: Its process, if it is a real Kafka.
    """

    def __init__(self, kind: str, upstream: str, proxy: FaultProxy, kafka: KafkaProcess | None = None) -> None:
        self.kind = kind
        self._upstream = upstream
        self._proxy = proxy
        self._kafka = kafka

    def __repr__(self) -> str:
        return f"<Target {self.kind} at {self._upstream}>"

    # -------------------------------------------------------------------------------- what is there

    def new_source(self, plan: Plan) -> Source:
        """A new topic and a new group for a plan."""

        async def make(cluster: ClusterClient) -> Source:
            topic = await cluster.create_topic(plan.partitions)
            group_id = f"group-{topic.name}"
            await cluster.coordinator_of(group_id)
            limit = {"share.delivery.count.limit": str(plan.delivery_limit)}
            await cluster.set_group_config(group_id, {**_GROUP_CONFIGS, **limit})
            return Source(topic, group_id, self._proxy.bootstrap_servers)

        return self._ask(make)

    def produce(self, source: Source, plan: Plan, numbers: range) -> dict[Key, bytes]:
        """Write records with these numbers in their values; what was written where."""

        async def write(cluster: ClusterClient) -> dict[Key, bytes]:
            written: dict[Key, bytes] = {}
            for first in range(numbers.start, numbers.stop, plan.records_per_batch):
                values = [f"{plan.seed}-{n}".encode() for n in numbers if first <= n < first + plan.records_per_batch]
                partition = (first // plan.records_per_batch) % plan.partitions
                base = await cluster.produce(source.topic, values, partition)
                written |= {(source.topic.name, partition, base + at): value for at, value in enumerate(values)}
            return written

        return self._ask(write)

    def dead_letters(self, topic: str) -> set[Key]:
        """Where the records in a dead-letter topic came from."""
        reader = Consumer({"bootstrap.servers": self._upstream, "group.id": "reader", "log_level": 3})
        try:
            reader.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
            letters: list[Any] = reader.consume(1_000, timeout=3)
            return {_key_in(dict(letter.headers() or ())) for letter in letters}
        finally:
            reader.close()

    def lag(self, source: Source) -> int | None:
        """How many records are neither accepted nor archived; None when that is not known at the moment."""
        try:
            progress = self._ask(lambda cluster: cluster.progress(source.group_id, source.topic))
        except _NOT_NOW:  # the broker is on its way back
            return None
        lags = [partition.lag for partition in progress.values()]
        return None if not lags or -1 in lags else sum(lags)

    def delivered_to_another(self, source: Source) -> int:
        """How many records a member gets that joins now: what the broker has not given up, locked or not."""
        count, quiet = 0, 0
        with KafkaShareConsumer(bootstrap_servers=self._upstream, group_id=source.group_id) as consumer:
            consumer.subscribe([source.topic.name])
            while quiet < _QUIET_POLLS:
                polled = len(consumer.poll(timeout=1.0))
                consumer.commit_sync()
                count += polled
                quiet = 0 if polled else quiet + 1
        return count

    def describe(self, source: Source) -> str:
        """The members of the group and its progress, for the message of a run that stands still."""

        async def asked(cluster: ClusterClient) -> str:
            group = await cluster.describe_group(source.group_id)
            return f"{group}\n{await cluster.progress(source.group_id, source.topic)}"

        try:
            return self._ask(asked)
        except _NOT_NOW as error:
            return f"the group cannot be described: {error!r}"

    # -------------------------------------------------------------------------------------- faults

    def cut_connections(self) -> None:
        """Cut all connections of clients."""
        self._proxy.cut_all()

    def take_down(self, *, at_once: bool) -> None:
        """End the broker, as a crash would or in good order; it keeps its storage."""
        kafka = self._real_kafka()
        if at_once:
            kafka.kill()
        else:
            kafka.stop()

    def bring_back(self) -> None:
        """Start the broker again, with its storage and on its port."""
        self._real_kafka().restart()

    def _real_kafka(self) -> KafkaProcess:
        if self._kafka is None:
            raise ValueError(f"{self!r} has no storage to be restarted with")
        return self._kafka

    def _ask(self, question: Callable[[ClusterClient], Awaitable[T]]) -> T:
        async def asked() -> T:
            host, _, port = self._upstream.rpartition(":")
            cluster = ClusterClient(TcpNetwork(), host, int(port))
            try:
                return await question(cluster)
            finally:
                await cluster.close()

        return asyncio.run(asked())


@contextmanager
def running_target(kind: str) -> Iterator[Target]:
    """A broker of this kind, with its proxy."""
    if kind == "kafka":
        with KafkaProcess() as kafka, FaultProxy(kafka.bootstrap_servers) as proxy:
            yield Target(kind, kafka.bootstrap_servers, proxy, kafka)
    else:
        with (
            EmbeddedCluster(settings=EMBEDDED_PROPERTIES) as cluster,
            FaultProxy(cluster.bootstrap_servers) as proxy,
        ):
            yield Target(kind, cluster.bootstrap_servers, proxy)


def _key_in(headers: Mapping[str, bytes]) -> Key:
    topic, partition, offset = (headers[f"__dlq.errors.{name}"].decode() for name in ("topic", "partition", "offset"))
    return topic, int(partition), int(offset)
