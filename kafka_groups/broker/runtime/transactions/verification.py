"""Asks the coordinator of a transaction about a partition before its leader takes the first records (KIP-890).

A producer of version 2 has not told the coordinator before, so the question adds the partition. Older producers have,
and the question only verifies it.
"""

import enum
from collections.abc import Callable, Collection
from functools import partial

from attrs import frozen

from kafka_groups.broker.coordinators.transactions.records import by_topic
from kafka_groups.broker.coordinators.transactions.transaction import FIRST_WITH_NEW_EPOCHS
from kafka_groups.broker.log.entries import Producer
from kafka_groups.broker.metadata.placement import TRANSACTION_TOPIC, coordinator_of
from kafka_groups.broker.metadata.topics import NO_LEADER
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.peers import Peers
from kafka_groups.broker.runtime.transactions.transaction_coordinator import TransactionCoordinator
from kafka_groups.errors import (
    BrokerError,
    ConcurrentTransactionsError,
    CoordinatorNotAvailableError,
    InvalidProducerEpochError,
    InvalidTxnStateError,
    NetworkExceptionError,
    ProducerFencedError,
    TransactionAbortableError,
    error_for,
)
from kafka_groups.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafka_groups.types import TopicPartition

__all__ = ["PartitionErrors", "TransactionQuestions", "TransactionSupport", "TransactionalWrite"]

PartitionErrors = dict[TopicPartition, BrokerError]


class TransactionSupport(enum.Enum):
    """The knowledge of transactions that the sender of records has, by the version of its request."""

    FIRST = "no error for transactions that can only be aborted"
    ABORTABLE = "has the error TRANSACTION_ABORTABLE"
    ADDS = "lets the request add the partition"


@frozen
class TransactionalWrite:
    """Records of a transaction.

    Attributes:
        transactional_id: The transactional id.
        producer: The producer.
        support: What the producer's client knows.
    """

    transactional_id: str
    producer: Producer
    support: TransactionSupport

    @property
    def adds(self) -> bool:
        """True if the partition is added, and not only verified."""
        return self.support is TransactionSupport.ADDS


class TransactionQuestions:
    """The questions that one broker asks.

    Args:
        broker: The broker.
        coordinator: Its own transaction coordinator.
        peers: The connections to other brokers.
    """

    def __init__(self, broker: BrokerParts, coordinator: TransactionCoordinator, peers: Peers) -> None:
        self._broker = broker
        self._coordinator = coordinator
        self._peers = peers

    def __repr__(self) -> str:
        return f"<TransactionQuestions of broker {self._broker.node_id}>"

    def ask(
        self,
        write: TransactionalWrite,
        partitions: Collection[TopicPartition],
        done: Callable[[PartitionErrors], None],
    ) -> None:
        """Add partitions to a transaction, or verify that it has them.

        Args:
            write: The transaction.
            partitions: The partitions.
            done: Takes the errors of partitions, which the producer may get. It may be called before this returns.
        """
        told = partial(_told, write, done)
        node_id = coordinator_of(self._broker.cluster.metadata.image, write.transactional_id, TRANSACTION_TOPIC)
        # See AddPartitionsToTxnManager.addOrVerifyTransaction in Kafka.
        if node_id == NO_LEADER:
            told(dict.fromkeys(partitions, CoordinatorNotAvailableError()))
        elif node_id == self._broker.node_id:
            self._ask_here(write, partitions, told)
        else:
            self._ask_peer(node_id, write, partitions, told)

    def ask_again_while_concurrent(
        self,
        write: TransactionalWrite,
        partitions: Collection[TopicPartition],
        done: Callable[[PartitionErrors], None],
    ) -> None:
        """Do the same. If partitions are added while the transaction before is being ended, try again for a while."""
        # A producer of an older version has waited for the markers itself before it added the partition.
        if not write.adds:
            self.ask(write, partitions, done)
            return
        until_ms = self._now_ms() + self._broker.cluster.settings.add_partitions_to_txn_retry_backoff_max_ms
        self._ask_until(until_ms, write, partitions, done)

    def _ask_until(
        self,
        until_ms: int,
        write: TransactionalWrite,
        partitions: Collection[TopicPartition],
        done: Callable[[PartitionErrors], None],
    ) -> None:
        def answered(errors: PartitionErrors) -> None:
            is_early = any(isinstance(error, ConcurrentTransactionsError) for error in errors.values())
            # The markers of the transaction before are usually written within milliseconds.
            if is_early and self._now_ms() < until_ms:
                again = partial(self._ask_until, until_ms, write, partitions, done)
                self._broker.later(self._broker.cluster.settings.add_partitions_to_txn_retry_backoff_ms, again)
            else:
                done(errors)

        self.ask(write, partitions, answered)

    def _now_ms(self) -> int:
        return self._broker.cluster.clock.now_ms()

    def _ask_here(
        self, write: TransactionalWrite, partitions: Collection[TopicPartition], told: Callable[[PartitionErrors], None]
    ) -> None:
        id_, producer = write.transactional_id, write.producer

        def answered(outcome: PartitionErrors | BrokerError | None) -> None:
            told(dict.fromkeys(partitions, outcome) if isinstance(outcome, BrokerError) else outcome or {})

        if write.adds:
            self._coordinator.add_partitions(id_, producer, partitions, FIRST_WITH_NEW_EPOCHS, answered)
        else:
            self._coordinator.verify_partitions(id_, producer, partitions, answered)

    def _ask_peer(
        self,
        node_id: int,
        write: TransactionalWrite,
        partitions: Collection[TopicPartition],
        told: Callable[[PartitionErrors], None],
    ) -> None:
        topics = (AddPartitionsToTxnTopic(name=name, partitions=each) for name, each in by_topic(partitions).items())
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=write.transactional_id,
            producer_id=write.producer.producer_id,
            producer_epoch=write.producer.epoch,
            verify_only=not write.adds,
            topics=tuple(topics),
        )
        request = AddPartitionsToTxnRequest(transactions=(transaction,))
        self._peers.ask(node_id, request, lambda response: told(_errors(partitions, response)))


def _errors(
    partitions: Collection[TopicPartition], response: AddPartitionsToTxnResponse | BrokerError
) -> PartitionErrors:
    # No answer says nothing about the partition. The producer retries (AddPartitionsToTxnManager in Kafka does the same
    # for a lost connection).
    if isinstance(response, BrokerError):
        return dict.fromkeys(partitions, NetworkExceptionError(f"The coordinator did not answer: {response}"))
    return {
        TopicPartition(topic.name, each.partition_index): error_for(each.partition_error_code)
        for transaction in response.results_by_transaction
        for topic in transaction.topic_results
        for each in topic.results_by_partition
        if each.partition_error_code
    }


def _told(write: TransactionalWrite, done: Callable[[PartitionErrors], None], errors: PartitionErrors) -> None:
    done({partition: _for_producers(error, write) for partition, error in errors.items()})


def _for_producers(error: BrokerError, write: TransactionalWrite) -> BrokerError:
    """Return the error of the coordinator as a producer knows it."""
    # Producers know PRODUCER_FENCED from requests to coordinators only. From a leader they expect
    # INVALID_PRODUCER_EPOCH (AddPartitionsToTxnManager in Kafka translates the error, too).
    if isinstance(error, ProducerFencedError):
        return InvalidProducerEpochError(str(error))
    # Clients from before TRANSACTION_ABORTABLE know this case as INVALID_TXN_STATE.
    if isinstance(error, TransactionAbortableError) and write.support is TransactionSupport.FIRST:
        return InvalidTxnStateError("The partition was not added to the transaction.")
    return error
