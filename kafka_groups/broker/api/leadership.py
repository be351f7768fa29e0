"""Which partition a request means, whether this broker leads it, and where the leader is if not (KIP-951)."""

from collections.abc import Iterable
from uuid import UUID

from kafka_groups.broker.api.context import BrokerServices
from kafka_groups.broker.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from kafka_groups.errors import (
    FencedLeaderEpochError,
    NotLeaderOrFollowerError,
    UnknownLeaderEpochError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint

__all__ = ["NO_EPOCH", "current_leader", "led_partition", "node_endpoints", "partition_of", "topic_by_id_or_name"]

NO_EPOCH = -1
"""Leader epoch in a request whose sender does not know it."""


def topic_by_id_or_name(metadata: ClusterMetadata, topic_id: UUID | None, name: str) -> TopicMetadata:
    """The topic that a request names by id, or by name when it has no id.

    Raises:
        UnknownTopicIdError: There is none of that id.
        UnknownTopicOrPartitionError: There is none of that name.
    """
    topic = metadata.topic(name) if topic_id is None else metadata.topic_by_id(topic_id)
    if topic is not None:
        return topic
    if topic_id is None and name:
        raise UnknownTopicOrPartitionError(f"there is no topic '{name}'")
    raise UnknownTopicIdError(f"there is no topic with id {topic_id}")


def partition_of(topic: TopicMetadata, index: int) -> PartitionMetadata:
    """One partition of a topic.

    Raises:
        UnknownTopicOrPartitionError: The topic has no such partition.
    """
    if not 0 <= index < topic.num_partitions:
        raise UnknownTopicOrPartitionError(f"topic '{topic.name}' has {topic.num_partitions} partitions, no {index}")
    return topic.partitions[index]


def led_partition(
    services: BrokerServices, topic: TopicMetadata, index: int, leader_epoch: int = NO_EPOCH
) -> PartitionMetadata:
    """One partition that this broker leads, in the epoch that the client knows.

    Raises:
        UnknownTopicOrPartitionError: The topic has no such partition.
        NotLeaderOrFollowerError: Another broker leads it.
        FencedLeaderEpochError: The client knows an older leader epoch.
        UnknownLeaderEpochError: The client knows a newer one.
    """
    partition = partition_of(topic, index)
    if leader_epoch != NO_EPOCH and leader_epoch < partition.leader_epoch:
        raise FencedLeaderEpochError(f"leader epoch {leader_epoch} is older than {partition.leader_epoch}")
    if leader_epoch > partition.leader_epoch:
        raise UnknownLeaderEpochError(f"leader epoch {leader_epoch} is newer than {partition.leader_epoch}")
    if partition.leader_id != services.node_id:
        raise NotLeaderOrFollowerError(f"broker {services.node_id} does not lead partition {topic.name}-{index}")
    return partition


def current_leader(topic: TopicMetadata | None, index: int) -> LeaderIdAndEpoch:
    """The leader of a partition, to be told to a client that asked another broker."""
    if topic is None or not 0 <= index < topic.num_partitions:
        return LeaderIdAndEpoch()
    partition = topic.partitions[index]
    return LeaderIdAndEpoch(leader_id=partition.leader_id, leader_epoch=partition.leader_epoch)


def node_endpoints(metadata: ClusterMetadata, leaders: Iterable[LeaderIdAndEpoch]) -> tuple[NodeEndpoint, ...]:
    """The addresses of the leaders that a response names."""
    brokers = metadata.brokers
    found = (brokers.get(node_id) for node_id in sorted({leader.leader_id for leader in leaders}))
    return tuple(
        NodeEndpoint(node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack)
        for broker in found
        if broker is not None
    )
