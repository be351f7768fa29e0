"""TODO share_group_describe (key 77), versions 1-1."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class ShareGroupDescribeRequest:
    """TODO."""

    group_ids: tuple[str, ...] = ()
    include_authorized_operations: bool


@frozen(kw_only=True)
class TopicPartitions:
    """TODO."""

    topic_id: UUID | None = None
    topic_name: str
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class Assignment:
    """TODO."""

    topic_partitions: tuple[TopicPartitions, ...] = ()


@frozen(kw_only=True)
class Member:
    """TODO."""

    member_id: str
    rack_id: str | None = None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...] = ()
    assignment: Assignment


@frozen(kw_only=True)
class DescribedGroup:
    """TODO."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    group_id: str
    group_state: str
    group_epoch: int
    assignment_epoch: int
    assignor_name: str
    members: tuple[Member, ...] = ()
    authorized_operations: int = -2147483648


@frozen(kw_only=True)
class ShareGroupDescribeResponse:
    """TODO."""

    throttle_time_ms: int = 0
    groups: tuple[DescribedGroup, ...] = ()
