"""The changes that a cluster makes to its metadata. Each is an edit for `Authority.change`."""

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from attrs import field, frozen

from kafka_groups.broker.configs.dynamic import ResourceKey
from kafka_groups.broker.metadata.edit import MetadataEdit
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.placement import INTERNAL_TOPICS, led_by, next_replicas, successor
from kafka_groups.broker.metadata.topic_names import check_topic_name
from kafka_groups.broker.metadata.topics import NO_LEADER, BrokerEndpoint, PartitionMetadata, TopicMetadata
from kafka_groups.errors import (
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.types import TopicPartition, random_uuid

__all__ = [
    "NewTopic",
    "alter_configs",
    "check_new_partitions",
    "check_new_topic",
    "create_partitions",
    "create_topic",
    "delete_topic",
    "known_topic",
    "move_leader",
    "register_broker",
    "unregister_broker",
]


@frozen
class NewTopic:
    """A topic to create.

    Attributes:
        name: Its name.
        num_partitions: Number of partitions.
        replication_factor: Number of replicas of each partition.
        configs: Its configs.
        assignment: The replicas of each partition, the leader first. The two numbers must match it. Without an
            assignment, the cluster chooses one.
    """

    name: str
    num_partitions: int = 1
    replication_factor: int = 1
    configs: Mapping[str, str] = field(default=MappingProxyType({}))
    assignment: Sequence[tuple[int, ...]] = ()


# ---------------------------------------------------------------------------------------------------- brokers


def register_broker(edit: MetadataEdit, endpoint: BrokerEndpoint) -> None:
    """Add a broker, or bring it back. It becomes the leader of its partitions that have no leader."""
    edit.set_broker(endpoint.node_id, endpoint)
    for topic in edit.image.topics():
        # A partition that has a leader keeps it: there is no preferred leader election here.
        orphans = [p for p in topic.partitions if p.leader_id == NO_LEADER and endpoint.node_id in p.replicas]
        _replace_partitions(edit, topic, [led_by(partition, endpoint.node_id) for partition in orphans])


def unregister_broker(edit: MetadataEdit, node_id: int) -> None:
    """Remove a broker. The next running replica leads each of its partitions; without one, they have no leader."""
    edit.set_broker(node_id, None)
    running = edit.image.brokers.keys() - {node_id}
    for topic in edit.image.topics():
        # Only the leaders move. The list of replicas stays, so a broker that comes back can lead again.
        led = [partition for partition in topic.partitions if partition.leader_id == node_id]
        _replace_partitions(edit, topic, [led_by(partition, successor(partition, running)) for partition in led])


# ----------------------------------------------------------------------------------------------------- topics


def create_topic(edit: MetadataEdit, new: NewTopic, rng: random.Random) -> TopicMetadata:
    """Create a topic.

    Raises:
        BrokerError: The name or a number is invalid, or the topic exists.
    """
    check_new_topic(edit.image, new.name, new.num_partitions, new.replication_factor)
    # A client that lists replicas places the partitions itself.
    replicas = new.assignment or _placed(edit, new.num_partitions, new.replication_factor)
    topic = TopicMetadata(new.name, random_uuid(rng), _partitions(replicas, first=0), new.name in INTERNAL_TOPICS)
    # They are part of the same change, so nobody sees the topic without its configs.
    if new.configs:
        edit.set_configs((TOPIC_RESOURCE, new.name), new.configs)
    return edit.create(topic)


def check_new_topic(image: MetadataImage, name: str, num_partitions: int, replication_factor: int) -> None:
    """Raise the errors of `create_topic`.

    Raises:
        InvalidTopicError: The name is invalid, or differs from another topic's name only in `.` and `_`.
        TopicAlreadyExistsError: The topic already exists.
        InvalidPartitionsError: `num_partitions` is less than 1.
        InvalidReplicationFactorError: `replication_factor` is less than 1 or greater than the number of brokers.
    """
    # The name comes first: if it is illegal or taken, the numbers do not matter.
    check_topic_name(name)
    if image.topic(name) is not None:
        raise TopicAlreadyExistsError(f"Topic '{name}' already exists.")
    # Kafka's metrics could not tell two such topics apart, see `topic_names.collision_key`.
    collision = image.colliding_topic(name)
    if collision is not None:
        raise InvalidTopicError(f"Topic '{name}' collides with existing topic: {collision}")
    if num_partitions < 1:
        raise InvalidPartitionsError("Number of partitions was set to an invalid non-positive value.")
    if replication_factor < 1:
        raise InvalidReplicationFactorError("Replication factor must be larger than 0.")
    # Kafka counts brokers that are registered and not fenced. A broker that is stopped here is not registered.
    if replication_factor > len(image.brokers):
        raise InvalidReplicationFactorError(
            f"Unable to replicate the partition {replication_factor} time(s): "
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{len(image.brokers)} broker(s) are registered."
        )


def create_partitions(
    edit: MetadataEdit, name: str, count: int, assignment: Sequence[tuple[int, ...]]
) -> TopicMetadata:
    """Increase the partitions of a topic to `count`. `assignment` can list the replicas of the new ones.

    Raises:
        BrokerError: The topic does not exist, or the number of partitions is invalid.
        InvalidReplicationFactorError: No broker is running.
    """
    check_new_partitions(edit.image, name, count)
    topic = known_topic(edit.image, name)
    # A topic keeps the replication factor of its first partition.
    factor = len(topic.partitions[0].replicas)
    replicas = assignment or _placed(edit, count - topic.num_partitions, factor)
    partitions = topic.partitions + _partitions(replicas, first=topic.num_partitions)
    return edit.replace(topic, _with_partitions(topic, partitions))


def check_new_partitions(image: MetadataImage, name: str, count: int) -> None:
    """Raise the errors of `create_partitions`.

    Raises:
        UnknownTopicOrPartitionError: The topic does not exist.
        InvalidPartitionsError: The topic already has that many partitions or more.
    """
    current = known_topic(image, name).num_partitions
    # Kafka has two texts for the same error. Partitions can only be added, because the records of a removed one would
    # be lost.
    if count == current:
        raise InvalidPartitionsError(f"Topic already has {current} partition(s).")
    if count < current:
        raise InvalidPartitionsError(
            f"The topic {name} currently has {current} partition(s); {count} would not be an increase."
        )


def delete_topic(edit: MetadataEdit, name: str) -> TopicMetadata:
    """Delete a topic and its configs, and return the topic.

    Raises:
        UnknownTopicOrPartitionError: The topic does not exist.
    """
    topic = known_topic(edit.image, name)
    edit.delete(topic)
    # A new topic of the same name must not inherit them.
    edit.set_configs((TOPIC_RESOURCE, name), {})
    return topic


def move_leader(edit: MetadataEdit, partition: TopicPartition, node_id: int) -> PartitionMetadata:
    """Make a broker the leader of a partition, with the next leader epoch.

    Raises:
        UnknownTopicOrPartitionError: The partition does not exist.
        ValueError: The broker does not exist or is stopped.
    """
    topic = known_topic(edit.image, partition.topic)
    if not 0 <= partition.partition < topic.num_partitions:
        raise UnknownTopicOrPartitionError(f"Partition {partition} does not exist.")
    running = edit.image.brokers
    if node_id not in running:
        raise ValueError(f"Broker {node_id} cannot lead {partition}: it is not running. Running: {sorted(running)}.")
    moved = led_by(topic.partitions[partition.partition], node_id)
    _replace_partitions(edit, topic, [moved])
    return moved


def known_topic(image: MetadataImage, name: str) -> TopicMetadata:
    """Return a topic by its name.

    Raises:
        UnknownTopicOrPartitionError: The topic does not exist.
    """
    topic = image.topic(name)
    if topic is None:
        raise UnknownTopicOrPartitionError(f"Topic '{name}' does not exist.")
    return topic


# ---------------------------------------------------------------------------------------------------- configs


def alter_configs(edit: MetadataEdit, resource: ResourceKey, changes: Mapping[str, str | None]) -> None:
    """Set dynamic configs of a resource. None resets a config to its default."""
    # An incremental change: what is not named stays (KIP-339).
    values = {**edit.image.configs.overrides(*resource), **changes}
    edit.set_configs(resource, {key: value for key, value in values.items() if value is not None})


# ---------------------------------------------------------------------------------------------------- insides


def _placed(edit: MetadataEdit, count: int, factor: int) -> list[tuple[int, ...]]:
    if not edit.image.brokers:
        raise InvalidReplicationFactorError("No broker is running that new partitions could be placed on.")
    first, edit.placed = edit.placed, edit.placed + count
    return next_replicas(edit.image.brokers, first, count, factor)


def _partitions(replicas: Sequence[tuple[int, ...]], *, first: int) -> tuple[PartitionMetadata, ...]:
    return tuple(PartitionMetadata(first + i, nodes[0], 0, nodes) for i, nodes in enumerate(replicas))


def _replace_partitions(edit: MetadataEdit, topic: TopicMetadata, changed: Sequence[PartitionMetadata]) -> None:
    if changed:
        partitions = list(topic.partitions)
        for partition in changed:
            partitions[partition.partition] = partition
        edit.replace(topic, _with_partitions(topic, tuple(partitions)))


def _with_partitions(topic: TopicMetadata, partitions: tuple[PartitionMetadata, ...]) -> TopicMetadata:
    return TopicMetadata(topic.name, topic.topic_id, partitions, topic.is_internal)
