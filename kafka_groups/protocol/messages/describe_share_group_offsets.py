"""DescribeShareGroupOffsets (key 90), v0-v1: start offsets and lag of share-partitions (KIP-932, KIP-1226)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DescribeShareGroupOffsetsRequestTopic:
    """Partitions of one topic, by its name."""

    topic_name: str
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class DescribeShareGroupOffsetsRequestGroup:
    """One group. If `topics` is None, all topics with state are returned."""

    group_id: str
    topics: tuple[DescribeShareGroupOffsetsRequestTopic, ...] | None = ()


@frozen(kw_only=True)
class DescribeShareGroupOffsetsRequest:
    """Groups that share a coordinator."""

    groups: tuple[DescribeShareGroupOffsetsRequestGroup, ...] = ()


@frozen(kw_only=True)
class DescribeShareGroupOffsetsResponsePartition:
    """`start_offset` is -1 if the share-partition is not initialised.

    `lag` is the number of records that are not done yet, or -1 if it is unknown.
    """

    partition_index: int
    start_offset: int
    leader_epoch: int
    lag: int = -1  # v1+
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class DescribeShareGroupOffsetsResponseTopic:
    """Share-partitions of one topic. The id is None if the topic is unknown."""

    topic_name: str
    topic_id: UUID | None = None
    partitions: tuple[DescribeShareGroupOffsetsResponsePartition, ...] = ()


@frozen(kw_only=True)
class DescribeShareGroupOffsetsResponseGroup:
    """One group. The error applies to the group, for example GROUP_ID_NOT_FOUND."""

    group_id: str
    topics: tuple[DescribeShareGroupOffsetsResponseTopic, ...] = ()
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class DescribeShareGroupOffsetsResponse:
    """One result for each group of the request."""

    throttle_time_ms: int = 0
    groups: tuple[DescribeShareGroupOffsetsResponseGroup, ...] = ()
