"""The metadata of a cluster: its current image, and the changes that may be made to it."""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from uuid import UUID

from kafka_groups.acls import AclBinding
from kafka_groups.broker.authorization.bindings import AccessControlLists
from kafka_groups.broker.configs.dynamic import DynamicConfigs
from kafka_groups.broker.metadata import changes
from kafka_groups.broker.metadata.authority import Authority, MetadataListener
from kafka_groups.broker.metadata.features import DEAD_LETTERS_FROM, SHARE_FEATURE
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.broker.metadata.placement import coordinator_of
from kafka_groups.broker.metadata.topics import BrokerEndpoint, PartitionMetadata, TopicMetadata
from kafka_groups.broker.profile import DEFAULT_PROFILE
from kafka_groups.types import TopicPartition, random_uuid, uuid_text

__all__ = ["ClusterMetadata"]


class ClusterMetadata:
    """Brokers, topics, configs, features and ACLs of one cluster, which all its brokers share.

    Properties and lookups answer from the current `image`. Every change goes through an `Authority`, which makes the
    next image and tells the listeners. Whether the value of a config is valid is for others to check.

    Args:
        rng: Random generator for the topic ids.
        identity: Random generator for the cluster id; by default `rng`.
        features: Finalised feature levels. The default is those of the newest release.
    """

    def __init__(
        self,
        rng: random.Random,
        *,
        identity: random.Random | None = None,
        features: Mapping[str, int] | None = None,
    ) -> None:
        self._rng = rng
        levels = DEFAULT_PROFILE.finalized_features() if features is None else features
        self._authority = Authority(
            MetadataImage(uuid_text(random_uuid(identity or rng)), MappingProxyType(dict(levels)))
        )

    def __repr__(self) -> str:
        return f"<ClusterMetadata {self.cluster_id}: {self.image!r}>"

    @property
    def image(self) -> MetadataImage:
        """The current image."""
        return self._authority.image

    def on_change(self, listener: MetadataListener) -> Callable[[], None]:
        """Call a listener after every change from now on. Returns a function that stops it."""
        return self._authority.on_change(listener)

    # ------------------------------------------------------------------------------------- the current image

    @property
    def cluster_id(self) -> str:
        """22 characters, as in Kafka."""
        return self.image.cluster_id

    @property
    def features(self) -> Mapping[str, int]:
        """Finalised feature levels."""
        return self.image.features

    @property
    def has_share_groups(self) -> bool:
        """True if share groups are enabled."""
        return self.image.features.get(SHARE_FEATURE, 0) > 0

    @property
    def has_dead_letter_queues(self) -> bool:
        """True if share groups may have dead-letter queues (KIP-1191)."""
        return self.image.features.get(SHARE_FEATURE, 0) >= DEAD_LETTERS_FROM

    @property
    def configs(self) -> DynamicConfigs:
        """Dynamic configs of topics, brokers and groups."""
        return self.image.configs

    @property
    def acls(self) -> AccessControlLists:
        """The access control lists."""
        return self.image.acls

    @property
    def brokers(self) -> Mapping[int, BrokerEndpoint]:
        """The running brokers by node id."""
        return self.image.brokers

    @property
    def controller_id(self) -> int:
        """Node id that clients see as the controller: the lowest running one, or -1 if no broker is running."""
        return self.image.controller_id

    @property
    def version(self) -> int:
        """Number of the current image."""
        return self.image.version

    def topic(self, name: str) -> TopicMetadata | None:
        """Return the topic with that name."""
        return self.image.topic(name)

    def topic_by_id(self, topic_id: UUID) -> TopicMetadata | None:
        """Return the topic with that id."""
        return self.image.topic_by_id(topic_id)

    def topics(self) -> tuple[TopicMetadata, ...]:
        """Return all topics, in the order in which they were created."""
        return self.image.topics()

    def partition(self, topic_id: UUID, index: int) -> PartitionMetadata | None:
        """Return one partition by its topic's id."""
        return self.image.partition(topic_id, index)

    def replica_racks(self, partition: TopicPartition) -> frozenset[str] | None:
        """Return the racks of the running brokers that have a partition. None if it does not exist."""
        image = self.image
        topic = image.topic(partition.topic)
        if topic is None or partition.partition >= topic.num_partitions:
            return None
        brokers = [image.brokers.get(replica) for replica in topic.partitions[partition.partition].replicas]
        return frozenset(broker.rack for broker in brokers if broker is not None and broker.rack)

    def coordinator_of(self, group_id: str) -> int:
        """Return the node id of the broker that coordinates a group, or -1 if no broker is running."""
        return coordinator_of(self.image, group_id)

    # --------------------------------------------------------------------------------------------- changes

    def register_broker(self, endpoint: BrokerEndpoint) -> None:
        """Add a broker, or bring it back. It becomes the leader of its partitions that have no leader."""
        self._authority.change(partial(changes.register_broker, endpoint=endpoint))

    def unregister_broker(self, node_id: int) -> None:
        """Remove a broker. The next running replica leads each of its partitions; without one, they have no leader."""
        self._authority.change(partial(changes.unregister_broker, node_id=node_id))

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
        new = changes.NewTopic(name, num_partitions, replication_factor, configs, assignment)
        return self._authority.change(partial(changes.create_topic, new=new, rng=self._rng))

    def create_partitions(self, name: str, count: int, assignment: Sequence[tuple[int, ...]] = ()) -> TopicMetadata:
        """Increase the partitions of a topic to `count`. `assignment` can list the replicas of the new ones.

        Raises:
            UnknownTopicOrPartitionError: The topic does not exist.
            InvalidPartitionsError: The topic already has that many partitions or more.
        """
        edit = partial(changes.create_partitions, name=name, count=count, assignment=assignment)
        return self._authority.change(edit)

    def delete_topic(self, name: str) -> TopicMetadata:
        """Delete a topic and its configs, and return the topic.

        Raises:
            UnknownTopicOrPartitionError: The topic does not exist.
        """
        return self._authority.change(partial(changes.delete_topic, name=name))

    def move_leader(self, partition: TopicPartition, node_id: int) -> PartitionMetadata:
        """Make a broker the leader of a partition, with the next leader epoch.

        Raises:
            UnknownTopicOrPartitionError: The partition does not exist.
            ValueError: The broker does not exist or is stopped.
        """
        return self._authority.change(partial(changes.move_leader, partition=partition, node_id=node_id))

    def alter_configs(self, resource_type: int, name: str, values: Mapping[str, str | None]) -> None:
        """Set dynamic configs of a resource. None resets a config to its default."""
        self._authority.change(partial(changes.alter_configs, resource=(resource_type, name), changes=values))

    def change_acls(self, created: Iterable[AclBinding] = (), deleted: Iterable[AclBinding] = ()) -> None:
        """Add ACLs, and remove others. Whether they are valid is for others to check."""
        self._authority.change(lambda edit: edit.change_acls(created, deleted))

    def finalize_features(self, levels: Mapping[str, int]) -> None:
        """Set the levels of features. Whether they are possible is for others to check."""
        self._authority.change(lambda edit: edit.set_features(levels))
