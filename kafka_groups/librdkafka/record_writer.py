"""Write records with a producer of your own: the position of each record, transactions with offsets of a group."""

from collections.abc import Callable, Mapping
from functools import partial

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import TopicPartition as Position

from kafka_groups.errors import DeliveryFailedError, TransactionFailedError
from kafka_groups.librdkafka.configuration import producer_config
from kafka_groups.librdkafka.deliveries import Deliveries, OutgoingRecord, new_producer
from kafka_groups.librdkafka.failures import error_in, failure_of
from kafka_groups.types import TopicPartition

__all__ = ["RecordWriter"]


class RecordWriter:
    """An idempotent producer that nobody shares. Use it from one thread; `purge` and the counts are for any thread.

    Args:
        config: Keys as for `DurableProducer`, and `transactional.id` for transactions.
        on_written: Called with the place and the offset of each record that was written, during `write`, `flush` or
            `commit_transaction`. Records of a transaction are reported before it ends.

    Attributes:
        written: The number of records that the brokers have confirmed.

    Raises:
        ConfigurationError: A value is invalid, or would make writing less durable.
    """

    def __init__(
        self, config: Mapping[str, object], on_written: Callable[[TopicPartition, int], None] | None = None
    ) -> None:
        settings = producer_config(config)
        self.written = 0
        self._servers = settings["bootstrap.servers"]
        self._on_written = on_written
        self._producer = new_producer(settings)
        self._deliveries = Deliveries(self._confirmed)
        self._is_in_transaction = False

    def __repr__(self) -> str:
        return f"<RecordWriter to {self._servers}: {self.written} written>"

    @property
    def failed(self) -> int:
        """The number of records since the last flush that were not written."""
        return self._deliveries.failed

    def write(self, record: OutgoingRecord) -> None:
        """Queue a record; `flush` reports whether it was written. Blocks while the producer's queue is full."""
        self._deliveries.send(self._producer, record)

    def flush(self, timeout_s: float) -> None:
        """Wait until every record since the last flush is written.

        Args:
            timeout_s: Longest wait, in seconds.

        Raises:
            TransactionFailedError: A record of the transaction was not written.
            DeliveryFailedError: A record outside of transactions was not written, or not confirmed in time.
        """
        deliveries, self._deliveries = self._deliveries, Deliveries(self._confirmed)
        deliveries.flush(self._producer, timeout_s)
        try:
            deliveries.check(timeout_s)
        except DeliveryFailedError as error:
            if self._is_in_transaction:
                raise TransactionFailedError(f"the transaction failed: {error}") from error
            raise

    def purge(self) -> None:
        """Drop the records that are not written yet. They count as failed."""
        self._producer.purge()

    # ------------------------------------------------------------------------------------ transactions

    def init_transactions(self, timeout_s: float) -> None:
        """Fence earlier writers with the same transactional id, and abort the transaction that one has left open.

        Args:
            timeout_s: Longest wait, in seconds.

        Raises:
            TransactionFailedError: The coordinator did not answer in time. Try again with a new writer.
            KafkaGroupsError: The brokers refuse the transactional id.
        """
        self._transact(partial(self._producer.init_transactions, timeout_s))

    def begin_transaction(self) -> None:
        """Begin a transaction, which contains all records until `commit_transaction`."""
        self._transact(self._producer.begin_transaction)
        self._is_in_transaction = True

    def commit_transaction(
        self, offsets: Mapping[TopicPartition, int], group_metadata: bytes | None, timeout_s: float
    ) -> None:
        """Commit the records of the transaction together with offsets: both or neither (KIP-447).

        Args:
            offsets: For each partition the offset of the next record to process.
            group_metadata: What `StreamsGroupMember.group_metadata` returned after the flush; None without offsets.
            timeout_s: Longest wait for the offsets, and for the end of the transaction, in seconds.

        Raises:
            TransactionFailedError: The transaction was aborted, or its end is not known.
            KafkaGroupsError: The brokers do not allow it.
        """
        if group_metadata is not None:
            positions = [Position(at.topic, at.partition, offset) for at, offset in offsets.items()]
            self._transact(partial(self._producer.send_offsets_to_transaction, positions, group_metadata, timeout_s))
        self._transact(partial(self._producer.commit_transaction, timeout_s))
        self._is_in_transaction = False

    def _transact(self, step: Callable[[], None]) -> None:
        try:
            step()
        except KafkaException as raised:
            error = error_in(raised)
            failure = failure_of(error, "the transaction failed")
            may_pass = error.retriable() or failure.retriable or error.code() == KafkaError._FENCED
            if error.txn_requires_abort() or may_pass:
                raise TransactionFailedError(str(failure)) from raised
            raise failure from raised

    def _confirmed(self, place: TopicPartition, offset: int) -> None:
        self.written += 1
        if self._on_written is not None:
            self._on_written(place, offset)
