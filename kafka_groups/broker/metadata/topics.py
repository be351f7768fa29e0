"""Brokers, topics and partitions as the cluster's metadata describes them."""

from uuid import UUID

from attrs import frozen

from kafka_groups.types import TopicIdPartition

__all__ = ["NO_LEADER", "BrokerEndpoint", "PartitionMetadata", "TopicMetadata"]

NO_LEADER = -1
"""Leader id of a partition if none of its replicas is running."""


@frozen
class BrokerEndpoint:
    """The address of a broker for clients."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


@frozen
class PartitionMetadata:
    """One partition: its leader (or `NO_LEADER`), its leader epoch, and its replicas."""

    partition: int
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]


@frozen
class TopicMetadata:
    """One topic. `partitions[i]` is partition i."""

    name: str
    topic_id: UUID
    partitions: tuple[PartitionMetadata, ...]
    is_internal: bool = False

    @property
    def num_partitions(self) -> int:
        """Number of partitions of the topic."""
        return len(self.partitions)

    def topic_id_partition(self, partition: int) -> TopicIdPartition:
        """Return the partition by topic id, with the topic's name for display."""
        return TopicIdPartition(self.topic_id, partition, self.name)
