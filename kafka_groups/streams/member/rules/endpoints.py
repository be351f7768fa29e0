"""Which process answers interactive queries for which partitions."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from attrs import frozen

from kafka_groups.protocol.messages.streams_group import UserEndpoint
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    EndpointToPartitions,
    StreamsGroupHeartbeatTopicPartition,
)
from kafka_groups.types import TopicPartition

__all__ = ["EndpointPartitions", "partitions_of_endpoints"]


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


def partitions_of_endpoints(listed: Iterable[EndpointToPartitions]) -> Mapping[UserEndpoint, EndpointPartitions]:
    """Return the partitions by endpoint. Members of one process have the same endpoint, and an entry each."""
    found: dict[UserEndpoint, EndpointPartitions] = {}
    for entry in listed:
        its = EndpointPartitions(_partitions(entry.active_partitions), _partitions(entry.standby_partitions))
        found[entry.user_endpoint] = found.get(entry.user_endpoint, EndpointPartitions()) | its
    return MappingProxyType(found)


def _partitions(listed: Iterable[StreamsGroupHeartbeatTopicPartition]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(each.topic, partition) for each in listed for partition in each.partitions)
