"""A topic in which a coordinator keeps its records. It is created with the first use."""

from collections.abc import Mapping

from attrs import frozen

from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.errors import CoordinatorNotAvailableError

__all__ = ["InternalTopic"]


@frozen
class InternalTopic:
    """An internal topic.

    Attributes:
        name: Its name.
        num_partitions: With how many partitions to create it.
        replication_factor: With how many replicas to create it. With fewer brokers, each of them has a replica.
        configs: With which configs to create it.
        metadata: The metadata of the cluster.
    """

    name: str
    num_partitions: int
    replication_factor: int
    configs: Mapping[str, str]
    metadata: ClusterMetadata

    def known(self) -> TopicMetadata | None:
        """Return the topic, or None if it does not exist."""
        return self.metadata.topic(self.name)

    def ensured(self) -> TopicMetadata:
        """Return the topic, and create it if it does not exist.

        Raises:
            CoordinatorNotAvailableError: No broker is running.
        """
        known = self.known()
        if known is not None:
            return known
        brokers = len(self.metadata.image.brokers)
        if brokers == 0:
            raise CoordinatorNotAvailableError
        # A test cluster of one broker needs its internal topics, too. Kafka would not create a topic with more replicas
        # than there are brokers.
        replicas = min(self.replication_factor, brokers)
        return self.metadata.create_topic(self.name, self.num_partitions, replicas, configs=self.configs)
