"""What share-partitions need of the cluster's metadata. `ClusterMetadata` implements this."""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

__all__ = ["LedPartition", "Partitions", "TopicOfPartitions"]


class LedPartition(Protocol):
    """The leader of a partition."""

    @property
    def leader_id(self) -> int:
        """Node id of its leader."""
        ...

    @property
    def leader_epoch(self) -> int:
        """The leader epoch."""
        ...


class TopicOfPartitions(Protocol):
    """A topic and its partitions. `partitions[i]` is partition i."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def partitions(self) -> Sequence[LedPartition]:
        """Its partitions."""
        ...


class Partitions(Protocol):
    """The partitions of the cluster."""

    def topic_by_id(self, topic_id: UUID) -> TopicOfPartitions | None:
        """Return the topic with that id."""
        ...
