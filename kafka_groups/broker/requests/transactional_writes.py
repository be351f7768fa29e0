"""Records of transactions in a produce request: what their leader asks the coordinator before it appends them."""

from collections.abc import Mapping
from functools import partial

from attrs import field, frozen

from kafka_groups.broker.configs.effective import verifies_transactions
from kafka_groups.broker.log.entries import Producer
from kafka_groups.broker.log.producers import Verification
from kafka_groups.broker.log.validation import sole_batch
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.requests.appending import writable_partition
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.leadership import topic_by_id_or_name
from kafka_groups.broker.runtime.outcome import PendingOutcome
from kafka_groups.broker.runtime.transactions.verification import (
    PartitionErrors,
    TransactionalWrite,
    TransactionSupport,
)
from kafka_groups.errors import (
    BrokerError,
    ConcurrentTransactionsError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    InvalidProducerIdMappingError,
    NetworkExceptionError,
    NotCoordinatorError,
    NotEnoughReplicasError,
    TransactionalIdAuthorizationFailedError,
)
from kafka_groups.protocol.messages.produce import ProduceRequest
from kafka_groups.protocol.record_batch import NO_PRODUCER_ID, BatchHeader, is_transactional
from kafka_groups.types import TopicPartition

__all__ = ["Permits", "has_transactions", "permits_of", "support_of_produce"]

_FIRST_ABORTABLE, _FIRST_THAT_ADDS = 11, 12
_RETRIED = (
    CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NetworkExceptionError, NotCoordinatorError
)  # fmt: skip


@frozen
class Permits:
    """The answer of the coordinator about the partitions of a request.

    Attributes:
        verifications: What was verified, by partition. It lets the first batch of a transaction in.
        errors: The partitions whose batches may not be appended.
    """

    verifications: Mapping[TopicPartition, Verification] = field(factory=dict)
    errors: Mapping[TopicPartition, BrokerError] = field(factory=dict)


def has_transactions(request: ProduceRequest) -> bool:
    """Return whether a request has records of a transaction. It looks at one byte of each batch."""
    return any(is_transactional(data.records) for topic in request.topic_data for data in topic.partition_data)


def support_of_produce(version: int) -> TransactionSupport:
    """Return what the sender of a Produce request in a version knows of transactions."""
    if version >= _FIRST_THAT_ADDS:
        return TransactionSupport.ADDS
    return TransactionSupport.ABORTABLE if version >= _FIRST_ABORTABLE else TransactionSupport.FIRST


async def permits_of(request: ProduceRequest, context: RequestContext) -> Permits:
    """Ask the coordinator about the partitions in which a transaction begins.

    Raises:
        TransactionalIdAuthorizationFailedError: The request has no transactional id.
        InvalidProducerIdMappingError: It has records of several producers.
    """
    # Kafka authorizes the transactional id before it looks at a batch (KafkaApis.handleProduceRequest).
    if request.transactional_id is None:
        raise TransactionalIdAuthorizationFailedError("Records of a transaction need a transactional id.")
    headers = _headers(request, context)
    producers = {Producer(header.producer_id, header.producer_epoch) for header in headers.values()}
    # One transactional id has one producer at a time (ReplicaManager.handleProduceAppend in Kafka).
    if len(producers) > 1:
        raise InvalidProducerIdMappingError("The request has transactional records of several producers.")
    support = support_of_produce(context.version)
    # `transaction.partition.verification.enable` can switch off questions that only verify. Those that add a partition
    # are always needed: nobody else tells the coordinator.
    if not producers or not (support is TransactionSupport.ADDS or verifies_transactions(context.services.configs)):
        return Permits()
    write = TransactionalWrite(request.transactional_id, producers.pop(), support)
    return await _permits(write, _verifications(write, headers, context), context)


async def _permits(
    write: TransactionalWrite, verifications: Mapping[TopicPartition, Verification], context: RequestContext
) -> Permits:
    # In all partitions the transaction is open already, so there is nothing to ask.
    if not verifications:
        return Permits()
    outcome: PendingOutcome[PartitionErrors] = PendingOutcome()
    # Producers of version 2 begin the next transaction without waiting for the markers of the last one. A short wait
    # here often saves them an error and a retry (ReplicaManager.handleProduceAppend).
    ask = context.services.coordinators.transaction_questions.ask_again_while_concurrent
    ask(write, tuple(verifications), outcome)
    errors = await outcome.wait()
    return Permits(verifications, {each: _for_producers(error, write) for each, error in errors.items()})


BatchHeaders = dict[tuple[TopicMetadata, int], BatchHeader]


def _headers(request: ProduceRequest, context: RequestContext) -> BatchHeaders:
    """Return the headers of the transactional batches that can be appended at all. The others are refused later."""
    headers: BatchHeaders = {}
    for topic in request.topic_data:
        for data in topic.partition_data:
            if is_transactional(data.records):
                try:
                    known = topic_by_id_or_name(context.services.cluster.metadata, topic.topic_id, topic.name)
                    writable_partition(context.services, known, data.index)
                    header = sole_batch(data.records).header
                    if header.producer_id != NO_PRODUCER_ID:  # as in Kafka, others are appended like plain records
                        headers[known, data.index] = header
                except BrokerError:  # the append refuses it with the same error
                    continue
    return headers


def _verifications(
    write: TransactionalWrite, headers: BatchHeaders, context: RequestContext
) -> dict[TopicPartition, Verification]:
    found: dict[TopicPartition, Verification] = {}
    wall_ms = context.wall_ms
    for (topic, index), header in headers.items():
        producers = context.services.cluster.logs.get(topic.topic_id, index).producers
        begin = partial(producers.begin_verification, write.producer, header.base_sequence, wall_ms, adds=write.adds)
        try:
            verification = begin()
        except BrokerError:  # as above
            continue
        # Kafka asks about the partitions that got a guard, too
        # (ReplicaManager.maybeSendPartitionsToTransactionCoordinator).
        if verification is not None:
            found[TopicPartition(topic.name, index)] = verification
    return found


def _for_producers(error: BrokerError, write: TransactionalWrite) -> BrokerError:
    """Return an error that makes every producer try again, if it may pass."""
    # Old producers do not know all errors of coordinators as retriable. NOT_ENOUGH_REPLICAS is one that makes all of
    # them retry, without asking for metadata (ReplicaManager.handleProduceAppend). Newer ones know
    # CONCURRENT_TRANSACTIONS in this place.
    may_pass = isinstance(error, _RETRIED) or (isinstance(error, ConcurrentTransactionsError) and not write.adds)
    if not may_pass:
        return error
    return NotEnoughReplicasError(f"The coordinator could not verify the partition: {error}")
