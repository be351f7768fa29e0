"""The coordinator's view of the cluster's topics."""

from collections.abc import Iterable
from typing import Protocol
from uuid import UUID

from kafka_groups.types import TopicPartition

__all__ = ["TopicImage", "TopicsImage"]


class TopicImage(Protocol):
    """The current state of one topic."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def topic_id(self) -> UUID:
        """Its id. A topic that is created again with the same name has a different id."""
        ...

    @property
    def num_partitions(self) -> int:
        """Number of its partitions."""
        ...


class TopicsImage(Protocol):
    """The topics of the cluster. `ClusterMetadata` implements this."""

    @property
    def version(self) -> int:
        """A number that changes when a topic does."""
        ...

    def topic(self, name: str) -> TopicImage | None:
        """Return the topic with that name."""
        ...

    def topic_by_id(self, topic_id: UUID) -> TopicImage | None:
        """Return the topic with that id."""
        ...

    def topics(self) -> Iterable[TopicImage]:
        """Return all topics."""
        ...

    def replica_racks(self, partition: TopicPartition) -> frozenset[str] | None:
        """Return the racks of the brokers that have a partition, as far as they have one. None: it does not exist."""
        ...
