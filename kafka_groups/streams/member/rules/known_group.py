"""What a member knows about its group from the coordinator's responses."""

from collections.abc import Mapping
from typing import Final

from kafka_groups.protocol.messages.streams_group import UserEndpoint
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatResponse,
    StreamsGroupHeartbeatStatus,
    StreamsStatus,
)
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions, partitions_of_endpoints

__all__ = ["UNKNOWN_ENDPOINTS_EPOCH", "KnownGroup"]

UNKNOWN_ENDPOINTS_EPOCH: Final = -1
"""The epoch of a member that does not know the group's endpoints. The coordinator then sends all of them."""

_ASSIGNING = frozenset({StreamsStatus.ASSIGNMENT_DELAYED, StreamsStatus.MISSING_INTERNAL_TOPICS})
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
        if response.partitions_by_user_endpoint is not None:
            self.endpoints = partitions_of_endpoints(response.partitions_by_user_endpoint)
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
        """Whether the group says that tasks are assigned soon."""
        return bool(self._codes() & _ASSIGNING)

    @property
    def is_blocked(self) -> bool:
        """Whether no tasks are assigned until somebody changes something outside the group."""
        return bool(self._codes() & _BLOCKING)

    @property
    def shutdown_requested(self) -> bool:
        """Whether a member has asked all members to shut down."""
        return StreamsStatus.SHUTDOWN_APPLICATION in self._codes()
