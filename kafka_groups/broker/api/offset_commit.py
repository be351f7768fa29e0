"""OffsetCommit (key 8), v2-v10: stores the offsets that a group has consumed up to.

A commit from outside of any group (generation -1, no member id), such as that of an admin client, makes a group that
does not exist. From v10 on topics have ids.

Errors per partition; one of the group is repeated for each: GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED,
NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v10),
OFFSET_METADATA_TOO_LARGE, GROUP_ID_NOT_FOUND (the group is of another type; or from v9 on, it does not exist),
ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID; in consumer groups, STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION (below v9).
"""

from collections.abc import Iterator, Mapping
from functools import partial
from uuid import UUID

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.broker.requests.commit_rules import CommitRules, errors_of
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.protocol.coordinator_records.offsets import OffsetCommitValue
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.offset_commit import (
    FIRST_WITH_TOPIC_IDS,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_groups.types import TopicPartition

__all__ = ["handle"]

_NO_RIGHT = ErrorCode.GROUP_AUTHORIZATION_FAILED
_NOT_SET = -1
_TWO_TO_63 = 1 << 63


async def handle(request: OffsetCommitRequest, context: RequestContext) -> OffsetCommitResponse:
    """Return one result for each partition."""
    each = context.turns.each
    rules = CommitRules(
        context=context,
        has_topic_ids=context.version >= FIRST_WITH_TOPIC_IDS,
        committed=partial(_committed, request, context),
        store=partial(_store, request, context),
    )
    if context.may(AclOperation.READ, AclResourceType.GROUP, request.group_id):
        errors = await errors_of(request.topics, rules)
    else:
        errors = [_NO_RIGHT for topic in request.topics for _ in topic.partitions]
    left = iter(errors)
    return OffsetCommitResponse(topics=tuple([_topic(topic, left) async for topic in each(request.topics)]))


def _topic(topic: OffsetCommitRequestTopic, errors: Iterator[ErrorCode]) -> OffsetCommitResponseTopic:
    partitions = [
        OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
        for each, error in zip(topic.partitions, errors, strict=False)
    ]
    return OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=tuple(partitions))


async def _store(
    request: OffsetCommitRequest, context: RequestContext, offsets: Mapping[TopicPartition, OffsetCommitValue]
) -> None:
    committer = OffsetCommitter(request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
    await context.services.coordinators.groups.commit_offsets(request.group_id, committer, context.version, offsets)


def _committed(
    request: OffsetCommitRequest, context: RequestContext, partition: OffsetCommitRequestPartition, topic_id: UUID
) -> OffsetCommitValue:
    wall_ms = context.wall_ms  # read once, so that an offset expires exactly as long after its commit as was asked for
    return OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=wall_ms,
        expire_timestamp_ms=_expire_timestamp_ms(request.retention_time_ms, wall_ms),
        topic_id=topic_id,
    )


def _expire_timestamp_ms(kept_ms: int, wall_ms: int) -> int:
    """Return the time when an offset expires. As in Kafka, a time beyond 64 bits wraps around and is long ago."""
    # Without a time of its own, an offset is kept for `offsets.retention.minutes`, by rules that depend on its group.
    if kept_ms == _NOT_SET:
        return _NOT_SET
    return (wall_ms + kept_ms + _TWO_TO_63) % (2 * _TWO_TO_63) - _TWO_TO_63
