"""A topic on an embedded cluster whose streams groups assign tasks at once, for members of both kinds."""

from typing import Any

from attrs import evolve

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.metadata import changes
from kafka_groups.broker.metadata.edit import MetadataEdit
from kafka_groups.client.assembly import Environment
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.streams import AsyncStreamsGroupMember, GroupTopology, GroupTopologyBuilder
from kafka_groups.testing.simulation import Simulation

__all__ = ["SETTINGS", "TOPIC", "TOPOLOGY", "World"]

SETTINGS: dict[str, object] = {
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.min.heartbeat.interval.ms": 200,
    "group.streams.heartbeat.interval.ms": 200,
}
TOPIC = "flights"
TOPOLOGY: GroupTopology = GroupTopologyBuilder().add_subtopology("0", sources=[TOPIC]).build()


class World:
    """A simulated cluster in memory with one topic, and members of one group."""

    def __init__(self, simulation: Simulation, *, partitions: int = 2, brokers: int = 1) -> None:
        self.simulation = simulation
        self.network = MemoryNetwork()
        self.partitions = partitions
        self.cluster = EmbeddedCluster(brokers, network=self.network, settings=SETTINGS, clock=simulation.clock)

    async def __aenter__(self) -> "World":
        await self.cluster.start_async()
        self.cluster.create_topic(TOPIC, self.partitions)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cluster.stop_async()

    def give_racks(self) -> None:
        """Let each broker have a rack: r1, r2 …"""
        for endpoint in list(self.cluster.metadata.image.brokers.values()):
            self.cluster.metadata.register_broker(evolve(endpoint, rack=f"r{endpoint.node_id}"))

    def set_replicas(self, partition: int, nodes: tuple[int, ...]) -> None:
        """Let other brokers have a partition of the topic. The first of them leads it."""

        def change(edit: MetadataEdit) -> None:
            topic = self.cluster.metadata.topic(TOPIC)
            assert topic is not None
            moved = evolve(topic.partitions[partition], replicas=nodes, leader_id=nodes[0])
            changes._replace_partitions(edit, topic, [moved])

        self.cluster.metadata._authority.change(change)

    def member(self, **config: Any) -> AsyncStreamsGroupMember:
        """A member of the group `app` that has not joined."""
        config = {
            "bootstrap_servers": self.cluster.bootstrap_servers,
            "application_id": "app",
            "topology": TOPOLOGY,
            **config,
        }
        environment = Environment(self.network, self.simulation.clock, self.simulation.rng)
        return AsyncStreamsGroupMember(environment=environment, **config)
