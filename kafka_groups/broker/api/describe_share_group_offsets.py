"""DescribeShareGroupOffsets (key 90), v0-v1: returns start offsets of share-partitions and their lag (v1, KIP-1226).

The lag is the end offset of the log, minus the start offset, minus the records after it whose delivery is complete. It
is -1 if one of them is unknown. As in Kafka, a group, topic or partition without share state is not an error; its start
offset is -1. Topics that the client may not describe are left out if it names none. Errors per group:
UNSUPPORTED_VERSION (share.version=0), GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR. Error per partition:
TOPIC_AUTHORIZATION_FAILED.
"""

from collections.abc import Iterable
from uuid import UUID

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of, message_of, message_unless_refused
from kafka_groups.broker.requests.group_coordination import check_coordinator, check_share_groups_enabled
from kafka_groups.errors import BrokerError, TopicAuthorizationFailedError
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

__all__ = ["handle"]

_UNKNOWN = -1
_FIRST_LEADER_EPOCH = 0  # what Kafka returns for a state that no leader has read yet


async def handle(
    request: DescribeShareGroupOffsetsRequest, context: RequestContext
) -> DescribeShareGroupOffsetsResponse:
    """Return one result for each group."""
    return DescribeShareGroupOffsetsResponse(
        groups=tuple([await _describe_or_refuse(group, context) async for group in context.turns.each(request.groups)])
    )


async def _describe_or_refuse(
    group: DescribeShareGroupOffsetsRequestGroup, context: RequestContext
) -> DescribeShareGroupOffsetsResponseGroup:
    try:
        check_share_groups_enabled(context.services)
        context.require(AclOperation.DESCRIBE, AclResourceType.GROUP, group.group_id)
        check_coordinator(context.services, group.group_id)
        # Null asks for all topics that the group has a state of.
        if group.topics is None:
            topics = await _all_topics(group.group_id, context)
        else:
            named_topics = context.turns.each(group.topics)
            topics = [await _named_topic(group.group_id, named, context) async for named in named_topics]
    except BrokerError as error:
        return DescribeShareGroupOffsetsResponseGroup(
            group_id=group.group_id, error_code=code_of(error), error_message=message_unless_refused(error)
        )
    return DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id, topics=tuple(topics))


async def _all_topics(group_id: str, context: RequestContext) -> list[DescribeShareGroupOffsetsResponseTopic]:
    metadata = context.services.cluster.metadata
    initialized = await context.services.coordinators.groups.initialized_partitions(group_id)
    topics = ((metadata.topic_by_id(id_), sorted(partitions)) for id_, partitions in initialized.items())
    return [
        await _topic(group_id, topic, partitions, context)
        for topic, partitions in topics
        if topic is not None and context.may(AclOperation.DESCRIBE, AclResourceType.TOPIC, topic.name)
    ]


async def _named_topic(
    group_id: str, named: DescribeShareGroupOffsetsRequestTopic, context: RequestContext
) -> DescribeShareGroupOffsetsResponseTopic:
    error: BrokerError | None = None
    try:
        context.require(AclOperation.DESCRIBE, AclResourceType.TOPIC, named.topic_name)
        topic = context.services.cluster.metadata.topic(named.topic_name)
        if topic is not None:
            return await _topic(group_id, topic, named.partitions, context)
    except TopicAuthorizationFailedError as refusal:
        error = refusal
    unknown = [_unknown_partition(partition, error) async for partition in context.turns.each(named.partitions)]
    return DescribeShareGroupOffsetsResponseTopic(topic_name=named.topic_name, partitions=tuple(unknown))


async def _topic(
    group_id: str, topic: TopicMetadata, partitions: Iterable[int], context: RequestContext
) -> DescribeShareGroupOffsetsResponseTopic:
    each = context.turns.each(partitions)
    described = [await _partition(group_id, topic.topic_id, partition, context) async for partition in each]
    return DescribeShareGroupOffsetsResponseTopic(
        topic_name=topic.name, topic_id=topic.topic_id, partitions=tuple(described)
    )


async def _partition(
    group_id: str, topic_id: UUID, partition: int, context: RequestContext
) -> DescribeShareGroupOffsetsResponsePartition:
    services = context.services
    if services.cluster.metadata.partition(topic_id, partition) is None:
        return _unknown_partition(partition)
    state = await services.coordinators.persister.summarize((group_id, topic_id, partition))
    # A share-partition without a state is not an error: its offset is not known yet.
    if state is None:
        return _unknown_partition(partition)
    end_offset = services.cluster.logs.get(topic_id, partition).high_watermark
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=partition,
        start_offset=state.start_offset,
        leader_epoch=max(state.leader_epoch, _FIRST_LEADER_EPOCH),
        lag=_lag(end_offset, state.start_offset, state.delivery_complete_count),
    )


def _lag(end_offset: int, start_offset: int, delivery_complete_count: int) -> int:
    # KIP-1226: lag is the number of offsets from the start offset on that are not done. Without both numbers it is not
    # known.
    if _UNKNOWN in (start_offset, delivery_complete_count):
        return _UNKNOWN
    return end_offset - start_offset - delivery_complete_count


def _unknown_partition(partition: int, error: BrokerError | None = None) -> DescribeShareGroupOffsetsResponsePartition:
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=partition,
        start_offset=_UNKNOWN,
        leader_epoch=_FIRST_LEADER_EPOCH,
        error_code=code_of(error),
        error_message=message_of(error),
    )
