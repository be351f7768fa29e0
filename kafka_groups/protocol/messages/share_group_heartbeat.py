"""TODO share_group_heartbeat (key 76), versions 1-1."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class ShareGroupHeartbeatRequest:
    """TODO."""

    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None = None
    subscribed_topic_names: tuple[str, ...] | None = None


@frozen(kw_only=True)
class TopicPartitions:
    """TODO."""

    topic_id: UUID | None = None
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class Assignment:
    """TODO."""

    topic_partitions: tuple[TopicPartitions, ...] = ()


@frozen(kw_only=True)
class ShareGroupHeartbeatResponse:
    """TODO."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: Assignment | None = None
