"""The values that the admin client returns about transactions and their producers."""

from collections.abc import Mapping

from attrs import field, frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import TopicPartition

__all__ = [
    "FencedProducer",
    "HangingTransaction",
    "HangingTransactionList",
    "PartitionProducer",
    "TransactionDescription",
    "TransactionList",
    "TransactionListing",
]


@frozen
class TransactionListing:
    """A transactional id in a list.

    Attributes:
        transactional_id: The id.
        producer_id: Its producer.
        state: `Empty`, `Ongoing`, `PrepareCommit`, `PrepareAbort`, `CompleteCommit` or `CompleteAbort`.
    """

    transactional_id: str
    producer_id: int
    state: str


@frozen
class TransactionList:
    """The transactional ids of a cluster. Each broker lists those that it coordinates.

    Attributes:
        transactions: The ids, sorted.
        errors: Brokers that did not answer, by node id. Their ids are missing.
    """

    transactions: tuple[TransactionListing, ...] = ()
    errors: Mapping[int, KafkaGroupsError] = field(factory=dict)


@frozen
class TransactionDescription:
    """A transactional id.

    Attributes:
        transactional_id: The id.
        state: `Empty`, `Ongoing`, `PrepareCommit`, `PrepareAbort`, `CompleteCommit` or `CompleteAbort`.
        producer_id: Its producer.
        producer_epoch: The producer's epoch.
        timeout_ms: The longest time that a transaction may take, in milliseconds.
        start_ms: When the current transaction began, in milliseconds since the epoch; None if there was none yet.
        partitions: The partitions of the current transaction. When it ends, those that have no marker yet.
    """

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int | None
    partitions: tuple[TopicPartition, ...]


@frozen
class PartitionProducer:
    """A producer that the leader of a partition remembers.

    Attributes:
        producer_id: Its id.
        producer_epoch: Its epoch.
        last_sequence: The sequence number of its last record; None if there is none since its last marker.
        last_timestamp_ms: The time of its last batch or marker, in milliseconds since the epoch; None if it is unknown.
        coordinator_epoch: The epoch of the coordinator that wrote its last marker; None if there is none.
        transaction_start_offset: The offset at which its open transaction begins; None if no transaction is open.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int | None
    last_timestamp_ms: int | None
    coordinator_epoch: int | None
    transaction_start_offset: int | None


@frozen
class FencedProducer:
    """The producer id and epoch that a transactional id has after its producers were fenced.

    Attributes:
        producer_id: The producer id.
        producer_epoch: The epoch. The next producer gets a newer one.
    """

    producer_id: int
    producer_epoch: int


@frozen(kw_only=True)
class HangingTransaction:
    """A transaction that is open in a partition, and that its coordinator does not know. Nobody will end it.

    Readers of committed records wait for it. `abort_transaction(partition, start_offset)` ends it.

    Attributes:
        partition: The partition.
        producer_id: Its producer.
        producer_epoch: The producer's epoch.
        transactional_id: The transactional id that has this producer id; None if no coordinator knows one.
        start_offset: The offset at which the transaction begins.
        last_timestamp_ms: The time of its last batch, in milliseconds since the epoch; None if it is unknown.
        coordinator_epoch: The epoch of the coordinator that wrote the producer's last marker; None if there is none.
    """

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    transactional_id: str | None
    start_offset: int
    last_timestamp_ms: int | None
    coordinator_epoch: int | None


@frozen
class HangingTransactionList:
    """The hanging transactions of some partitions.

    Attributes:
        transactions: The transactions, by partition and offset.
        errors: Partitions that could not be searched, with the reason.
    """

    transactions: tuple[HangingTransaction, ...] = ()
    errors: Mapping[TopicPartition, KafkaGroupsError] = field(factory=dict)
