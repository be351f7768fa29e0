"""ListOffsets (key 2), v1-v11: finds offsets of partitions by timestamp.

Special timestamps: -1 is the end of the log, -2 and (v8) -4 its start, (v7) -3 the record with the largest timestamp,
(v9) -5 and (v11) -6 tiered storage, which is not supported and so has no offset. Any other timestamp finds the first
record at or after that time. If there is no such record, the offset is -1, without an error. With the isolation level
`read_committed` (v2), the end of the log is the last stable offset.

Errors per partition: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER,
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH (v4), UNSUPPORTED_VERSION (a negative timestamp that the version does not
support).
"""

from collections.abc import Mapping

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.log.batches import OffsetAndTimestamp
from kafka_groups.broker.log.partition_log import NO_TIMESTAMP, PartitionLog
from kafka_groups.broker.metadata.topics import PartitionMetadata
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.leadership import led_partition, topic_by_id_or_name
from kafka_groups.errors import BrokerError, UnsupportedVersionError
from kafka_groups.protocol.messages.fetch import READ_COMMITTED
from kafka_groups.protocol.messages.list_offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)

__all__ = ["handle"]

_FIRST_VERSION: Mapping[int, int] = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}


async def handle(request: ListOffsetsRequest, context: RequestContext) -> ListOffsetsResponse:
    """Return the offsets."""
    is_stable = request.isolation_level == READ_COMMITTED
    return ListOffsetsResponse(
        topics=tuple(
            [await _find_all(topic, context, is_stable=is_stable) async for topic in context.turns.each(request.topics)]
        )
    )


async def _find_all(topic: ListOffsetsTopic, context: RequestContext, *, is_stable: bool) -> ListOffsetsTopicResponse:
    partitions = context.turns.each(topic.partitions)
    found = [_find_or_refuse(topic.name, partition, context, is_stable=is_stable) async for partition in partitions]
    return ListOffsetsTopicResponse(name=topic.name, partitions=tuple(found))


def _find_or_refuse(
    topic: str, wanted: ListOffsetsPartition, context: RequestContext, *, is_stable: bool
) -> ListOffsetsPartitionResponse:
    index = wanted.partition_index
    try:
        found = _find(topic, wanted, context, is_stable=is_stable)
    except BrokerError as error:
        return ListOffsetsPartitionResponse(partition_index=index, error_code=code_of(error))
    if found is None:
        return ListOffsetsPartitionResponse(partition_index=index)
    return ListOffsetsPartitionResponse(
        partition_index=index, timestamp=found.timestamp_ms, offset=found.offset, leader_epoch=found.leader_epoch
    )


def _find(
    name: str, wanted: ListOffsetsPartition, context: RequestContext, *, is_stable: bool
) -> OffsetAndTimestamp | None:
    context.require(AclOperation.DESCRIBE, AclResourceType.TOPIC, name)
    services = context.services
    topic = topic_by_id_or_name(services.cluster.metadata, None, name)
    partition = led_partition(services, topic, wanted.partition_index, wanted.current_leader_epoch)
    # A later version gave a meaning to this negative number. To the client's version it has none
    # (KafkaApis.handleListOffsetRequest in Kafka).
    if wanted.timestamp < 0 and context.version < _FIRST_VERSION.get(wanted.timestamp, context.version + 1):
        raise UnsupportedVersionError(
            f"ListOffsets v{context.version} does not support the timestamp {wanted.timestamp}."
        )
    log = services.cluster.logs.get(topic.topic_id, wanted.partition_index)
    # A consumer of committed records must not begin or end among records that it cannot read yet.
    end_offset = log.last_stable_offset if is_stable else log.high_watermark
    return _search(log, wanted.timestamp, partition, end_offset)


def _search(
    log: PartitionLog, timestamp: int, partition: PartitionMetadata, end_offset: int
) -> OffsetAndTimestamp | None:
    if timestamp == LATEST:
        return OffsetAndTimestamp(end_offset, NO_TIMESTAMP, partition.leader_epoch)
    # Without tiered storage, all of the log is local.
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        epoch = log.leader_epoch_at(log.log_start_offset)
        epoch = partition.leader_epoch if epoch is None else epoch
        return OffsetAndTimestamp(log.log_start_offset, NO_TIMESTAMP, epoch)
    if timestamp == MAX_TIMESTAMP:
        found = log.max_timestamp()
    else:
        found = log.offset_for_timestamp(timestamp) if timestamp >= 0 else None
    # A record behind the end that the client may see counts as not found.
    return found if found is not None and found.offset < end_offset else None
