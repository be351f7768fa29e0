"""StreamsGroupHeartbeat (key 88), v0-v1: joins, stays in or leaves a streams group (KIP-1071)."""

import enum
from typing import Final

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.streams_group_parts import (
    KeyValue,
    StreamsSubtopology,
    TaskIds,
    TaskOffset,
    UserEndpoint,
)

JOIN_GROUP_EPOCH: Final = 0
"""Member epoch that joins the group."""
LEAVE_GROUP_EPOCH: Final = -1
"""Member epoch that leaves the group."""
LEAVE_STATIC_EPOCH: Final = -2
"""Member epoch of a static member that leaves for a while: its tasks stay assigned until its session ends."""


class StreamsStatus(enum.IntEnum):
    """A reason why a streams group does not work, or why a member has no tasks."""

    STALE_TOPOLOGY = 0
    """The member's topology is older than the group's."""
    MISSING_SOURCE_TOPICS = 1
    """Topics that the topology reads do not exist."""
    INCORRECTLY_PARTITIONED_TOPICS = 2
    """Topics do not have the number of partitions that they need."""
    MISSING_INTERNAL_TOPICS = 3
    """Internal topics do not exist yet."""
    SHUTDOWN_APPLICATION = 4
    """A member has asked all of them to shut down."""
    ASSIGNMENT_DELAYED = 5
    """The tasks are assigned later."""
    MISSING_CLIENT_TAGS = 6  # only in responses of v1+
    """The member lacks tags that the group's rack-aware assignment needs."""


@frozen(kw_only=True)
class StreamsGroupHeartbeatTopology:
    """The topology of an application. All members of a group send the same one."""

    epoch: int
    subtopologies: tuple[StreamsSubtopology, ...] = ()


@frozen(kw_only=True)
class StreamsGroupHeartbeatRequest:
    """Epoch 0 joins, -1 leaves, -2 leaves for a while. The client chooses the `member_id`.

    The other fields are None, or -1, if they have not changed since the last heartbeat. The tasks are those that the
    member owns: all that it has not revoked yet. The topology is sent with epoch 0 only.
    """

    group_id: str
    member_id: str
    member_epoch: int
    endpoint_information_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: StreamsGroupHeartbeatTopology | None = None
    active_tasks: tuple[TaskIds, ...] | None = None
    standby_tasks: tuple[TaskIds, ...] | None = None
    warmup_tasks: tuple[TaskIds, ...] | None = None
    process_id: str | None = None
    user_endpoint: UserEndpoint | None = None
    client_tags: tuple[KeyValue, ...] | None = None
    task_offsets: tuple[TaskOffset, ...] | None = None
    task_end_offsets: tuple[TaskOffset, ...] | None = None
    shutdown_application: bool = False


@frozen(kw_only=True)
class StreamsGroupHeartbeatStatus:
    """One status (`StreamsStatus`), with a text that says more."""

    status_code: int
    status_detail: str = ""


@frozen(kw_only=True)
class StreamsGroupHeartbeatTopicPartition:
    """Partitions of one topic."""

    topic: str
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class EndpointToPartitions:
    """The partitions of source topics that a member answers queries for. Several members may have one endpoint."""

    user_endpoint: UserEndpoint
    active_partitions: tuple[StreamsGroupHeartbeatTopicPartition, ...] = ()
    standby_partitions: tuple[StreamsGroupHeartbeatTopicPartition, ...] = ()


@frozen(kw_only=True)
class StreamsGroupHeartbeatResponse:
    """The member's epoch for the next heartbeat, which is due after `heartbeat_interval_ms`.

    Tasks and endpoints of None have not changed. If there is an error, epoch and interval are 0.
    """

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    acceptable_recovery_lag_legacy: int = 0  # v0
    task_offset_interval_ms: int = 0
    acceptable_recovery_lag: int = -1  # v1+
    status: tuple[StreamsGroupHeartbeatStatus, ...] | None = None
    active_tasks: tuple[TaskIds, ...] | None = None
    standby_tasks: tuple[TaskIds, ...] | None = None
    warmup_tasks: tuple[TaskIds, ...] | None = None
    topology_description_required: bool = False  # v1+
    endpoint_information_epoch: int = 0
    partitions_by_user_endpoint: tuple[EndpointToPartitions, ...] | None = None
