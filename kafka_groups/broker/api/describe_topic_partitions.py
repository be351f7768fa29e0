"""DescribeTopicPartitions (key 75), v0: topics with their leaders in pages (KIP-966).

Topics come in the order of their names: those of the request, or all when it names none. A page ends at the
request's limit of partitions (2,000 at most); its cursor says where the next one begins.

Errors per topic: UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION. Errors per partition: LEADER_NOT_AVAILABLE.
"""

from collections.abc import Sequence

from kafka_groups.broker.api.authorized_operations import TOPIC_OPERATIONS
from kafka_groups.broker.api.context import RequestContext
from kafka_groups.broker.metadata import NO_LEADER, ClusterMetadata, PartitionMetadata, TopicMetadata, check_topic_name
from kafka_groups.errors import InvalidTopicError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

__all__ = ["handle"]

_MAX_PARTITIONS = 2_000  # max.request.partition.size.limit


async def handle(request: DescribeTopicPartitionsRequest, context: RequestContext) -> DescribeTopicPartitionsResponse:
    """One page of topics."""
    metadata = context.services.metadata
    left = min(max(request.response_partition_limit, 1), _MAX_PARTITIONS)
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    for name in _names(request, metadata):
        topic = metadata.topic(name)
        if topic is None:
            topics.append(_unknown(name))
            continue
        first = _first_partition(request.cursor, name)
        page = topic.partitions[first : first + left]
        if first < topic.num_partitions and not page:
            return DescribeTopicPartitionsResponse(topics=tuple(topics), next_cursor=_cursor(name, first))
        topics.append(_topic(topic, page, metadata))
        left -= len(page)
        if first + len(page) < topic.num_partitions:
            return DescribeTopicPartitionsResponse(topics=tuple(topics), next_cursor=_cursor(name, first + len(page)))
    return DescribeTopicPartitionsResponse(topics=tuple(topics))


def _names(request: DescribeTopicPartitionsRequest, metadata: ClusterMetadata) -> list[str]:
    names = {topic.name for topic in request.topics} or {topic.name for topic in metadata.topics()}
    start = request.cursor.topic_name if request.cursor is not None else ""
    return sorted(name for name in names if name >= start)


def _first_partition(cursor: Cursor | None, name: str) -> int:
    return max(cursor.partition_index, 0) if cursor is not None and cursor.topic_name == name else 0


def _cursor(name: str, partition: int) -> Cursor:
    return Cursor(topic_name=name, partition_index=partition)


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    try:
        check_topic_name(name)
    except InvalidTopicError:
        return DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_TOPIC_EXCEPTION, name=name)
    return DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=name)


def _topic(
    topic: TopicMetadata, page: Sequence[PartitionMetadata], metadata: ClusterMetadata
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(_partition(partition, metadata) for partition in page),
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _partition(partition: PartitionMetadata, metadata: ClusterMetadata) -> DescribeTopicPartitionsResponsePartition:
    alive = metadata.brokers
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if partition.leader_id == NO_LEADER else ErrorCode.NONE,
        partition_index=partition.partition,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=tuple(node_id for node_id in partition.replicas if node_id in alive),
        eligible_leader_replicas=(),
        last_known_elr=(),
        offline_replicas=tuple(node_id for node_id in partition.replicas if node_id not in alive),
    )
