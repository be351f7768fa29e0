"""TODO describe_share_group_offsets (key 90), versions 0-1."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DescribeShareGroupOffsetsRequestTopic:
    """TODO."""

    topic_name: str
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class DescribeShareGroupOffsetsRequestGroup:
    """TODO."""

    group_id: str
    topics: tuple[DescribeShareGroupOffsetsRequestTopic, ...] | None = ()


@frozen(kw_only=True)
class DescribeShareGroupOffsetsRequest:
    """TODO."""

    groups: tuple[DescribeShareGroupOffsetsRequestGroup, ...] = ()


@frozen(kw_only=True)
class DescribeShareGroupOffsetsResponsePartition:
    """TODO."""

    partition_index: int
    start_offset: int
    leader_epoch: int
    lag: int = -1  # v1+
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class DescribeShareGroupOffsetsResponseTopic:
    """TODO."""

    topic_name: str
    topic_id: UUID | None = None
    partitions: tuple[DescribeShareGroupOffsetsResponsePartition, ...] = ()


@frozen(kw_only=True)
class DescribeShareGroupOffsetsResponseGroup:
    """TODO."""

    group_id: str
    topics: tuple[DescribeShareGroupOffsetsResponseTopic, ...] = ()
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class DescribeShareGroupOffsetsResponse:
    """TODO."""

    throttle_time_ms: int = 0
    groups: tuple[DescribeShareGroupOffsetsResponseGroup, ...] = ()
