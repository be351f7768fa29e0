"""A simulated cluster in memory, and admin clients."""

import asyncio
import warnings
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kafka_groups.admin import AsyncKafkaAdmin
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.client.assembly import Environment
from kafka_groups.config.readers import read_host_ports
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import TopicPartition
from tests.support.cluster_client import ClusterClient
from tests.support.members.classic_member import ClassicMember
from tests.support.members.streams_member import StreamsMember
from tests.support.requests.raw_client import RawClient

TOPIC = "orders"
FIRST = TopicPartition(TOPIC, 0)


class AdminWorld:
    """A cluster of three brokers with a topic of three partitions."""

    def __init__(self, simulation: Simulation, **cluster: Any) -> None:
        self.simulation = simulation
        self.clock = simulation.clock
        self.network = MemoryNetwork()
        self.cluster = EmbeddedCluster(**{"brokers": 3, **cluster}, network=self.network, clock=self.clock)
        self._clients: list[RawClient] = []

    async def __aenter__(self) -> "AdminWorld":
        await self.cluster.start_async()
        self.cluster.create_topic(TOPIC, 3)
        return self

    async def __aexit__(self, *_: object) -> None:
        for client in self._clients:
            await client.disconnect()
        await self.cluster.stop_async()

    def admin(self, **config: Any) -> AsyncKafkaAdmin:
        """An admin client."""
        config = {"bootstrap_servers": self.cluster.bootstrap_servers} | config
        return AsyncKafkaAdmin(environment=Environment(self.network, self.clock, self.simulation.rng), **config)

    async def streams_member(self, group_id: str, member_id: str = "member") -> StreamsMember:
        """A member of a streams group that has not joined yet."""
        return StreamsMember(await self._coordinator(group_id), group_id, member_id)

    async def classic_member(self, group_id: str, protocols: Sequence[tuple[str, bytes]]) -> ClassicMember:
        """A member of a classic group that has not joined yet."""
        return ClassicMember(await self._coordinator(group_id), group_id, protocols=protocols)

    async def _coordinator(self, group_id: str) -> RawClient:
        ((host, port), *_) = read_host_ports(self.cluster.bootstrap_servers)
        asking = ClusterClient(self.network, host, port)
        coordinator = RawClient(self.network, *await asking.coordinator_address(group_id))
        await asking.close()
        self._clients.append(coordinator)
        return coordinator

    def group_at(self, node: int, prefix: str = "g") -> str:
        """The name of a group that a broker coordinates."""
        names = (f"{prefix}{number}" for number in range(1_000))
        return next(name for name in names if self.cluster.metadata.coordinator_of(name) == node)


def simulate(program: Callable[[AdminWorld], Awaitable[None]], **cluster: Any) -> None:
    """Run a program in virtual time; it must leave no task and no connection."""

    async def run(simulation: Simulation) -> None:
        async with AdminWorld(simulation, **cluster) as world:
            await program(world)
        assert not asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.sleep(0)
        assert world.network.open_connections == 0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_simulated(run, 1, limit_s=7200)
