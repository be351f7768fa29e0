"""The places that answer interactive queries."""

from attrs import frozen

from kafka_groups.types import TopicPartition

__all__ = ["EndpointPartitions"]


@frozen
class EndpointPartitions:
    """The partitions of source topics whose keys a process answers queries for.

    Attributes:
        active: Partitions of tasks that it processes.
        standby: Partitions of tasks of which it keeps a copy.
    """

    active: frozenset[TopicPartition] = frozenset()
    standby: frozenset[TopicPartition] = frozenset()

    def __or__(self, other: "EndpointPartitions") -> "EndpointPartitions":
        return EndpointPartitions(self.active | other.active, self.standby | other.standby)
