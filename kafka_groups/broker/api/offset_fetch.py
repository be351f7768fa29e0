"""OffsetFetch (key 9), v1-v10: returns the committed offsets of one group, or of several (v8).

Without `topics` (v2), all offsets of the group are returned. A partition without a committed offset is not an error,
and neither is a group that does not exist or is of another type: the offset is -1. Topics that
the client may not describe are left out if it names none. From v10 on topics have ids.
Errors per group (v1: per partition): GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, and in
consumer groups (v9) UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
Errors per partition: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_ID (v10), UNSTABLE_OFFSET_COMMIT (v7, with
`require_stable`: an open transaction may change the offset).
"""

from collections.abc import Sequence

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.groups.offsets.shard_offsets import FetchedOffset, Unstable
from kafka_groups.broker.requests.committed_offsets import in_slices, named_topic
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.group_coordination import check_coordinator
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.offset_fetch import (
    FIRST_WITH_GROUPS,
    FIRST_WITH_TOPIC_IDS,
    NO_OFFSET,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafka_groups.types import TopicPartition

__all__ = ["handle"]

_FIRST_WITH_GROUP_ERROR = 2


async def handle(request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
    """Return the offsets of each group."""
    if context.version >= FIRST_WITH_GROUPS:
        each = context.turns.each(request.groups)
        groups = [await _group(group, context, require_stable=request.require_stable) async for group in each]
        return OffsetFetchResponse(groups=tuple(groups))
    group = OffsetFetchRequestGroup(group_id=request.group_id, topics=request.topics)
    only = await _group(group, context, require_stable=request.require_stable)
    # Version 1 has no field for the error of a group, so each partition gets it.
    if context.version < _FIRST_WITH_GROUP_ERROR and only.error_code is not ErrorCode.NONE:
        return OffsetFetchResponse(topics=tuple(_refused(topic, only.error_code) for topic in request.topics or ()))
    return OffsetFetchResponse(topics=only.topics, error_code=only.error_code)


async def _group(
    group: OffsetFetchRequestGroup, context: RequestContext, *, require_stable: bool
) -> OffsetFetchResponseGroup:
    try:
        context.require(AclOperation.DESCRIBE, AclResourceType.GROUP, group.group_id)
        check_coordinator(context.services, group.group_id)
        await context.services.coordinators.groups.check_fetch(group.group_id, group.member_id, group.member_epoch)
        topics = await _all(group.group_id, context) if group.topics is None else group.topics
        each = context.turns.each(topics)
        fetched = [await _topic(group.group_id, topic, context, require_stable=require_stable) async for topic in each]
    except BrokerError as error:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=code_of(error))
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=tuple(fetched))


async def _all(group_id: str, context: RequestContext) -> list[OffsetFetchRequestTopic]:
    """Return all that the group has committed, as if the request named it. From v10 on, only what still exists."""
    numbers: dict[str, list[int]] = {}
    async for each in context.turns.each(await context.services.coordinators.groups.committed_partitions(group_id)):
        numbers.setdefault(each.topic, []).append(each.partition)
    visible = context.visible(AclOperation.DESCRIBE, AclResourceType.TOPIC, numbers)
    numbers = {name: numbers[name] for name in visible}
    # By name, offsets are also shown for a topic that has just been deleted. By id, a topic that does not exist cannot
    # be named.
    if context.version < FIRST_WITH_TOPIC_IDS:
        return [OffsetFetchRequestTopic(name=name, partition_indexes=tuple(numbers[name])) for name in numbers]
    known = [(context.services.cluster.metadata.topic(name), tuple(numbers[name])) for name in numbers]
    return [
        OffsetFetchRequestTopic(topic_id=topic.topic_id, partition_indexes=indexes)
        for topic, indexes in known
        if topic is not None
    ]


async def _topic(
    group_id: str, topic: OffsetFetchRequestTopic, context: RequestContext, *, require_stable: bool
) -> OffsetFetchResponseTopic:
    name = topic.name
    if context.version >= FIRST_WITH_TOPIC_IDS:
        known = named_topic(context.services.cluster.metadata, "", topic.topic_id)
        # A partition without a topic would look like one without an offset.
        if known is None:
            return _refused(topic, ErrorCode.UNKNOWN_TOPIC_ID)
        name = known.name
    if not context.may(AclOperation.DESCRIBE, AclResourceType.TOPIC, name):
        return _refused(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    partitions: list[OffsetFetchResponsePartition] = []
    async for some in in_slices(topic.partition_indexes, context.turns):
        partitions += await _fetched(group_id, name, some, context, require_stable=require_stable)
    return OffsetFetchResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=tuple(partitions))


async def _fetched(
    group_id: str, name: str, indexes: Sequence[int], context: RequestContext, *, require_stable: bool
) -> list[OffsetFetchResponsePartition]:
    partitions = [TopicPartition(name, index) for index in indexes]
    fetch = context.services.coordinators.groups.fetch_offsets
    offsets = await fetch(group_id, partitions, require_stable=require_stable)
    return [_partition(index, offset) for index, offset in zip(indexes, offsets, strict=True)]


def _partition(index: int, committed: FetchedOffset) -> OffsetFetchResponsePartition:
    # See OffsetMetadataManager.fetchOffsets in Kafka for the three cases.
    if isinstance(committed, Unstable):
        return OffsetFetchResponsePartition(
            partition_index=index,
            committed_offset=NO_OFFSET,
            metadata="",
            error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT,
        )
    if committed is None:
        return OffsetFetchResponsePartition(partition_index=index, committed_offset=NO_OFFSET, metadata="")
    return OffsetFetchResponsePartition(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


def _refused(topic: OffsetFetchRequestTopic, error: ErrorCode) -> OffsetFetchResponseTopic:
    partitions = [
        OffsetFetchResponsePartition(partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=error)
        for index in topic.partition_indexes
    ]
    return OffsetFetchResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=tuple(partitions))
