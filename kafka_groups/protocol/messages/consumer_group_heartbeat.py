"""ConsumerGroupHeartbeat (key 68), v0-v1: joins, stays in or leaves a consumer group (KIP-848)."""

from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode

JOIN_GROUP_EPOCH: Final = 0
"""Member epoch that joins the group."""
LEAVE_GROUP_EPOCH: Final = -1
"""Member epoch that leaves the group."""
LEAVE_STATIC_EPOCH: Final = -2
"""Member epoch of a static member that leaves for a while: its partitions stay assigned until its session ends."""
FIRST_WITH_MEMBER_ID_REQUIRED: Final = 1
"""Version from which the client chooses the member id (KIP-1082). Before, the group coordinator may."""
FIRST_WITH_REGEX: Final = 1
"""Version from which a member can subscribe to a regular expression, which the group coordinator evaluates."""


@frozen(kw_only=True)
class ConsumerGroupHeartbeatTopicPartitions:
    """Partitions of one topic, by its id."""

    topic_id: UUID | None = None
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupHeartbeatRequest:
    """Epoch 0 joins, -1 leaves, -2 leaves for a while.

    The other fields are None, or -1, if they have not changed since the last heartbeat. `topic_partitions` are those
    that the member owns: all that it has not revoked yet. An empty regex ends the subscription to one.
    """

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None  # v1+
    server_assignor: str | None = None
    topic_partitions: tuple[ConsumerGroupHeartbeatTopicPartitions, ...] | None = None


@frozen(kw_only=True)
class ConsumerGroupHeartbeatAssignment:
    """All partitions that the member may own now. It revokes others that it has."""

    topic_partitions: tuple[ConsumerGroupHeartbeatTopicPartitions, ...] = ()


@frozen(kw_only=True)
class ConsumerGroupHeartbeatResponse:
    """The member's epoch for the next heartbeat, which is due after `heartbeat_interval_ms`.

    An assignment of None means that it has not changed. If there is an error, epoch and interval are 0.
    """

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: ConsumerGroupHeartbeatAssignment | None = None
