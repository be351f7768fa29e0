"""What the coordinator must know of the cluster's topics, and where it has share-partition state initialised."""

from typing import Protocol
from uuid import UUID

__all__ = ["ShareState", "TopicImage", "TopicsImage"]


class TopicImage(Protocol):
    """One topic, as it is now."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def topic_id(self) -> UUID:
        """Its id; a topic created again under the same name has another."""
        ...

    @property
    def num_partitions(self) -> int:
        """How many partitions it has."""
        ...


class TopicsImage(Protocol):
    """The topics of the cluster; `ClusterMetadata` is one."""

    def topic(self, name: str) -> TopicImage | None:
        """Return the topic with that name."""
        ...

    def topic_by_id(self, topic_id: UUID) -> TopicImage | None:
        """Return the topic with that id."""
        ...


class ShareState(Protocol):
    """The share coordinator, as far as the group coordinator needs it; `ShareStateStore` is one."""

    def initialize(self, group_id: str, topic_id: UUID, partition: int, start_offset: int) -> None:
        """Create the state of a share-partition, or do nothing when it has one.

        Args:
            group_id: The share group.
            topic_id: The topic's id.
            partition: The partition's number.
            start_offset: Where delivery begins; -1 leaves it to the group's `share.auto.offset.reset`.
        """
        ...

    def delete(self, group_id: str, topic_id: UUID, partition: int) -> None:
        """Delete the state of a share-partition, if there is any."""
        ...
