"""A topic on an embedded cluster in memory and in virtual time, for readers and writers of records."""

from collections.abc import Sequence
from typing import Any

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import DROP_CONNECTION
from kafka_groups.client.assembly import Environment
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.records.client import RecordsClient
from kafka_groups.testing.simulation import Simulation
from tests.support.cluster_client import ClusterClient, Topic

__all__ = ["KEPT", "TOPIC", "RecordsWorld"]

TOPIC = "orders"
KEPT = {"retention.ms": "-1"}
"""The records are of 1970."""


class RecordsWorld:
    """A simulated cluster with one topic."""

    def __init__(self, simulation: Simulation, *, partitions: int = 1, brokers: int = 1) -> None:
        self.simulation = simulation
        self.network = MemoryNetwork()
        self.partitions = partitions
        self.cluster = EmbeddedCluster(brokers, network=self.network, clock=simulation.clock)

    async def __aenter__(self) -> "RecordsWorld":
        await self.cluster.start_async()
        created = self.cluster.create_topic(TOPIC, self.partitions, configs=KEPT)
        self.topic = Topic(TOPIC, created.topic_id)
        host, port = self.cluster.bootstrap_servers.split(",")[0].split(":")
        self.admin = ClusterClient(self.network, host, int(port))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.admin.close()
        await self.cluster.stop_async()

    async def produce(self, records: Sequence[bytes | NewRecord], partition: int = 0) -> None:
        """Append one batch."""
        await self.admin.produce(self.topic, records, partition)

    def requests(self, key: ApiKey) -> list[Any]:
        """The list of requests of an API from now on."""
        seen: list[Any] = []

        def note(request: object) -> bool:
            seen.append(request)
            return False

        self.cluster.faults.on(key, DROP_CONNECTION, when=note)
        return seen

    def environment(self) -> Environment:
        """The environment of a client."""
        return Environment(self.network, self.simulation.clock, self.simulation.rng)

    def client(self) -> RecordsClient:
        """A client that has not been started."""
        return RecordsClient(admin_config(bootstrap_servers=self.cluster.bootstrap_servers), self.environment())
