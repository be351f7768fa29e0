"""TODO describe_topic_partitions (key 75), versions 0-0."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class TopicRequest:
    """TODO."""

    name: str


@frozen(kw_only=True)
class Cursor:
    """TODO."""

    topic_name: str
    partition_index: int


@frozen(kw_only=True)
class DescribeTopicPartitionsRequest:
    """TODO."""

    topics: tuple[TopicRequest, ...] = ()
    response_partition_limit: int = 2000
    cursor: Cursor | None = None


@frozen(kw_only=True)
class DescribeTopicPartitionsResponsePartition:
    """TODO."""

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
    """TODO."""

    error_code: ErrorCode = ErrorCode.NONE
    name: str | None = None
    topic_id: UUID | None = None
    is_internal: bool = False
    partitions: tuple[DescribeTopicPartitionsResponsePartition, ...] = ()
    topic_authorized_operations: int = -2147483648


@frozen(kw_only=True)
class DescribeTopicPartitionsResponse:
    """TODO."""

    throttle_time_ms: int = 0
    topics: tuple[DescribeTopicPartitionsResponseTopic, ...] = ()
    next_cursor: Cursor | None = None
