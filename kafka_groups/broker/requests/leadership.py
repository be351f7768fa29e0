"""Finds the partition of a request and checks that this broker leads it, or finds its leader (KIP-951)."""

from collections.abc import Iterable
from uuid import UUID

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import leader_of
from kafka_groups.broker.metadata.topics import PartitionMetadata, TopicMetadata
from kafka_groups.broker.requests.services import BrokerServices
from kafka_groups.errors import (
    FencedLeaderEpochError,
    NotLeaderOrFollowerError,
    UnknownLeaderEpochError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.leadership import NO_LEADER_EPOCH, LeaderIdAndEpoch, NodeEndpoint

__all__ = ["current_leader", "led_partition", "node_endpoints", "partition_of", "topic_by_id_or_name"]


def topic_by_id_or_name(metadata: ClusterMetadata, topic_id: UUID | None, name: str) -> TopicMetadata:
    """Return the topic for an id, or for a name if there is no id.

    Raises:
        UnknownTopicIdError: No topic has that id.
        UnknownTopicOrPartitionError: No topic has that name.
    """
    topic = metadata.topic(name) if topic_id is None else metadata.topic_by_id(topic_id)
    if topic is not None:
        return topic
    # The error says how the topic was named. Without either, Kafka treats the request as one by id.
    if topic_id is None and name:
        raise UnknownTopicOrPartitionError(f"Topic '{name}' does not exist.")
    raise UnknownTopicIdError(f"Topic with id {topic_id} does not exist.")


def partition_of(topic: TopicMetadata, index: int) -> PartitionMetadata:
    """Return one partition of a topic.

    Raises:
        UnknownTopicOrPartitionError: The topic has no such partition.
    """
    partition = leader_of(topic, index)
    if partition is None:
        raise UnknownTopicOrPartitionError(
            f"Topic '{topic.name}' has {topic.num_partitions} partition(s), but no partition {index}."
        )
    return partition


def led_partition(
    services: BrokerServices, topic: TopicMetadata, index: int, leader_epoch: int = NO_LEADER_EPOCH
) -> PartitionMetadata:
    """Return one partition after checking that this broker leads it in the client's leader epoch.

    Raises:
        UnknownTopicOrPartitionError: The topic has no such partition.
        NotLeaderOrFollowerError: Another broker leads it.
        FencedLeaderEpochError: The client knows an older leader epoch.
        UnknownLeaderEpochError: The client knows a newer one.
    """
    partition = partition_of(topic, index)
    # The epoch is compared before the leader, as in Partition.checkCurrentLeaderEpoch in Kafka: a client with old
    # metadata learns that they are old, and one with newer metadata that this broker is behind (KIP-320).
    if leader_epoch != NO_LEADER_EPOCH and leader_epoch < partition.leader_epoch:
        raise FencedLeaderEpochError(f"Leader epoch {leader_epoch} is older than {partition.leader_epoch}.")
    if leader_epoch > partition.leader_epoch:
        raise UnknownLeaderEpochError(f"Leader epoch {leader_epoch} is newer than {partition.leader_epoch}.")
    if partition.leader_id != services.node_id:
        raise NotLeaderOrFollowerError(f"Broker {services.node_id} does not lead partition {topic.name}-{index}.")
    return partition


def current_leader(topic: TopicMetadata | None, index: int) -> LeaderIdAndEpoch:
    """Return the leader of a partition, for a client that asked another broker."""
    partition = None if topic is None else leader_of(topic, index)
    if partition is None:
        return LeaderIdAndEpoch()
    return LeaderIdAndEpoch(leader_id=partition.leader_id, leader_epoch=partition.leader_epoch)


def node_endpoints(metadata: ClusterMetadata, leaders: Iterable[LeaderIdAndEpoch]) -> tuple[NodeEndpoint, ...]:
    """Return the addresses of the leaders in a response."""
    brokers = metadata.brokers
    found = (brokers.get(node_id) for node_id in sorted({leader.leader_id for leader in leaders}))
    return tuple(
        NodeEndpoint(node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack)
        for broker in found
        if broker is not None
    )
