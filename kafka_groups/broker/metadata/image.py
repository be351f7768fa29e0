"""The metadata of the cluster at one moment: frozen, so a reader sees all of one version."""

from collections.abc import Mapping
from types import MappingProxyType
from uuid import UUID

from attrs import field, frozen

from kafka_groups.broker.authorization.bindings import AccessControlLists
from kafka_groups.broker.configs.dynamic import DynamicConfigs
from kafka_groups.broker.metadata.topic_names import collision_key
from kafka_groups.broker.metadata.topics import BrokerEndpoint, PartitionMetadata, TopicMetadata
from kafka_groups.broker.persistent_map import PersistentMap

__all__ = ["MetadataImage"]


@frozen(eq=False)
class MetadataImage:
    """Brokers, topics, configs, features and ACLs of one cluster. An `Authority` makes each image from the one before.

    Attributes:
        version: Number of the image. The first one is 0.
        cluster_id: 22 characters, as in Kafka.
        features: Finalised feature levels.
        brokers: The running brokers by node id.
        node_ids: All brokers that ever ran, including stopped ones, in order.
        topics_by_id: The topics, in the order in which they were created.
        ids_by_name: The ids of the topics.
        names_by_collision_key: The names of topics that other names may collide with (see `collision_key`).
        configs: Dynamic configs of topics, brokers and groups.
        acls: The access control lists.
        placed: The number of partitions that the cluster has placed on brokers, for the rotation of leaders.
    """

    cluster_id: str
    features: Mapping[str, int] = MappingProxyType({})
    version: int = 0
    brokers: Mapping[int, BrokerEndpoint] = MappingProxyType({})
    node_ids: tuple[int, ...] = ()
    topics_by_id: PersistentMap[UUID, TopicMetadata] = field(factory=PersistentMap)
    ids_by_name: PersistentMap[str, UUID] = field(factory=PersistentMap)
    names_by_collision_key: PersistentMap[str, str] = field(factory=PersistentMap)
    configs: DynamicConfigs = field(factory=DynamicConfigs)
    acls: AccessControlLists = field(factory=AccessControlLists)
    placed: int = 0

    def __repr__(self) -> str:
        return f"<MetadataImage {self.version}: brokers {sorted(self.brokers)}, {len(self.topics_by_id)} topics>"

    @property
    def controller_id(self) -> int:
        """Node id that clients see as the controller: the lowest running one, or -1 if no broker is running."""
        return min(self.brokers, default=-1)

    def topic(self, name: str) -> TopicMetadata | None:
        """Return the topic with that name."""
        topic_id = self.ids_by_name.get(name)
        return None if topic_id is None else self.topics_by_id.get(topic_id)

    def topic_by_id(self, topic_id: UUID) -> TopicMetadata | None:
        """Return the topic with that id."""
        return self.topics_by_id.get(topic_id)

    def colliding_topic(self, name: str) -> str | None:
        """Return the name of the topic whose name differs from this one only in `.` and `_`, if there is one."""
        key = collision_key(name)
        return None if key is None else self.names_by_collision_key.get(key)

    def topics(self) -> tuple[TopicMetadata, ...]:
        """Return all topics, in the order in which they were created."""
        return self.topics_by_id.values()

    def partition(self, topic_id: UUID, index: int) -> PartitionMetadata | None:
        """Return one partition by its topic's id."""
        topic = self.topics_by_id.get(topic_id)
        return topic.partitions[index] if topic is not None and 0 <= index < len(topic.partitions) else None
