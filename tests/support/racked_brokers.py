"""Brokers in several racks, whose partitions can move: embedded, or a real Kafka of two nodes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from attrs import evolve
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until
from tests.support.kafka.kafka_tools import KafkaTools

__all__ = ["EmbeddedRacks", "KafkaRacks", "RackedBrokers"]

Places = Mapping[TopicPartition, str]


class RackedBrokers(Protocol):
    """Brokers with the node ids 1, 2 … in the racks `r1`, `r2` …, and topics with one replica of each partition."""

    @property
    def servers(self) -> str:
        """Where the brokers are."""
        ...

    @property
    def count(self) -> int:
        """The number of brokers."""
        ...

    def create(self, topic: str, nodes: Sequence[int]) -> None:
        """Create a topic whose partitions are in these brokers."""
        ...

    def move(self, topic: str, nodes: Sequence[int]) -> None:
        """Let the partitions of a topic move to these brokers. It returns when they are there."""
        ...

    def racks_of(self, topics: Sequence[str]) -> Places:
        """Return the racks of all partitions of some topics."""
        ...


class EmbeddedRacks:
    """Embedded brokers, on a thread of their own.

    Args:
        cluster: The brokers, which run.
        are_racked: Whether they have racks.
    """

    def __init__(self, cluster: EmbeddedCluster, *, are_racked: bool = True) -> None:
        self.servers = cluster.bootstrap_servers
        self._cluster = cluster
        endpoints = list(cluster.metadata.image.brokers.values())
        self.count = len(endpoints)
        for endpoint in endpoints if are_racked else ():
            cluster._on_loop(
                lambda it=endpoint: cluster.metadata.register_broker(evolve(it, rack=f"r{it.node_id}"))  # type: ignore[misc]
            )

    def create(self, topic: str, nodes: Sequence[int]) -> None:
        """Create a topic."""
        self._cluster.create_topic(topic, len(nodes))
        self.move(topic, nodes)

    def move(self, topic: str, nodes: Sequence[int]) -> None:
        """Let partitions move. All embedded brokers share the records."""
        for partition, node_id in enumerate(nodes):
            if self._cluster.leader_of(topic, partition) != node_id:
                self._cluster.move_leader(topic, partition, node_id)

    def racks_of(self, topics: Sequence[str]) -> Places:
        """Return the racks of partitions."""
        found = [(topic, self._cluster.metadata.topic(topic)) for topic in topics]
        return {
            TopicPartition(topic, each.partition): f"r{each.replicas[0]}"
            for topic, metadata in found
            if metadata is not None
            for each in metadata.partitions
        }


class KafkaRacks:
    """Nodes of a real Kafka, whose partitions Kafka's own tool moves.

    Args:
        nodes: The nodes, which run.
        tools: Kafka's tools.
        directory: For files of the tool.
    """

    def __init__(self, nodes: Mapping[int, KafkaProcess], tools: KafkaTools, directory: Path) -> None:
        self.servers = ",".join(node.bootstrap_servers for node in nodes.values())
        self.count = len(nodes)
        self._tools = tools
        self._file = directory / "reassignment.json"

    def create(self, topic: str, nodes: Sequence[int]) -> None:
        """Create a topic."""
        admin = AdminClient({"bootstrap.servers": self.servers})
        made = admin.create_topics([NewTopic(topic, len(nodes), replica_assignment=[[node_id] for node_id in nodes])])
        made[topic].result()
        wait_until(lambda: len(self.racks_of([topic])) == len(nodes))

    def move(self, topic: str, nodes: Sequence[int]) -> None:
        """Let partitions move."""
        plan = [{"topic": topic, "partition": at, "replicas": [node_id]} for at, node_id in enumerate(nodes)]
        self._file.write_text(json.dumps({"version": 1, "partitions": plan}), encoding="utf-8")
        self._reassign("--execute")
        wanted = {TopicPartition(topic, at): f"r{node_id}" for at, node_id in enumerate(nodes)}
        wait_until(lambda: self.racks_of([topic]) == wanted, 60.0, lambda: self.racks_of([topic]))

    def _reassign(self, action: str) -> None:
        place = ("--bootstrap-server", self.servers, "--reassignment-json-file", str(self._file))
        done = self._tools.run("kafka-reassign-partitions", *place, action)
        assert done.status == 0, (done.out, done.err)

    def racks_of(self, topics: Sequence[str]) -> Places:
        """Return the racks of partitions. One that is on its way has those of all its brokers."""
        found = AdminClient({"bootstrap.servers": self.servers}).list_topics(timeout=30).topics
        return {
            TopicPartition(topic, number): " ".join(f"r{node_id}" for node_id in each.replicas)
            for topic in topics
            if topic in found
            for number, each in found[topic].partitions.items()
        }
