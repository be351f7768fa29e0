"""The coordinator's view of the cluster's topics and of the share coordinator."""

from typing import Protocol
from uuid import UUID

__all__ = ["ShareState", "TopicImage", "TopicsImage"]


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

    def topic(self, name: str) -> TopicImage | None:
        """Return the topic with that name."""
        ...

    def topic_by_id(self, topic_id: UUID) -> TopicImage | None:
        """Return the topic with that id."""
        ...


class ShareState(Protocol):
    """The part of the share coordinator that the group coordinator uses. `LocalPersister` implements this."""

    def initialize(self, group_id: str, topic_id: UUID, partition: int, start_offset: int, *, state_epoch: int) -> None:
        """Create the state of a share-partition, unless it already has one.

        Args:
            group_id: The share group.
            topic_id: The topic's id.
            partition: The partition's number.
            start_offset: Where delivery starts. -1 means the group's `share.auto.offset.reset`.
            state_epoch: Epoch of the state: the group's epoch.
        """
        ...

    def restart(self, group_id: str, topic_id: UUID, partition: int, start_offset: int, *, state_epoch: int) -> None:
        """Begin the state of a share-partition afresh, or create it. The arguments are those of `initialize`."""
        ...

    def delete(self, group_id: str, topic_id: UUID, partition: int) -> None:
        """Delete the state of a share-partition, if it has one."""
        ...
