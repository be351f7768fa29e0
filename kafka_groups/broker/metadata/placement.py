"""Chooses the leaders of partitions and the coordinators of keys."""

from collections.abc import Collection, Sequence
from uuid import UUID

from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.topics import NO_LEADER, PartitionMetadata, TopicMetadata
from kafka_groups.types import uuid_text

__all__ = [
    "GROUP_TOPIC",
    "INTERNAL_TOPICS",
    "SHARE_STATE_TOPIC",
    "TRANSACTION_TOPIC",
    "coordinator_of",
    "java_hash",
    "leader_of",
    "led_by",
    "next_replicas",
    "partition_of_key",
    "share_state_key",
    "successor",
]

GROUP_TOPIC = "__consumer_offsets"
TRANSACTION_TOPIC = "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"
INTERNAL_TOPICS = frozenset({GROUP_TOPIC, TRANSACTION_TOPIC, SHARE_STATE_TOPIC})

_INTERNAL_PARTITIONS = 50
"""Kafka's default for each of its internal topics."""
_INT_RANGE = 2**32
_INT_MIN = -(2**31)


# --------------------------------------------------------------------------------------------------- leaders


def leader_of(topic: TopicMetadata, index: int) -> PartitionMetadata | None:
    """Return who leads a partition, and in which epoch, or None if the topic has no such partition."""
    return topic.partitions[index] if 0 <= index < topic.num_partitions else None


def next_replicas(brokers: Collection[int], placed: int, count: int, factor: int) -> list[tuple[int, ...]]:
    """Return the replicas of the next new partitions, the leader first. Leaders rotate over the running brokers.

    Args:
        brokers: Node ids of the running brokers.
        placed: The number of partitions placed before.
        count: Number of new partitions.
        factor: Number of replicas of each.
    """
    alive = sorted(brokers)
    turns = [tuple((alive[first:] + alive[:first])[:factor]) for first in range(len(alive))]
    return [turns[number % len(turns)] for number in range(placed, placed + count)]


def successor(partition: PartitionMetadata, brokers: Collection[int]) -> int:
    """Return the replica that leads a partition when its leader has stopped: the first one that runs, or NO_LEADER."""
    # All replicas have all records, since they share a log. Kafka takes the first one that is in sync.
    return next((replica for replica in partition.replicas if replica in brokers), NO_LEADER)


def led_by(partition: PartitionMetadata, node_id: int) -> PartitionMetadata:
    """Return the partition with another leader, or with NO_LEADER, in the next leader epoch."""
    replicas = partition.replicas
    if node_id != NO_LEADER and node_id not in replicas:
        # All brokers share the log, so a test may move a leader to any broker. It replaces the old leader.
        replicas = tuple(node_id if replica == partition.leader_id else replica for replica in replicas)
        replicas = replicas if node_id in replicas else (node_id, *replicas[1:])
    return PartitionMetadata(partition.partition, node_id, partition.leader_epoch + 1, replicas)


# ---------------------------------------------------------------------------------------------- coordinators


def coordinator_of(image: MetadataImage, key: str, internal_topic: str = GROUP_TOPIC) -> int:
    """Return the node id of the broker that coordinates a key, or -1 if it has no coordinator now.

    As in Kafka, that is the leader of one partition of an internal topic. As long as the internal topic does not exist,
    the brokers lead its partitions in turn, and a broker's partitions go to the next one that runs. So a key keeps its
    coordinator as long as that broker runs, regardless of the other brokers.
    """
    topic = image.topic(internal_topic)
    if topic is not None:
        return topic.partitions[partition_of_key(key, topic.num_partitions)].leader_id
    return _leader_in_turn(image, partition_of_key(key, _INTERNAL_PARTITIONS))


def _leader_in_turn(image: MetadataImage, index: int) -> int:
    # Brokers that are stopped count for the turn, so that the other keys keep their coordinators.
    first = index % max(len(image.node_ids), 1)
    order: Sequence[int] = image.node_ids[first:] + image.node_ids[:first]
    return next((node_id for node_id in order if node_id in image.brokers), NO_LEADER)


def partition_of_key(key: str, partitions: int) -> int:
    """Return the partition of an internal topic in which Kafka keeps the state of a key."""
    code = java_hash(key)
    # Kafka's Utils.abs: -2**31 has no positive counterpart among Java's ints.
    return (0 if code == _INT_MIN else abs(code)) % partitions


def java_hash(text: str) -> int:
    """Return what Java's `String.hashCode` returns: a signed 32-bit number, computed from UTF-16 code units."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) % _INT_RANGE
    return code - _INT_RANGE if code >= _INT_RANGE // 2 else code


def share_state_key(group_id: str, topic_id: UUID, partition: int) -> str:
    """Return the key of a share-partition's state."""
    return f"{group_id}:{uuid_text(topic_id)}:{partition}"
