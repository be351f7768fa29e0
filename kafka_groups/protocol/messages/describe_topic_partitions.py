"""DescribeTopicPartitions (key 75), v0: topics page by page, with eligible leaders (KIP-966)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class TopicRequest:
    """One topic by name."""

    name: str


@frozen(kw_only=True)
class Cursor:
    """The start of a page. Topics are sorted by name and partitions by number."""

    topic_name: str
    partition_index: int


@frozen(kw_only=True)
class DescribeTopicPartitionsRequest:
    """No topics means all topics. `response_partition_limit` limits the page. `cursor` is None for the first page."""

    topics: tuple[TopicRequest, ...] = ()
    response_partition_limit: int = 2000
    cursor: Cursor | None = None


@frozen(kw_only=True)
class DescribeTopicPartitionsResponsePartition:
    """One partition. `leader_id` is -1 without a leader. Eligible leaders are None if they are not tracked."""

    error_code: ErrorCode = ErrorCode.NONE
    partition_index: int
    leader_id: int
    leader_epoch: int = -1
    replica_nodes: tuple[int, ...] = ()
    isr_nodes: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    offline_replicas: tuple[int, ...] = ()


@frozen(kw_only=True)
class DescribeTopicPartitionsResponseTopic:
    """One topic. -2147483648 means that its authorized operations are not included."""

    error_code: ErrorCode = ErrorCode.NONE
    name: str | None = None
    topic_id: UUID | None = None
    is_internal: bool = False
    partitions: tuple[DescribeTopicPartitionsResponsePartition, ...] = ()
    topic_authorized_operations: int = -2147483648


@frozen(kw_only=True)
class DescribeTopicPartitionsResponse:
    """One page. `next_cursor` is None on the last page."""

    throttle_time_ms: int = 0
    topics: tuple[DescribeTopicPartitionsResponseTopic, ...] = ()
    next_cursor: Cursor | None = None
