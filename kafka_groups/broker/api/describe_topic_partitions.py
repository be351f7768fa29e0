"""DescribeTopicPartitions (key 75), v0: returns topics with their leaders, page by page (KIP-966).

Topics are sorted by name. If the request lists no topics, the response has all of them. A page ends at the request's
limit of partitions (2,000 at most). Its cursor marks the beginning of the next page.

Without names, topics that the client may not describe are left out.

Errors per topic: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION, INVALID_REQUEST (a
cursor with a negative partition, or with a topic that the request does not list). Errors per partition:
LEADER_NOT_AVAILABLE.
"""

from collections.abc import Collection, Sequence

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.topic_names import check_topic_name
from kafka_groups.broker.metadata.topics import NO_LEADER, PartitionMetadata, TopicMetadata
from kafka_groups.broker.requests.authorized_operations import topic_operations
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, COSTLY
from kafka_groups.errors import InvalidTopicError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.authorized_operations import NOT_ASKED
from kafka_groups.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)

__all__ = ["handle"]

_MAX_PARTITIONS = 2_000  # max.request.partition.size.limit


async def handle(request: DescribeTopicPartitionsRequest, context: RequestContext) -> DescribeTopicPartitionsResponse:
    """Return one page of topics."""
    metadata, each = context.services.cluster.metadata, context.turns.each
    asked_for = [topic.name for topic in request.topics]
    # A cursor that does not fit the list of topics comes from another request. Kafka refuses the whole request
    # (DescribeTopicPartitionsRequestHandler.handleDescribeTopicPartitionsRequest).
    if not _is_valid(request.cursor, asked_for):
        refused = [_refusal(name, ErrorCode.INVALID_REQUEST, NOT_ASKED) async for name in each(asked_for)]
        return DescribeTopicPartitionsResponse(topics=tuple(refused))
    left = min(max(request.response_partition_limit, 1), _MAX_PARTITIONS)
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    names, unauthorized = await _names(request, context)
    # As in Kafka, these come last, on whichever page.
    last = [_refusal(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, NOT_ASKED) for name in unauthorized]
    async for name in each(names):
        topic = metadata.topic(name)
        # A topic that does not exist has no partitions, and does not use up the page.
        if topic is None:
            topics.append(_unknown(name, context))
            continue
        first = _first_partition(request.cursor, name)
        page = topic.partitions[first : first + left]
        # The page is full, and the next topic begins the next page.
        if first < topic.num_partitions and not page:
            return DescribeTopicPartitionsResponse(topics=(*topics, *last), next_cursor=_cursor(name, first))
        topics.append(_topic(topic, page, context))
        left -= len(page)
        if first + len(page) < topic.num_partitions:
            return DescribeTopicPartitionsResponse(
                topics=(*topics, *last), next_cursor=_cursor(name, first + len(page))
            )
    return DescribeTopicPartitionsResponse(topics=(*topics, *last))


async def _names(request: DescribeTopicPartitionsRequest, context: RequestContext) -> tuple[list[str], list[str]]:
    """Return the topics of this page and the next ones, and those that the client names and may not describe."""
    asked_for: Sequence[TopicRequest | TopicMetadata] = request.topics or context.services.cluster.metadata.topics()
    start = request.cursor.topic_name if request.cursor is not None else ""
    # Topics before the cursor were in earlier pages.
    names = {topic.name async for topic in context.turns.each(asked_for, CHEAP) if topic.name >= start}
    await context.turns.spend(COSTLY)
    in_order = context.turns.each(sorted(names))
    visible = [name async for name in in_order if context.may(AclOperation.DESCRIBE, AclResourceType.TOPIC, name)]
    hidden = names.difference(visible) if request.topics else ()
    return visible, sorted(hidden)


def _first_partition(cursor: Cursor | None, name: str) -> int:
    return max(cursor.partition_index, 0) if cursor is not None and cursor.topic_name == name else 0


def _cursor(name: str, partition: int) -> Cursor:
    return Cursor(topic_name=name, partition_index=partition)


def _unknown(name: str, context: RequestContext) -> DescribeTopicPartitionsResponseTopic:
    operations = topic_operations(context, name)
    try:
        check_topic_name(name)
    except InvalidTopicError:
        return _refusal(name, ErrorCode.INVALID_TOPIC_EXCEPTION, operations)
    return _refusal(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, operations)


def _refusal(name: str, code: ErrorCode, operations: int) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(error_code=code, name=name, topic_authorized_operations=operations)


def _is_valid(cursor: Cursor | None, names: Collection[str]) -> bool:
    return cursor is None or (cursor.partition_index >= 0 and (not names or cursor.topic_name in names))


def _topic(
    topic: TopicMetadata, page: Sequence[PartitionMetadata], context: RequestContext
) -> DescribeTopicPartitionsResponseTopic:
    metadata = context.services.cluster.metadata
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(_partition(partition, metadata) for partition in page),
        topic_authorized_operations=topic_operations(context, topic.name),
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
