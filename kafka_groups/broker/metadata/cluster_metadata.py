"""The cluster's metadata: brokers, topics, leaders and dynamic configs.

This is only a store: the handler that changes a config decides whether the value is valid. All brokers of an embedded
cluster share one `ClusterMetadata`. Changes are visible at once, and listeners are notified of them.
"""

import base64
import random
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from uuid import UUID

import attrs

from kafka_groups.broker.configs.dynamic import DynamicConfigs
from kafka_groups.broker.metadata.events import LeaderMoved, MetadataEvent, PartitionCreated, PartitionDeleted
from kafka_groups.broker.metadata.topic_names import check_topic_name, colliding_name
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

__all__ = ["FINALIZED_FEATURES", "ClusterMetadata"]

_INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

FINALIZED_FEATURES: Mapping[str, int] = MappingProxyType({
    "group.version": 1,
    "metadata.version": 33,  # 4.4-IV2
    "share.version": 1,  # 2 is for dead-letter queues (KIP-1191), which are not supported
    "streams.version": 0,  # streams groups are not supported
    "transaction.version": 2,
})  # fmt: skip


class ClusterMetadata:
    """Brokers, topics and configs of one cluster.

    Args:
        rng: Random generator for the cluster id and the topic ids.

    Attributes:
        cluster_id: 22 characters, as in Kafka.
        configs: Dynamic configs of topics, brokers and groups.
        features: Finalised feature levels.
    """

    def __init__(self, rng: random.Random, *, features: Mapping[str, int] = FINALIZED_FEATURES) -> None:
        self._rng = rng
        self.cluster_id = base64.urlsafe_b64encode(random_uuid(rng).bytes).rstrip(b"=").decode("ascii")
        self.features: Mapping[str, int] = MappingProxyType(dict(features))
        self.configs = DynamicConfigs()
        self._brokers: dict[int, BrokerEndpoint] = {}
        self._node_ids: list[int] = []  # of all brokers that ever ran, including stopped ones
        self._by_name: dict[str, TopicMetadata] = {}
        self._by_id: dict[UUID, TopicMetadata] = {}
        self._listeners: list[Callable[[MetadataEvent], None]] = []
        self._next_broker = 0

    def __repr__(self) -> str:
        return f"<ClusterMetadata {self.cluster_id}: brokers {sorted(self._brokers)}, {len(self._by_name)} topics>"

    # ------------------------------------------------------------------------------------------ brokers

    @property
    def brokers(self) -> Mapping[int, BrokerEndpoint]:
        """The running brokers by node id."""
        return MappingProxyType(self._brokers)

    @property
    def controller_id(self) -> int:
        """Node id that clients see as the controller: the lowest running one, or -1 if no broker is running."""
        return min(self._brokers, default=-1)

    def register_broker(self, endpoint: BrokerEndpoint) -> None:
        """Add a broker, or bring it back. It becomes the leader of its partitions that have no leader."""
        self._brokers[endpoint.node_id] = endpoint
        if endpoint.node_id not in self._node_ids:
            self._node_ids = sorted([*self._node_ids, endpoint.node_id])
        for topic, partition in self._partitions_led_by(NO_LEADER):
            if endpoint.node_id in partition.replicas:
                self._lead(topic, partition, endpoint.node_id)

    def unregister_broker(self, node_id: int) -> None:
        """Remove a broker. The next running replica leads each of its partitions; if there is none, nobody does."""
        self._brokers.pop(node_id, None)
        for topic, partition in self._partitions_led_by(node_id):
            alive = (replica for replica in partition.replicas if replica in self._brokers)
            self._lead(topic, partition, next(alive, NO_LEADER))

    def coordinator_of(self, group_id: str) -> int:
        """Return the node id of the broker that coordinates a group, or -1 if no broker is running.

        A group keeps its coordinator as long as that broker runs, regardless of the other brokers.
        """
        first = zlib.crc32(group_id.encode()) % max(len(self._node_ids), 1)
        order = self._node_ids[first:] + self._node_ids[:first]
        return next((node_id for node_id in order if node_id in self._brokers), NO_LEADER)

    # ------------------------------------------------------------------------------------------- topics

    def topic(self, name: str) -> TopicMetadata | None:
        """Return the topic with that name."""
        return self._by_name.get(name)

    def topic_by_id(self, topic_id: UUID) -> TopicMetadata | None:
        """Return the topic with that id."""
        return self._by_id.get(topic_id)

    def topics(self) -> Iterable[TopicMetadata]:
        """All topics, in the order in which they were created."""
        return tuple(self._by_name.values())

    def partition(self, topic_id: UUID, index: int) -> PartitionMetadata | None:
        """Return one partition by its topic's id."""
        topic = self._by_id.get(topic_id)
        return topic.partitions[index] if topic is not None and 0 <= index < len(topic.partitions) else None

    def create_topic(
        self,
        name: str,
        num_partitions: int = 1,
        replication_factor: int = 1,
        configs: Mapping[str, str] = MappingProxyType({}),
        assignment: Sequence[tuple[int, ...]] = (),
    ) -> TopicMetadata:
        """Create a topic. Its leaders rotate over the brokers, by topic and by partition.

        Args:
            name: Name of the topic.
            num_partitions: Number of partitions.
            replication_factor: Number of replicas of each partition.
            configs: Configs of the topic.
            assignment: The replicas of each partition, the leader first. The two numbers must match it. Without an
                assignment, the cluster chooses one.

        Raises:
            InvalidTopicError: The name is invalid, or differs from another topic's name only in `.` and `_`.
            TopicAlreadyExistsError: The topic already exists.
            InvalidPartitionsError: `num_partitions` is less than 1.
            InvalidReplicationFactorError: `replication_factor` is less than 1 or greater than the number of brokers.
        """
        self.check_new_topic(name, num_partitions, replication_factor)
        replicas = assignment or [self._next_replicas(replication_factor) for _ in range(num_partitions)]
        topic = self._add_topic(name, replicas)
        self.configs.alter(TOPIC_RESOURCE, name, configs)
        self._announce_created(topic, topic.partitions)
        return topic

    def check_new_topic(self, name: str, num_partitions: int, replication_factor: int) -> None:
        """Raise the errors of `create_topic` without creating anything, for validate-only requests."""
        check_topic_name(name)
        if name in self._by_name:
            raise TopicAlreadyExistsError(f"Topic '{name}' already exists.")
        collision = colliding_name(name, self._by_name)
        if collision is not None:
            raise InvalidTopicError(f"Topic '{name}' collides with existing topic: {collision}")
        if num_partitions < 1:
            raise InvalidPartitionsError("Number of partitions was set to an invalid non-positive value.")
        self._check_replication_factor(replication_factor)

    def create_partitions(self, name: str, count: int, assignment: Sequence[tuple[int, ...]] = ()) -> TopicMetadata:
        """Increase the partitions of a topic to `count`. `assignment` can list the replicas of the new ones.

        Raises:
            UnknownTopicOrPartitionError: The topic does not exist.
            InvalidPartitionsError: The topic already has that many partitions or more.
        """
        topic = self._known(name)
        self.check_new_partitions(name, count)
        factor = len(topic.partitions[0].replicas)
        added = assignment or [self._next_replicas(factor) for _ in range(count - topic.num_partitions)]
        grown = _partitions(added, first=topic.num_partitions)
        topic = self._store(attrs.evolve(topic, partitions=topic.partitions + grown))
        self._announce_created(topic, grown)
        return topic

    def check_new_partitions(self, name: str, count: int) -> None:
        """Raise the errors of `create_partitions` without changing anything, for validate-only requests."""
        current = self._known(name).num_partitions
        if count == current:
            raise InvalidPartitionsError(f"Topic already has {current} partition(s).")
        if count < current:
            raise InvalidPartitionsError(
                f"The topic {name} currently has {current} partition(s); {count} would not be an increase."
            )

    def delete_topic(self, name: str) -> TopicMetadata:
        """Delete a topic and its configs, and return the topic.

        Raises:
            UnknownTopicOrPartitionError: The topic does not exist.
        """
        topic = self._known(name)
        del self._by_name[name]
        del self._by_id[topic.topic_id]
        self.configs.forget(TOPIC_RESOURCE, name)
        for partition in topic.partitions:
            self._tell(PartitionDeleted(topic.topic_id_partition(partition.partition), partition.leader_id))
        return topic

    def move_leader(self, partition: TopicPartition, node_id: int) -> PartitionMetadata:
        """Make a broker the leader of a partition, with the next leader epoch.

        Raises:
            UnknownTopicOrPartitionError: The partition does not exist.
            ValueError: The broker does not exist or is stopped.
        """
        topic = self._known(partition.topic)
        if not 0 <= partition.partition < topic.num_partitions:
            raise UnknownTopicOrPartitionError(f"Partition {partition} does not exist.")
        if node_id not in self._brokers:
            raise ValueError(
                f"Broker {node_id} cannot lead {partition}: it is not running. Running: {sorted(self._brokers)}."
            )
        return self._lead(topic, topic.partitions[partition.partition], node_id)

    # ---------------------------------------------------------------------------------------- listeners

    def on_change(self, listener: Callable[[MetadataEvent], None]) -> Callable[[], None]:
        """Call a listener after every change from now on. Returns a function that stops it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _tell(self, event: MetadataEvent) -> None:
        for listener in tuple(self._listeners):
            listener(event)

    def _announce_created(self, topic: TopicMetadata, partitions: Iterable[PartitionMetadata]) -> None:
        for partition in partitions:
            self._tell(PartitionCreated(topic.topic_id_partition(partition.partition), partition.leader_id))

    # ----------------------------------------------------------------------------------------- insides

    def _known(self, name: str) -> TopicMetadata:
        topic = self._by_name.get(name)
        if topic is None:
            raise UnknownTopicOrPartitionError(f"Topic '{name}' does not exist.")
        return topic

    def _store(self, topic: TopicMetadata) -> TopicMetadata:
        self._by_name[topic.name] = self._by_id[topic.topic_id] = topic
        return topic

    def _add_topic(self, name: str, replicas: Sequence[tuple[int, ...]]) -> TopicMetadata:
        internal = name in _INTERNAL_TOPICS
        return self._store(TopicMetadata(name, random_uuid(self._rng), _partitions(replicas, first=0), internal))

    def _check_replication_factor(self, factor: int) -> None:
        if factor < 1:
            raise InvalidReplicationFactorError("Replication factor must be larger than 0.")
        if factor > len(self._brokers):
            raise InvalidReplicationFactorError(
                f"The target replication factor of {factor} cannot be reached because only "
                f"{len(self._brokers)} broker(s) are registered."
            )

    def _next_replicas(self, factor: int) -> tuple[int, ...]:
        alive = sorted(self._brokers)
        first = self._next_broker % len(alive)
        self._next_broker += 1
        return tuple((alive[first:] + alive[:first])[:factor])

    def _partitions_led_by(self, node_id: int) -> Iterator[tuple[TopicMetadata, PartitionMetadata]]:
        led = [(name, p) for name, topic in self._by_name.items() for p in topic.partitions if p.leader_id == node_id]
        for name, partition in led:
            yield self._by_name[name], partition

    def _lead(self, topic: TopicMetadata, partition: PartitionMetadata, node_id: int) -> PartitionMetadata:
        moved = _led_by(partition, node_id)
        index = partition.partition
        self._store(attrs.evolve(topic, partitions=(*topic.partitions[:index], moved, *topic.partitions[index + 1 :])))
        self._tell(LeaderMoved(topic.topic_id_partition(index), partition.leader_id, node_id, moved.leader_epoch))
        return moved


def _partitions(replicas: Sequence[tuple[int, ...]], *, first: int) -> tuple[PartitionMetadata, ...]:
    return tuple(PartitionMetadata(first + i, nodes[0], 0, nodes) for i, nodes in enumerate(replicas))


def _led_by(partition: PartitionMetadata, node_id: int) -> PartitionMetadata:
    replicas = partition.replicas
    if node_id != NO_LEADER and node_id not in replicas:
        # All brokers share the log, so a test may move a leader to any broker. It replaces the old leader.
        replicas = tuple(node_id if replica == partition.leader_id else replica for replica in replicas)
        replicas = replicas if node_id in replicas else (node_id, *replicas[1:])
    return attrs.evolve(partition, leader_id=node_id, leader_epoch=partition.leader_epoch + 1, replicas=replicas)
