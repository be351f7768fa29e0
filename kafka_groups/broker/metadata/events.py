"""The changes of the cluster's metadata that its listeners are told."""

from attrs import frozen

from kafka_groups.types import TopicIdPartition

__all__ = ["LeaderMoved", "MetadataEvent", "PartitionCreated", "PartitionDeleted"]


@frozen
class PartitionCreated:
    """A partition was created."""

    partition: TopicIdPartition
    leader_id: int


@frozen
class PartitionDeleted:
    """A partition was deleted with its topic."""

    partition: TopicIdPartition
    leader_id: int


@frozen
class LeaderMoved:
    """The leader or the leader epoch of a partition changed."""

    partition: TopicIdPartition
    old_leader_id: int
    leader_id: int
    leader_epoch: int


MetadataEvent = PartitionCreated | PartitionDeleted | LeaderMoved
"""The changes that listeners receive."""
