"""The racks of the brokers that have the partitions of tasks."""

from collections.abc import Mapping

from kafka_groups.admin.rules.topics import TopicReplicas
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import TopicPartition

__all__ = ["RacksOfPartitions", "ReplicaRacks"]

RacksOfPartitions = Mapping[TopicPartition, frozenset[str] | None]
"""The racks of partitions; empty if no broker of a partition has a rack, and None if they are not known."""


class ReplicaRacks:
    """Looks racks up at the first use. An instance is a function that returns the racks of a partition.

    Args:
        topics: The topics, as the brokers have described them.
        failure: Why some topics that exist are not among them, or None.

    Attributes:
        failure: Why some topics are not known, or None.
        used: The racks of those partitions that an assignor has asked for, for whom racks count, therefore.
    """

    def __init__(self, topics: Mapping[str, TopicReplicas], failure: KafkaGroupsError | None = None) -> None:
        self._topics = topics
        self.failure = failure
        self.used: dict[TopicPartition, frozenset[str] | None] = {}

    def __repr__(self) -> str:
        return f"<ReplicaRacks of {len(self._topics)} topics, {len(self.used)} partitions used>"

    def __call__(self, partition: TopicPartition) -> frozenset[str] | None:
        """Return the racks of the brokers that have a partition. None if they are not known."""
        try:
            return self.used[partition]
        except KeyError:
            topic = self._topics.get(partition.topic)
            racks = None if topic is None else topic.racks_of(partition.partition)
            self.used[partition] = racks
            return racks
