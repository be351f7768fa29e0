"""The documents of `kafka-groups transactions`."""

from attrs import frozen

__all__ = [
    "AbortedTransactionEntry",
    "FencedProducerEntry",
    "HangingTransactionEntry",
    "ProducerEntry",
    "TransactionContents",
    "TransactionEntry",
    "TransactionPartitionEntry",
]


@frozen
class TransactionEntry:
    """A transactional id.

    Attributes:
        transactional_id: The id.
        state: `Empty`, `Ongoing`, `PrepareCommit`, `PrepareAbort`, `CompleteCommit` or `CompleteAbort`.
        producer_id: The id of its producer.
    """

    transactional_id: str
    state: str
    producer_id: int


@frozen
class TransactionPartitionEntry:
    """A partition of a transaction.

    Attributes:
        topic: The topic.
        partition: The partition.
    """

    topic: str
    partition: int


@frozen
class TransactionContents(TransactionEntry):
    """A transactional id with its current transaction.

    Attributes:
        producer_epoch: The producer's epoch.
        timeout_ms: The longest time that a transaction may take.
        start_ms: When the current transaction began, or null if there was none yet.
        partitions: The partitions of the current transaction. When it ends, those that have no marker yet.
    """

    producer_epoch: int
    timeout_ms: int
    start_ms: int | None
    partitions: tuple[TransactionPartitionEntry, ...]


@frozen
class ProducerEntry:
    """A producer that the leader of a partition remembers.

    Attributes:
        topic: The topic.
        partition: The partition.
        producer_id: Its id.
        producer_epoch: Its epoch.
        last_sequence: The number of its last record, or null if there is none since its last marker.
        last_ms: The time of its last batch or marker, or null.
        coordinator_epoch: The epoch of the coordinator that wrote its last marker, or null.
        transaction_start_offset: The offset at which its open transaction begins, or null if none is open.
    """

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    last_sequence: int | None
    last_ms: int | None
    coordinator_epoch: int | None
    transaction_start_offset: int | None


@frozen
class HangingTransactionEntry:
    """A transaction that is open in a partition and that its coordinator does not know.

    Attributes:
        topic: The topic.
        partition: The partition.
        start_offset: The offset at which the transaction begins.
        transactional_id: The transactional id that has this producer, or null if no coordinator knows one.
        producer_id: Its producer.
        producer_epoch: The producer's epoch.
        last_ms: The time of its last batch, or null.
        coordinator_epoch: The epoch of the coordinator that wrote the producer's last marker, or null.
    """

    topic: str
    partition: int
    start_offset: int
    transactional_id: str | None
    producer_id: int
    producer_epoch: int
    last_ms: int | None
    coordinator_epoch: int | None


@frozen
class AbortedTransactionEntry:
    """A transaction that was aborted in a partition, or would be.

    Attributes:
        topic: The topic.
        partition: The partition.
        start_offset: The offset at which it begins.
        producer_id: Its producer.
        producer_epoch: The producer's epoch.
        last_ms: The time of its last batch, or null.
    """

    topic: str
    partition: int
    start_offset: int
    producer_id: int
    producer_epoch: int
    last_ms: int | None


@frozen
class FencedProducerEntry:
    """A transactional id whose producers were fenced, or would be.

    Attributes:
        transactional_id: The id.
        producer_id: The producer that it has now, or null with `--dry-run`.
        producer_epoch: The epoch that it has now, or null with `--dry-run`.
    """

    transactional_id: str
    producer_id: int | None
    producer_epoch: int | None
