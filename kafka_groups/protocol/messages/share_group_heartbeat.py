"""ShareGroupHeartbeat (key 76), v1: joins, stays in or leaves a share group (KIP-932)."""

from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode

JOIN_EPOCH: Final = 0
"""Member epoch that joins the group."""
LEAVE_EPOCH: Final = -1
"""Member epoch that leaves the group."""


@frozen(kw_only=True)
class ShareGroupHeartbeatRequest:
    """The client chooses the `member_id`. Epoch 0 joins, -1 leaves.

    Rack and topics are None if they have not changed.
    """

    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None = None
    subscribed_topic_names: tuple[str, ...] | None = None


@frozen(kw_only=True)
class TopicPartitions:
    """Partitions of one topic, by its id."""

    topic_id: UUID | None = None
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class Assignment:
    """All partitions that the member should fetch from now on."""

    topic_partitions: tuple[TopicPartitions, ...] = ()


@frozen(kw_only=True)
class ShareGroupHeartbeatResponse:
    """The member's epoch for the next heartbeat, which is due after `heartbeat_interval_ms`.

    An assignment of None means that it has not changed.
    """

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: Assignment | None = None
