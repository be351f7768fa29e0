"""A member's knowledge of its group, from the coordinator's responses."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from kafka_groups.protocol.messages.streams_group_heartbeat import (
    EndpointToPartitions,
    StreamsGroupHeartbeatResponse,
    StreamsGroupHeartbeatStatus,
    StreamsGroupHeartbeatTopicPartition,
    StreamsStatus,
)
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
from kafka_groups.streams.member.rules.member_events import asks_for_shutdown
from kafka_groups.types import TopicPartition

__all__ = [
    "UNKNOWN_ENDPOINTS_EPOCH",
    "KnownGroup",
    "partitions_of_endpoints",
]

UNKNOWN_ENDPOINTS_EPOCH: Final = -1
"""The epoch of a member that does not know the group's endpoints. The coordinator then sends all of them."""

# Statuses that end by themselves: an assignment that the coordinator delays, for example until more members have joined
# a new group, and internal topics that it creates (KIP-1071, "Handling topic topology mismatches").
_ASSIGNING = frozenset({StreamsStatus.ASSIGNMENT_DELAYED, StreamsStatus.MISSING_INTERNAL_TOPICS})
# Statuses that somebody has to end, by creating or changing topics, or by stopping all members.
_BLOCKING = frozenset(
    {
        StreamsStatus.MISSING_SOURCE_TOPICS,
        StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS,
        StreamsStatus.SHUTDOWN_APPLICATION,
    }
)


class KnownGroup:
    """The group's state as its member knows it.

    Attributes:
        statuses: What keeps the group from working.
        endpoints: The partitions by the endpoints that answer interactive queries for them.
        endpoints_epoch: The epoch of the endpoints, which the next heartbeat names.
    """

    def __init__(self) -> None:
        self.statuses: tuple[StreamsGroupHeartbeatStatus, ...] = ()
        self.endpoints: Mapping[UserEndpoint, EndpointPartitions] = {}
        self.endpoints_epoch = UNKNOWN_ENDPOINTS_EPOCH

    def take(self, response: StreamsGroupHeartbeatResponse) -> bool:
        """Take what is new in a response. Return whether the statuses have changed."""
        self.endpoints_epoch = response.endpoint_information_epoch
        # The coordinator sends the endpoints when the epoch in the request is not its own, and None otherwise
        # (GroupMetadataManager.streamsGroupHeartbeat in Kafka).
        if response.partitions_by_user_endpoint is not None:
            self.endpoints = partitions_of_endpoints(response.partitions_by_user_endpoint)
        # None means that nothing has changed: KIP-1071, "Reponse Schema". Kafka repeats the statuses in every response,
        # and the application hears of a change only.
        if response.status is None or response.status == self.statuses:
            return False
        self.statuses = response.status
        return True

    def forget_epoch(self) -> None:
        """Request the endpoints again. A new coordinator counts their epochs from the start."""
        self.endpoints_epoch = UNKNOWN_ENDPOINTS_EPOCH

    def _codes(self) -> set[int]:
        return {each.status_code for each in self.statuses}

    @property
    def is_assigning(self) -> bool:
        """True if the group says that tasks will be assigned soon."""
        return bool(self._codes() & _ASSIGNING)

    @property
    def is_blocked(self) -> bool:
        """True if no tasks are assigned until something outside the group changes."""
        return bool(self._codes() & _BLOCKING)

    @property
    def shutdown_requested(self) -> bool:
        """True if a member has asked all members to shut down."""
        return asks_for_shutdown(self.statuses)


def partitions_of_endpoints(listed: Iterable[EndpointToPartitions]) -> Mapping[UserEndpoint, EndpointPartitions]:
    """Return the partitions by endpoint. Members of one process have the same endpoint, and an entry each."""
    found: dict[UserEndpoint, EndpointPartitions] = {}
    for entry in listed:
        its = EndpointPartitions(_partitions(entry.active_partitions), _partitions(entry.standby_partitions))
        found[entry.user_endpoint] = found.get(entry.user_endpoint, EndpointPartitions()) | its
    return MappingProxyType(found)


def _partitions(listed: Iterable[StreamsGroupHeartbeatTopicPartition]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(each.topic, partition) for each in listed for partition in each.partitions)
