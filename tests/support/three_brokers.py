"""A cluster of three brokers behind one surface: embedded, or a real Kafka of three nodes."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from confluent_kafka import ElectionType
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient

from kafka_groups.admin import AsyncKafkaAdmin
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import Network
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.parts import Environment
from tests.support.cluster_client import ClusterClient, Topic
from tests.support.kafka.kafka_trio import TrioNode
from tests.support.requests.raw_client import RawClient
from tests.support.targets import EMBEDDED_PROPERTIES

TRIO_SETTINGS: Mapping[str, object] = MappingProxyType({
    **{name: value for name, value in EMBEDDED_PROPERTIES.items() if not name.endswith((".factor", ".isr"))},
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "share.coordinator.state.topic.num.partitions": 3,
})  # fmt: skip
"""The settings of three embedded brokers."""


class ThreeBrokers(Protocol):
    """What tests do to three brokers."""

    network: Network

    @property
    def addresses(self) -> Mapping[int, tuple[str, int]]:
        """Host and port of each broker by node id."""
        ...

    async def move_leader(self, topic: Topic, partition: int) -> None:
        """Let another broker lead a partition, while all brokers run."""
        ...

    async def stop(self, node_id: int) -> None:
        """Stop a broker in good order."""
        ...

    async def kill(self, node_id: int) -> None:
        """Kill a broker. It returns when the others have noticed."""
        ...

    async def restart(self, node_id: int) -> None:
        """Start a broker again."""
        ...

    async def settle(self) -> None:
        """Let the first replica of each partition lead it. A broker that was restarted leads nothing before."""
        ...


class EmbeddedTrio:
    """Three embedded brokers on the test's own event loop."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.network = cluster.network
        self._cluster = cluster

    @property
    def addresses(self) -> Mapping[int, tuple[str, int]]:
        """Host and port of each broker by node id."""
        pairs = (address.rpartition(":") for address in self._cluster.bootstrap_servers.split(","))
        return {node_id: (host, int(port)) for node_id, (host, _, port) in enumerate(pairs, 1)}

    async def move_leader(self, topic: Topic, partition: int) -> None:
        """Let another broker lead a partition."""
        leader = self._cluster.leader_of(topic.name, partition)
        self._cluster.move_leader(topic.name, partition, leader % 3 + 1)

    def elect_unclean_leader(self, topic: Topic, node_id: int, end_offset: int) -> None:
        """Let a broker lead partition 0 that lacks the records from an offset on."""
        self._cluster.elect_unclean_leader(topic.name, 0, node_id, end_offset=end_offset)

    async def stop(self, node_id: int) -> None:
        """Stop a broker."""
        await self._cluster.stop_broker_async(node_id)

    async def kill(self, node_id: int) -> None:
        """Kill a broker."""
        await self._cluster.kill_broker_async(node_id)

    async def restart(self, node_id: int) -> None:
        """Start a broker again."""
        await self._cluster.start_broker_async(node_id)

    async def settle(self) -> None:
        """Nothing to do: a broker leads its partitions when it starts."""


class KafkaTrio:
    """Three nodes of a real Kafka."""

    def __init__(self, nodes: Mapping[int, TrioNode]) -> None:
        self.network: Network = TcpNetwork()
        self._nodes = nodes

    @property
    def addresses(self) -> Mapping[int, tuple[str, int]]:
        """Host and port of each broker by node id."""
        return {node_id: (node.host, node.port) for node_id, node in self._nodes.items()}

    async def move_leader(self, topic: Topic, partition: int) -> None:
        """Let the first replica lead a partition again. The topic must have been `unsettled` before."""
        servers = ",".join(node.bootstrap_servers for node in self._nodes.values())
        admin = AdminClient({"bootstrap.servers": servers})  # kept until the end, or the election ends with it
        election = admin.elect_leaders(ElectionType.PREFERRED, [ConfluentPartition(topic.name, partition)])
        await asyncio.to_thread(election.result)

    async def stop(self, node_id: int) -> None:
        """Stop a broker."""
        await asyncio.to_thread(self._nodes[node_id].stop)

    async def kill(self, node_id: int) -> None:
        """Kill a broker."""
        await asyncio.to_thread(self._nodes[node_id].kill)

    async def restart(self, node_id: int) -> None:
        """Start a broker again."""
        await asyncio.to_thread(self._nodes[node_id].restart)

    async def settle(self) -> None:
        """Elect leaders. Whether that was possible, or necessary, shows in who leads."""
        admin = AdminClient({"bootstrap.servers": ",".join(node.bootstrap_servers for node in self._nodes.values())})
        await asyncio.to_thread(admin.elect_leaders(ElectionType.PREFERRED, None).result)


