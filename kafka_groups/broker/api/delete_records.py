"""DeleteRecords (key 21), v0-v2: moves the start of partitions' logs forward. Offset -1 means the end of the log.

Errors per partition: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER,
OFFSET_OUT_OF_RANGE (beyond the end of the log), POLICY_VIOLATION (the topic is compacted only), INVALID_TOPIC_EXCEPTION
(internal topics).
"""

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.leadership import led_partition, topic_by_id_or_name
from kafka_groups.errors import BrokerError, InvalidTopicError, PolicyViolationError
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteRecordsTopicResult,
)

__all__ = ["handle"]

_UNKNOWN_LOW_WATERMARK = -1


async def handle(request: DeleteRecordsRequest, context: RequestContext) -> DeleteRecordsResponse:
    """Return the new start of each log."""
    return DeleteRecordsResponse(
        topics=tuple([await _delete_all(topic, context) async for topic in context.turns.each(request.topics)])
    )


async def _delete_all(topic: DeleteRecordsTopic, context: RequestContext) -> DeleteRecordsTopicResult:
    partitions = context.turns.each(topic.partitions)
    deleted = [_delete_or_refuse(topic.name, partition, context) async for partition in partitions]
    return DeleteRecordsTopicResult(name=topic.name, partitions=tuple(deleted))


def _delete_or_refuse(
    topic: str, wanted: DeleteRecordsPartition, context: RequestContext
) -> DeleteRecordsPartitionResult:
    try:
        low_watermark = _delete(topic, wanted, context)
    except BrokerError as error:
        return DeleteRecordsPartitionResult(
            partition_index=wanted.partition_index,
            low_watermark=_UNKNOWN_LOW_WATERMARK,
            error_code=code_of(error),
        )
    return DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=low_watermark)


def _delete(name: str, wanted: DeleteRecordsPartition, context: RequestContext) -> int:
    context.require(AclOperation.DELETE, AclResourceType.TOPIC, name)
    services = context.services
    topic = topic_by_id_or_name(services.cluster.metadata, None, name)
    # See ReplicaManager.deleteRecordsOnLocalLog in Kafka.
    if topic.is_internal:
        raise InvalidTopicError(f"Cannot delete records of the internal topic '{name}'.")
    led_partition(services, topic, wanted.partition_index)
    # With `compact` alone, the last record of each key is what the topic is for (Partition.deleteRecordsOnLeader in
    # Kafka). With `compact,delete` records may go.
    if services.cluster.metadata.configs.config_value(TOPIC_RESOURCE, name, "cleanup.policy") == "compact":
        raise PolicyViolationError(f"Cannot delete records of topic '{name}', because it is compacted.")
    low_watermark = services.cluster.logs.get(topic.topic_id, wanted.partition_index).delete_records(wanted.offset)
    # A fetch from before the new start has nothing to wait for any more. It is answered with OFFSET_OUT_OF_RANGE.
    services.purgatory.notify(topic.topic_id_partition(wanted.partition_index))
    return low_watermark
