"""OffsetCommit (key 8), v2-v10: stores the offsets that a group has consumed up to.

A commit from outside of any group (generation -1, no member id), such as that of an admin client, makes a group that
does not exist. From v10 on topics have ids.

Errors per partition; one of the group is repeated for each: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v10), OFFSET_METADATA_TOO_LARGE, GROUP_ID_NOT_FOUND (the group is of
another type; or from v9 on, it does not exist), ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID; in consumer groups,
STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION (below v9).
"""

from collections.abc import Iterator, Mapping
from uuid import UUID

from attrs import frozen

from kafka_groups.broker.api.context import RequestContext
from kafka_groups.broker.coordinators.groups.offsets.commits import OffsetCommitter
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.requests.committed_offsets import in_slices, named_topic
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.errors import BrokerError
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

_NOT_SET = -1
_TWO_TO_63 = 1 << 63
_KNOWN_TO_GROUP = frozenset({ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE})


async def handle(request: OffsetCommitRequest, context: RequestContext) -> OffsetCommitResponse:
    """Return one result for each partition."""
    each = context.turns.each
    commits = [commit async for topic in each(request.topics) for commit in _commits_of(topic, context)]
    errors: list[ErrorCode] = []
    async for some in in_slices(commits, context.turns):
        errors += await _stored(some, request, context)
    left = iter(errors)
    return OffsetCommitResponse(topics=tuple([_topic(topic, left) async for topic in each(request.topics)]))


@frozen
class _Commit:
    """The offset of one partition; the topic is None if it is unknown."""

    topic: TopicMetadata | None
    partition: OffsetCommitRequestPartition

    @property
    def index(self) -> int:
        return self.partition.partition_index


def _commits_of(topic: OffsetCommitRequestTopic, context: RequestContext) -> list[_Commit]:
    known = named_topic(context.services.cluster.metadata, topic.name, topic.topic_id)
    return [_Commit(known, partition) for partition in topic.partitions]


def _topic(topic: OffsetCommitRequestTopic, errors: Iterator[ErrorCode]) -> OffsetCommitResponseTopic:
    partitions = [
        OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
        for each, error in zip(topic.partitions, errors, strict=False)
    ]
    return OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=tuple(partitions))


async def _stored(commits: list[_Commit], request: OffsetCommitRequest, context: RequestContext) -> list[ErrorCode]:
    """Store what can be stored, and return the error of each partition."""
    refusals = [_refusal(each, context) for each in commits]
    offsets = {
        TopicPartition(each.topic.name, each.index): _committed(each.partition, each.topic.topic_id, request, context)
        for each, refusal in zip(commits, refusals, strict=True)
        if each.topic is not None and refusal is ErrorCode.NONE
    }
    # As in Kafka, metadata that are too large matter only if the group accepts the commit.
    of_group = [refusal in _KNOWN_TO_GROUP for refusal in refusals]
    error = await _store(offsets, request, context) if any(of_group) else ErrorCode.NONE
    return [(error or refusal) if known else refusal for refusal, known in zip(refusals, of_group, strict=True)]


def _refusal(commit: _Commit, context: RequestContext) -> ErrorCode:
    if commit.topic is None:
        has_ids = context.version >= FIRST_WITH_TOPIC_IDS
        return ErrorCode.UNKNOWN_TOPIC_ID if has_ids else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not 0 <= commit.index < commit.topic.num_partitions:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if len(commit.partition.committed_metadata or "") > context.services.cluster.settings.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


async def _store(
    offsets: Mapping[TopicPartition, OffsetCommitValue], request: OffsetCommitRequest, context: RequestContext
) -> ErrorCode:
    committer = OffsetCommitter(request.member_id, request.group_instance_id, request.generation_id_or_member_epoch)
    try:
        await context.services.coordinators.groups.commit_offsets(request.group_id, committer, context.version, offsets)
    except BrokerError as error:
        return code_of(error)
    return ErrorCode.NONE


def _committed(
    partition: OffsetCommitRequestPartition, topic_id: UUID, request: OffsetCommitRequest, context: RequestContext
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
    if kept_ms == _NOT_SET:
        return _NOT_SET
    return (wall_ms + kept_ms + _TWO_TO_63) % (2 * _TWO_TO_63) - _TWO_TO_63
