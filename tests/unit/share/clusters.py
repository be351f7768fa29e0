"""A topic with records on an embedded cluster, for consumers of both kinds."""

from collections.abc import Sequence
from typing import Any

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.clock import Clock
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.parts import Environment
from kafka_groups.testing.simulation import Simulation
from tests.support.cluster_client import ClusterClient, Topic

SETTINGS: dict[str, object] = {
    "group.share.min.heartbeat.interval.ms": 200,
    "group.share.heartbeat.interval.ms": 200,
    "group.share.assignment.interval.ms": 0,
    "group.share.min.record.lock.duration.ms": 1000,
}
GROUP = {"share.auto.offset.reset": "earliest"}
TOPIC = "orders"
KEPT = {"retention.ms": "-1"}
"""The records are of 1970."""


class World:
    """A simulated cluster in memory with one topic, and consumers of one group."""

    def __init__(self, simulation: Simulation, *, partitions: int = 1, brokers: int = 1) -> None:
        self.simulation = simulation
        self.clock: Clock = simulation.clock
        self.network = MemoryNetwork()
        self.partitions = partitions
        self.cluster = EmbeddedCluster(brokers, network=self.network, settings=SETTINGS, clock=simulation.clock)

    async def __aenter__(self) -> "World":
        await self.cluster.start_async()
        created = self.cluster.create_topic(TOPIC, self.partitions, configs=KEPT)
        self.topic = Topic(TOPIC, created.topic_id)
        self.cluster.alter_group_configs("g", GROUP)
        host, port = self.cluster.bootstrap_servers.split(",")[0].split(":")
        self.admin = ClusterClient(self.network, host, int(port))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.admin.close()
        await self.cluster.stop_async()

    async def produce(self, values: Sequence[bytes], partition: int = 0) -> None:
        """One batch of these values."""
        await self.admin.produce(self.topic, values, partition)

    def consumer(self, **config: Any) -> AsyncKafkaShareConsumer:
        """A consumer of the group `g`, not subscribed."""
        config = {"bootstrap_servers": self.cluster.bootstrap_servers, "group_id": "g"} | config
        environment = Environment(self.network, self.clock, self.simulation.rng)
        return AsyncKafkaShareConsumer(environment=environment, **config)
