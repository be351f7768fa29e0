"""AddPartitionsToTxn (key 24), v0-v5: adds partitions to a transaction, or verifies that they are part of it.

Producers send v0 to v3 for one transaction. Later versions come from brokers that lead partitions (KIP-890). If one
partition of a transaction cannot be added, none is: the others get OPERATION_NOT_ATTEMPTED.

Error of the request: CLUSTER_AUTHORIZATION_FAILED (from v4 on).
Errors per partition: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED (both before v4),
NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, INVALID_REQUEST (an empty id),
UNKNOWN_TOPIC_OR_PARTITION, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (before v2 INVALID_PRODUCER_EPOCH),
CONCURRENT_TRANSACTIONS, TRANSACTION_ABORTABLE (verified, and not part of the transaction).
"""

from collections.abc import Iterable, Mapping
from functools import partial

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.coordinators.transactions.transaction import FIRST_WITH_NEW_EPOCHS
from kafka_groups.broker.log.entries import Producer
from kafka_groups.broker.metadata.placement import leader_of
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.transactional_ids import check_transactional_id, code_for_producers
from kafka_groups.broker.runtime.outcome import outcome_of
from kafka_groups.errors import (
    BrokerError,
    ClusterAuthorizationFailedError,
    OperationNotAttemptedError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.add_partitions_to_txn import (
    FIRST_OF_BROKERS,
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from kafka_groups.types import TopicPartition

__all__ = ["handle"]

Errors = Mapping[TopicPartition, BrokerError]


async def handle(request: AddPartitionsToTxnRequest, context: RequestContext) -> AddPartitionsToTxnResponse:
    """Return one result for each partition."""
    # A producer's request has a single transaction, in separate fields. Brokers ask about several at once.
    if context.version < FIRST_OF_BROKERS:
        only = await _added(_of_producer(request), context)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=only.topic_results)
    try:
        context.require(AclOperation.CLUSTER_ACTION, AclResourceType.CLUSTER)
    except ClusterAuthorizationFailedError as error:
        return AddPartitionsToTxnResponse(error_code=code_of(error))
    each = context.turns.each(request.transactions)
    return AddPartitionsToTxnResponse(results_by_transaction=tuple([await _added(one, context) async for one in each]))


def _of_producer(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )


async def _added(transaction: AddPartitionsToTxnTransaction, context: RequestContext) -> AddPartitionsToTxnResult:
    partitions = [TopicPartition(topic.name, number) for topic in transaction.topics for number in topic.partitions]
    try:
        # Brokers have asked for their producers: they hold the rights of the whole cluster.
        if context.version < FIRST_OF_BROKERS:
            context.require(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, transaction.transactional_id)
        errors = _refused(partitions, context)
        # Only a request whose partitions all exist and may be written to reaches the coordinator
        # (KafkaApis.handleAddPartitionsToTxnRequest in Kafka).
        errors = errors or await _ask(transaction, partitions, context)
    except BrokerError as error:
        errors = dict.fromkeys(partitions, error)
    topics = tuple(
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=tuple(
                _result(TopicPartition(topic.name, number), errors, context.version) for number in topic.partitions
            ),
        )
        for topic in transaction.topics
    )
    return AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=topics)


def _refused(partitions: Iterable[TopicPartition], context: RequestContext) -> Errors:
    """Return the error of each partition if one of them does not exist, or may not be written to."""
    metadata = context.services.cluster.metadata
    topics = {each.topic: metadata.topic(each.topic) for each in partitions}
    writable = topics
    if context.version < FIRST_OF_BROKERS:
        writable = dict.fromkeys(context.visible(AclOperation.WRITE, AclResourceType.TOPIC, topics))
    errors: dict[TopicPartition, BrokerError] = {}
    for each in partitions:
        if each.topic not in writable:
            errors[each] = TopicAuthorizationFailedError()
        elif (topic := topics[each.topic]) is None or leader_of(topic, each.partition) is None:
            errors[each] = UnknownTopicOrPartitionError(f"{each} does not exist.")
    return {**dict.fromkeys(partitions, OperationNotAttemptedError()), **errors} if errors else {}


async def _ask(
    transaction: AddPartitionsToTxnTransaction, partitions: list[TopicPartition], context: RequestContext
) -> Errors:
    check_transactional_id(transaction.transactional_id)
    coordinator = context.services.coordinators.transactions
    producer = Producer(transaction.producer_id, transaction.producer_epoch)
    # The leader of a partition only wants to know whether a producer of an older version has added it.
    if transaction.verify_only:
        verify = coordinator.verify_partitions
        return await outcome_of(partial(verify, transaction.transactional_id, producer, partitions))
    # Only brokers send these versions, for producers that use transactions of version 2 (KIP-890).
    version = FIRST_WITH_NEW_EPOCHS if context.version >= FIRST_OF_BROKERS else 0
    await outcome_of(partial(coordinator.add_partitions, transaction.transactional_id, producer, partitions, version))
    return {}


def _result(partition: TopicPartition, errors: Errors, version: int) -> AddPartitionsToTxnPartitionResult:
    error = errors.get(partition)
    if error is None:
        return AddPartitionsToTxnPartitionResult(partition_index=partition.partition)
    code = code_for_producers(error, version)
    return AddPartitionsToTxnPartitionResult(partition_index=partition.partition, partition_error_code=code)
