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
from kafka_groups.broker.requests.leadership import topic_by_id_or_name
from kafka_groups.broker.requests.services import BrokerServices
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


async def permits_of(request: ProduceRequest, services: BrokerServices, version: int, wall_ms: int) -> Permits:
    """Ask the coordinator about the partitions in which a transaction begins.

    Raises:
        TransactionalIdAuthorizationFailedError: The request has no transactional id.
        InvalidProducerIdMappingError: It has records of several producers.
    """
    if request.transactional_id is None:
        raise TransactionalIdAuthorizationFailedError("Records of a transaction need a transactional id.")
    headers = _headers(request, services)
    producers = {Producer(header.producer_id, header.producer_epoch) for header in headers.values()}
    if len(producers) > 1:
        raise InvalidProducerIdMappingError("The request has transactional records of several producers.")
    support = support_of_produce(version)
    if not producers or not (support is TransactionSupport.ADDS or verifies_transactions(services.configs)):
        return Permits()
    write = TransactionalWrite(request.transactional_id, producers.pop(), support)
    return await _permits(write, _verifications(write, headers, services, wall_ms), services)


async def _permits(
    write: TransactionalWrite, verifications: Mapping[TopicPartition, Verification], services: BrokerServices
) -> Permits:
    if not verifications:
        return Permits()
    outcome: PendingOutcome[PartitionErrors] = PendingOutcome()
    ask = services.coordinators.transaction_questions.ask_again_while_concurrent
    ask(write, tuple(verifications), outcome)
    errors = await outcome.wait()
    return Permits(verifications, {each: _for_producers(error, write) for each, error in errors.items()})


BatchHeaders = dict[tuple[TopicMetadata, int], BatchHeader]


def _headers(request: ProduceRequest, services: BrokerServices) -> BatchHeaders:
    """Return the headers of the transactional batches that can be appended at all. The others are refused later."""
    headers: BatchHeaders = {}
    for topic in request.topic_data:
        for data in topic.partition_data:
            if is_transactional(data.records):
                try:
                    known = topic_by_id_or_name(services.cluster.metadata, topic.topic_id, topic.name)
                    writable_partition(services, known, data.index)
                    header = sole_batch(data.records).header
                    if header.producer_id != NO_PRODUCER_ID:  # as in Kafka, others are appended like plain records
                        headers[known, data.index] = header
                except BrokerError:  # the append refuses it with the same error
                    continue
    return headers


def _verifications(
    write: TransactionalWrite, headers: BatchHeaders, services: BrokerServices, wall_ms: int
) -> dict[TopicPartition, Verification]:
    found: dict[TopicPartition, Verification] = {}
    for (topic, index), header in headers.items():
        producers = services.cluster.logs.get(topic.topic_id, index).producers
        begin = partial(producers.begin_verification, write.producer, header.base_sequence, wall_ms, adds=write.adds)
        try:
            verification = begin()
        except BrokerError:  # as above
            continue
        if verification is not None:
            found[TopicPartition(topic.name, index)] = verification
    return found


def _for_producers(error: BrokerError, write: TransactionalWrite) -> BrokerError:
    """Return an error that makes every producer try again, if it may pass."""
    may_pass = isinstance(error, _RETRIED) or (isinstance(error, ConcurrentTransactionsError) and not write.adds)
    if not may_pass:
        return error
    return NotEnoughReplicasError(f"The coordinator could not verify the partition: {error}")