class Trio:
    """A test's view of three brokers.

    Args:
        brokers: The brokers.
        is_real: Whether they are a real Kafka.
    """

    def __init__(self, brokers: ThreeBrokers, *, is_real: bool) -> None:
        self.brokers = brokers
        self.is_real = is_real
        self._away: set[int] = set()
        self._clients: dict[int, ClusterClient] = {}
        self._connections: list[RawClient] = []

    def client(self) -> ClusterClient:
        """A client of a broker that runs."""
        node_id = next(node_id for node_id in self.brokers.addresses if node_id not in self._away)
        if node_id not in self._clients:
            self._clients[node_id] = ClusterClient(self.brokers.network, *self.brokers.addresses[node_id])
        return self._clients[node_id]

    def connection(self, host: str, port: int) -> RawClient:
        """A connection to one broker."""
        self._connections.append(RawClient(self.brokers.network, host, port))
        return self._connections[-1]

    def consumer(self, group_id: str, **keywords: Any) -> AsyncKafkaShareConsumer[Any, Any]:
        """A consumer that knows all brokers."""
        servers = ",".join(f"{host}:{port}" for host, port in self.brokers.addresses.values())
        return AsyncKafkaShareConsumer(
            environment=Environment(network=self.brokers.network),
            bootstrap_servers=servers,
            group_id=group_id,
            **keywords,
        )

    def admin(self) -> AsyncKafkaAdmin:
        """An admin client that knows all brokers."""
        servers = ",".join(f"{host}:{port}" for host, port in self.brokers.addresses.values())
        environment = Environment(network=self.brokers.network)
        return AsyncKafkaAdmin(environment=environment, bootstrap_servers=servers, default_api_timeout_ms=30_000)

    async def unsettle(self, topic: Topic, partition: int) -> None:
        """On a real Kafka, have another replica than the first lead a partition, so that `move_leader` can move it."""
        if self.is_real:
            leader = await self.client().leader_id_of(topic.name, partition)
            await self.stop(leader)
            await self.restart(leader)
            assert await self.client().leader_id_of(topic.name, partition) != leader

    async def coordinator_of(self, group_id: str) -> int:
        """Node id of the broker that coordinates a group."""
        address = await self.client().coordinator_address(group_id)
        return next(node_id for node_id, each in self.brokers.addresses.items() if each == address)

    async def stop(self, node_id: int) -> None:
        """Stop a broker in good order."""
        await self._leave(node_id)
        await self.brokers.stop(node_id)

    async def kill(self, node_id: int) -> None:
        """Kill a broker."""
        await self._leave(node_id)
        await self.brokers.kill(node_id)

    async def restart(self, node_id: int) -> None:
        """Start a broker again."""
        await self.brokers.restart(node_id)
        self._away.discard(node_id)
        await self.client().until_replicated()

    async def return_alone(self, node_id: int) -> None:
        """Start a broker again while others are away, so that not every replica can be in sync."""
        await self.brokers.restart(node_id)
        self._away.discard(node_id)

    async def close(self) -> None:
        """Break the connections, and start what was stopped."""
        for node_id in tuple(self._away):
            await self.restart(node_id)
        await self._disconnect()
        for connection in self._connections:
            await connection.disconnect()

    async def _leave(self, node_id: int) -> None:
        self._away.add(node_id)
        await self._disconnect()

    async def _disconnect(self) -> None:
        for client in self._clients.values():
            await client.close()
        self._clients.clear()


def new_network(*, is_tcp: bool) -> Network:
    """The network of embedded brokers."""
    return TcpNetwork() if is_tcp else MemoryNetwork()
