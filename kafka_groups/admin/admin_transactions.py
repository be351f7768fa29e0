"""The methods of the blocking admin client for transactions and their producers; generated from `aio_transactions.py`.

Edit that module and run `python -m tests.generating.facades`; do not edit this one.
"""

from collections.abc import Iterable

from kafka_groups.admin.admin_thread import _AdminThread
from kafka_groups.admin.rules.hanging_transactions import DEFAULT_LONGER_THAN_MS
from kafka_groups.admin.rules.transaction_values import (
    FencedProducer,
    HangingTransactionList,
    PartitionProducer,
    TransactionDescription,
    TransactionList,
)
from kafka_groups.client.calls.results import Results
from kafka_groups.types import TopicPartition

__all__ = ["TransactionCalls"]


class TransactionCalls(_AdminThread):
    """The methods of `KafkaAdmin` about transactions (KIP-664, KIP-588)."""

    def list_transactions(
        self,
        *,
        states: Iterable[str] = (),
        producer_ids: Iterable[int] = (),
        open_for_ms: int | None = None,
        pattern: str | None = None,
        timeout: float | None = None,
    ) -> TransactionList:
        """List the transactional ids of the cluster (KIP-664, KIP-994, KIP-1152).

        Asks every broker. A broker that does not answer is in `errors` of the list, and its ids are missing.

        Args:
            states: Only ids in these states, such as `Ongoing`. By default all.
            producer_ids: Only ids of these producers. By default all.
            open_for_ms: Only ids whose last transaction began longer ago, in milliseconds. Kafka 3.8 and later. Ids
                without any transaction are listed too, and ended ones: ask for the state `Ongoing` as well.
            pattern: Only ids that match this regular expression (RE2) as a whole. Kafka 4.1 and later.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The ids that you may describe, sorted.

        Raises:
            ConfigurationError: A value is invalid, or there is no such state.
            OperationTimeoutError: No broker named the others in time.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(
            self._admin.list_transactions(
                states=states, producer_ids=producer_ids, open_for_ms=open_for_ms, pattern=pattern, timeout=timeout
            )
        )

    def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> Results[str, TransactionDescription]:
        """Describe transactional ids: state, producer, and the partitions of the current transaction (KIP-664).

        Args:
            transactional_ids: The ids.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            A description or an error for each id: `TransactionalIdNotFoundError` if it does not exist,
            `OperationTimeoutError` if its coordinator does not answer.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.describe_transactions(transactional_ids, timeout=timeout))

    def describe_producers(
        self, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> Results[TopicPartition, tuple[PartitionProducer, ...]]:
        """Describe the idempotent and transactional producers that the leaders of partitions remember (KIP-664).

        Args:
            partitions: The partitions.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The producers, or an error such as `UnknownTopicOrPartitionError`, for each partition.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.describe_producers(partitions, timeout=timeout))

    def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> Results[str, FencedProducer]:
        """Fence the producers of transactional ids, and abort their open transactions (KIP-588).

        A producer that is running gets an error with its next request. An id that does not exist is created. Until its
        next producer begins, the id has a transaction timeout of one minute.

        Args:
            transactional_ids: The ids.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The new producer epoch or an error for each id.

        Raises:
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.fence_producers(transactional_ids, timeout=timeout))

    def find_hanging_transactions(
        self,
        topics: Iterable[str | TopicPartition] | None = None,
        *,
        longer_than_ms: int = DEFAULT_LONGER_THAN_MS,
        timeout: float | None = None,
    ) -> HangingTransactionList:
        """Find transactions that hang: open in a partition, and unknown to their coordinators (KIP-664).

        The leaders of the partitions name the transactions that are open there, and the coordinators tell whether they
        know them, as with `kafka-transactions find-hanging`. You need READ on the topics, and DESCRIBE on all
        transactional ids: a transaction whose id you may not describe looks like one that hangs.

        Args:
            topics: Topics, single partitions, or both. None stands for all topics, Kafka's own among them.
            longer_than_ms: Only transactions whose producers have written nothing for longer, in milliseconds. Use at
                least `transaction.max.timeout.ms` of the brokers, which is 15 minutes by default.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Returns:
            The transactions, and the partitions that could not be searched.

        Raises:
            ConfigurationError: A topic or the time is invalid.
            UnknownTopicOrPartitionError: A topic does not exist.
            OperationTimeoutError: A coordinator did not answer in time, so that nobody knows which transactions hang.
            KafkaGroupsError: The brokers cannot be used at all: authentication, TLS, or none has ever answered.
        """
        return self._run(self._admin.find_hanging_transactions(topics, longer_than_ms=longer_than_ms, timeout=timeout))

    def abort_transaction(self, partition: TopicPartition, start_offset: int, *, timeout: float | None = None) -> None:
        """Abort a hanging transaction in one partition, past its coordinator (KIP-664).

        A transaction hangs if its coordinator does not know it any more: readers of committed records wait for it for
        ever. `describe_producers` shows where it begins. Do not use this for a transaction that still runs: its
        coordinator could commit it in the other partitions. For that there is `fence_producers`.

        Args:
            partition: The partition.
            start_offset: The offset at which the transaction begins.
            timeout: Longest wait, in seconds; None is `default.api.timeout.ms`.

        Raises:
            InvalidTxnStateError: No open transaction begins there.
            UnknownTopicOrPartitionError: The partition does not exist.
            ClusterAuthorizationFailedError: You may not write markers.
            KafkaGroupsError: The leader did not answer in time.
        """
        self._run(self._admin.abort_transaction(partition, start_offset, timeout=timeout))
