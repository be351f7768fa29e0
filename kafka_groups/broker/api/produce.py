"""Produce (key 0), v3-v13: appends one record batch to each partition in the request.

Topics are identified by name up to v12 and by id from v13. There are no replicas, so acks=1 and acks=-1 mean the same.
With acks=0 there is no response; an error ends the connection, so that the client asks for the leaders again. If
another broker leads a partition, the response contains that leader (v10). If a batch is refused because of some of its
records, the response names them (v8).

Errors per partition: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v13),
NOT_LEADER_OR_FOLLOWER, INVALID_TOPIC_EXCEPTION (internal topics), INVALID_REQUIRED_ACKS, INVALID_RECORD (not exactly
one batch of format 2), CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP, UNSUPPORTED_COMPRESSION_TYPE (zstd before
v7), OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH. For records of transactions also
TRANSACTIONAL_ID_AUTHORIZATION_FAILED (without an id, or without the right), INVALID_PRODUCER_ID_MAPPING,
INVALID_TXN_STATE, NOT_ENOUGH_REPLICAS (the coordinator could not be asked), TRANSACTION_ABORTABLE (v11),
CONCURRENT_TRANSACTIONS (v12).

From v12 on, a produce request adds its partitions to the transaction; before, they must have been added (KIP-890).
"""

