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
    """One group; `topics` None means all that it has state for."""

    group_id: str
    topics: tuple[DescribeShareGroupOffsetsRequestTopic, ...] | None = ()


@frozen(kw_only=True)
class DescribeShareGroupOffsetsRequest:
    """Groups that share a coordinator."""

    groups: tuple[DescribeShareGroupOffsetsRequestGroup, ...] = ()


@frozen(kw_only=True)
class DescribeShareGroupOffsetsResponsePartition:
    """`start_offset` is -1 when the share-partition is not initialised.

    `lag` counts the records that are still to be delivered to an end, -1 when it cannot be told.
    """

    partition_index: int
    start_offset: int
    leader_epoch: int
    lag: int = -1  # v1+
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class DescribeShareGroupOffsetsResponseTopic:
    """Share-partitions of one topic; the id is None when the topic is not known."""

    topic_name: str
    topic_id: UUID | None = None
    partitions: tuple[DescribeShareGroupOffsetsResponsePartition, ...] = ()


@frozen(kw_only=True)
class DescribeShareGroupOffsetsResponseGroup:
    """One group; the error is the group's own, as GROUP_ID_NOT_FOUND."""

    group_id: str
    topics: tuple[DescribeShareGroupOffsetsResponseTopic, ...] = ()
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class DescribeShareGroupOffsetsResponse:
    """One result for each group of the request."""

    throttle_time_ms: int = 0
    groups: tuple[DescribeShareGroupOffsetsResponseGroup, ...] = ()
