"""The documents of `kafka-groups topics`."""

from attrs import frozen

from kafka_groups.cli.documents.config_values import ConfigValueEntry

__all__ = [
    "CreatedTopicEntry",
    "DeletedTopicEntry",
    "GrownTopicEntry",
    "LowWatermarkEntry",
    "TopicContents",
    "TopicEntry",
    "TopicPartitionEntry",
]


@frozen
class TopicEntry:
    """A topic in a list.

    Attributes:
        topic: The topic.
        id: Its id, or null before Kafka 2.8.
        partition_count: The number of its partitions.
        replication_factor: The number of replicas of its first partition.
        internal: Whether it is one of Kafka's own, such as `__consumer_offsets`.
    """

    topic: str
    id: str | None
    partition_count: int
    replication_factor: int
    internal: bool


@frozen
class TopicPartitionEntry:
    """A partition.

    Attributes:
        partition: Its number.
        leader: The id of the broker that leads it, or null if none does.
        leader_epoch: The epoch of its leader, or null.
        replicas: The ids of the brokers that have it. The preferred leader is first.
        in_sync_replicas: Those that have all committed records.
        offline_replicas: Those that are not available.
    """

    partition: int
    leader: int | None
    leader_epoch: int | None
    replicas: tuple[int, ...]
    in_sync_replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]


@frozen
class TopicContents(TopicEntry):
    """A topic.

    Attributes:
        partitions: Its partitions.
        configs: Its configurations, or null without `--configs`.
    """

    partitions: tuple[TopicPartitionEntry, ...]
    configs: tuple[ConfigValueEntry, ...] | None


@frozen
class CreatedTopicEntry:
    """A topic that was created, or would be.

    Attributes:
        topic: The topic.
        partition_count: The number of its partitions, or null for the brokers' default.
        replication_factor: The number of replicas of each partition, or null for the brokers' default.
        existed: Whether there was a topic of that name. It was not changed.
    """

    topic: str
    partition_count: int | None
    replication_factor: int | None
    existed: bool


@frozen
class GrownTopicEntry:
    """A topic that got more partitions, or would.

    Attributes:
        topic: The topic.
        partition_count: The number of partitions that it has now.
    """

    topic: str
    partition_count: int


@frozen
class DeletedTopicEntry:
    """A topic that was deleted, or would be.

    Attributes:
        topic: The topic.
    """

    topic: str


@frozen
class LowWatermarkEntry:
    """A partition whose oldest records were deleted, or would be.

    Attributes:
        topic: The topic.
        partition: The partition.
        before: The offset of the first record that stays. Null if all would be deleted, with `--dry-run`.
    """

    topic: str
    partition: int
    before: int | None