from collections.abc import Sequence

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.log.batches import AppendResult
from kafka_groups.broker.log.rejected_records import RejectedKeysError, RejectedTimestampsError
from kafka_groups.broker.log.validation import sole_batch
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.requests.appending import append_batch, writable_partition
from kafka_groups.broker.requests.context import RequestContext, UnansweredError
from kafka_groups.broker.requests.error_fields import code_of, message_unless_refused
from kafka_groups.broker.requests.leadership import current_leader, node_endpoints, topic_by_id_or_name
from kafka_groups.broker.requests.transactional_writes import Permits, has_transactions, permits_of
from kafka_groups.errors import (
    BrokerError,
    InvalidRequiredAcksError,
    NotLeaderOrFollowerError,
    TopicAuthorizationFailedError,
    UnsupportedCompressionTypeError,
)
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch
from kafka_groups.protocol.messages.produce import (
    ALL_ACKS,
    LEADER_ACKS,
    NO_ACKS,
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kafka_groups.types import TopicPartition

__all__ = ["handle"]

_ACKS = (ALL_ACKS, NO_ACKS, LEADER_ACKS)
_FIRST_WITH_ZSTD = 7
_NO_OFFSET = -1
_NO_PERMITS = Permits()


async def handle(request: ProduceRequest, context: RequestContext) -> ProduceResponse | None:
    """Append the batches and return the response, or None if the producer wants no response."""
    permits = await _permits(request, context) if has_transactions(request) else _NO_PERMITS
    # The request as a whole is wrong, so all its batches are refused, also those without a transaction.
    if isinstance(permits, BrokerError):
        responses = tuple(_refused_topic(data, permits, context) for data in request.topic_data)
    else:
        topics = context.turns.each(request.topic_data)
        responses = tuple([await _append_topic(data, request.acks, permits, context) async for data in topics])
    if request.acks == NO_ACKS:
        _raise_if_refused(responses)
        return None
    leaders = (partition.current_leader for topic in responses for partition in topic.partition_responses)
    return ProduceResponse(
        responses=responses, node_endpoints=node_endpoints(context.services.cluster.metadata, leaders)
    )


async def _permits(request: ProduceRequest, context: RequestContext) -> Permits | BrokerError:
    try:
        # Kafka asks about the id before it looks at a batch (KafkaApis.handleProduceRequest).
        if request.transactional_id is not None:
            context.require(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, request.transactional_id)
        return await permits_of(request, context)
    except BrokerError as error:
        return error


def _raise_if_refused(topics: Sequence[TopicProduceResponse]) -> None:
    errors = {p.error_code.name for topic in topics for p in topic.partition_responses if p.error_code}
    # Nobody waits for a response. Kafka closes the connection instead, so that a client with old metadata does not send
    # to the wrong broker for ever (KafkaApis.handleProduceRequest).
    if errors:
        raise UnansweredError(f"records of a producer with acks=0 were refused: {', '.join(sorted(errors))}")


def _refused_topic(topic: TopicProduceData, error: BrokerError, context: RequestContext) -> TopicProduceResponse:
    refused = tuple(_refusal(topic, data.index, error, context) for data in topic.partition_data)
    return TopicProduceResponse(topic_id=topic.topic_id, name=topic.name, partition_responses=refused)


async def _append_topic(
    data: TopicProduceData, acks: int, permits: Permits, context: RequestContext
) -> TopicProduceResponse:
    if not _may_write(data, context):
        return _refused_topic(data, TopicAuthorizationFailedError(), context)
    partitions = context.turns.each(data.partition_data)
    appended = [_append_or_refuse(data, partition, acks, permits, context) async for partition in partitions]
    return TopicProduceResponse(topic_id=data.topic_id, name=data.name, partition_responses=tuple(appended))


def _may_write(data: TopicProduceData, context: RequestContext) -> bool:
    name = data.name
    if data.topic_id is not None:
        topic = context.services.cluster.metadata.topic_by_id(data.topic_id)
        name = "" if topic is None else topic.name
    # Nothing is asked about an unknown id.
    return not name or context.may(AclOperation.WRITE, AclResourceType.TOPIC, name)


def _append_or_refuse(
    topic: TopicProduceData, data: PartitionProduceData, acks: int, permits: Permits, context: RequestContext
) -> PartitionProduceResponse:
    try:
        # See ReplicaManager.isValidRequiredAcks in Kafka.
        if acks not in _ACKS:
            raise InvalidRequiredAcksError(f"Invalid acks {acks}: allowed values are -1, 0 and 1.")
        known = topic_by_id_or_name(context.services.cluster.metadata, topic.topic_id, topic.name)
        appended = _append(known, data, permits, context)
    except BrokerError as error:
        return _refusal(topic, data.index, error, context)
    return PartitionProduceResponse(
        index=data.index,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.log_append_time_ms,
        log_start_offset=appended.log_start_offset,
    )


def _append(
    topic: TopicMetadata, data: PartitionProduceData, permits: Permits, context: RequestContext
) -> AppendResult:
    # Consumers of that time could not read the batch (ProduceRequest.validateRecords in Kafka). The leader is checked
    # first, so that the client finds the right one in any case.
    if context.version < _FIRST_WITH_ZSTD:
        writable_partition(context.services, topic, data.index)
        _refuse_zstd(data.records)
    if permits is _NO_PERMITS:
        return append_batch(context.services, topic, data.index, data.records, context.wall_ms)
    partition = TopicPartition(topic.name, data.index)
    # The coordinator did not confirm this partition. The others are appended.
    if partition in permits.errors:
        raise permits.errors[partition]
    verification = permits.verifications.get(partition)
    return append_batch(context.services, topic, data.index, data.records, context.wall_ms, verification)


def _refuse_zstd(records: bytes | None) -> None:
    if sole_batch(records).header.attributes & 7 == Compression.ZSTD:
        raise UnsupportedCompressionTypeError("zstd compression requires Produce v7.")


def _refusal(
    topic: TopicProduceData, index: int, error: BrokerError, context: RequestContext
) -> PartitionProduceResponse:
    leader = LeaderIdAndEpoch()
    # With the new leader in the response, the client need not ask for metadata first (KIP-951).
    if isinstance(error, NotLeaderOrFollowerError):
        metadata = context.services.cluster.metadata
        known = metadata.topic(topic.name) if topic.topic_id is None else metadata.topic_by_id(topic.topic_id)
        leader = current_leader(known, index)
    return PartitionProduceResponse(
        index=index,
        error_code=code_of(error),
        error_message=message_unless_refused(error),
        base_offset=_NO_OFFSET,
        record_errors=_record_errors(error),
        current_leader=leader,
    )


def _record_errors(error: BrokerError) -> tuple[BatchIndexAndErrorMessage, ...]:
    """Return the records because of which a batch was refused: the producer may send the others again (KIP-467)."""
    if not isinstance(error, (RejectedKeysError, RejectedTimestampsError)):
        return ()
    return tuple(
        BatchIndexAndErrorMessage(batch_index=each.index, batch_index_error_message=each.message)
        for each in error.rejected
    )
