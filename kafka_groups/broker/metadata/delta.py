"""Differences between two versions of the metadata."""

from collections.abc import Iterator

from attrs import frozen

from kafka_groups.broker.configs.dynamic import ResourceKey
from kafka_groups.broker.metadata.topics import BrokerEndpoint, PartitionMetadata, TopicMetadata
from kafka_groups.types import TopicIdPartition

__all__ = ["BrokerChanged", "GrownTopic", "LeaderMoved", "MetadataDelta"]


@frozen
class GrownTopic:
    """A topic that got more partitions. It had `size_before` of them."""

    topic: TopicMetadata
    size_before: int

    @property
    def added(self) -> tuple[PartitionMetadata, ...]:
        """The new partitions."""
        return self.topic.partitions[self.size_before :]


@frozen
class LeaderMoved:
    """The leader or the leader epoch of a partition changed."""

    partition: TopicIdPartition
    old_leader_id: int
    leader_id: int
    leader_epoch: int


@frozen
class BrokerChanged:
    """A broker joined (it has no old endpoint), left (it has no new one) or changed its endpoint."""

    node_id: int
    old: BrokerEndpoint | None
    new: BrokerEndpoint | None


@frozen
class MetadataDelta:
    """The difference between an image and the one before it. Everything is in the order in which it was changed.

    Attributes:
        version: The version of the new image.
        created: New topics, with all their partitions.
        deleted: Topics that are gone, as they were.
        grown: Topics with more partitions.
        leaders: Partitions that existed before and have another leader or leader epoch.
        brokers: Brokers that joined, left or moved.
        configs: Resources whose dynamic configs changed.
        features: Features that have another level.
        has_other_acls: Whether access control lists changed.
    """

    version: int
    created: tuple[TopicMetadata, ...] = ()
    deleted: tuple[TopicMetadata, ...] = ()
    grown: tuple[GrownTopic, ...] = ()
    leaders: tuple[LeaderMoved, ...] = ()
    brokers: tuple[BrokerChanged, ...] = ()
    configs: tuple[ResourceKey, ...] = ()
    features: tuple[str, ...] = ()
    has_other_acls: bool = False

    def lost_partitions(self) -> Iterator[TopicIdPartition]:
        """Yield the partitions that their leaders must forget: those of deleted topics, then those that moved."""
        for topic in self.deleted:
            yield from map(topic.topic_id_partition, range(topic.num_partitions))
        for moved in self.leaders:
            yield moved.partition

    def new_partitions(self) -> Iterator[TopicIdPartition]:
        """Yield the partitions that did not exist before: those of new topics, then those of grown ones."""
        for topic in self.created:
            yield from map(topic.topic_id_partition, range(topic.num_partitions))
        for grown in self.grown:
            yield from map(grown.topic.topic_id_partition, range(grown.size_before, grown.topic.num_partitions))
