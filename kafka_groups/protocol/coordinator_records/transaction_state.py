"""The records of `__transaction_state`, which the transaction coordinators write (KIP-98, KIP-890)."""

from attrs import frozen

from kafka_groups.protocol.coordinator_records.record import RecordTable, RecordType
from kafka_groups.protocol.fields import Int8, Int16, Int32, Int64, wire_field

__all__ = ["TRANSACTION_STATE", "TransactionLog", "TransactionLogPartitions", "TransactionLogValue"]

NOT_SET = -1


@frozen(kw_only=True)
class TransactionLogPartitions:
    """Partitions of one topic in a transaction."""

    topic: str
    partition_ids: tuple[Int32, ...] = ()


@frozen(kw_only=True)
class TransactionLogValue:
    """The state of a transactional id.

    Version 0 is written as long as the feature transaction.version is at level 0, and version 1 from then on.

    Attributes:
        producer_id: The producer.
        previous_producer_id: The producer id before the last change.
        next_producer_id: The producer id after the transaction that is being ended, if the epochs are used up.
        client_transaction_version: The version of transactions that the producer uses.
        next_producer_epoch: The epoch of `next_producer_id`. Not used by Kafka 4.4.
        producer_epoch: The epoch of the producer.
        transaction_timeout_ms: The longest time that a transaction may take.
        transaction_status: The number of the state.
        transaction_partitions: The partitions of the transaction. None in the state Empty.
        transaction_last_update_timestamp_ms: When the record was written, in milliseconds since the epoch.
        transaction_start_timestamp_ms: When the transaction began, or -1.
    """

    producer_id: Int64
    previous_producer_id: Int64 = wire_field(NOT_SET, since=1, tag=0)
    next_producer_id: Int64 = wire_field(NOT_SET, since=1, tag=1)
    client_transaction_version: Int16 = wire_field(0, since=1, tag=2)
    next_producer_epoch: Int16 = wire_field(NOT_SET, since=1, tag=3)
    producer_epoch: Int16
    transaction_timeout_ms: Int32
    transaction_status: Int8
    transaction_partitions: tuple[TransactionLogPartitions, ...] | None
    transaction_last_update_timestamp_ms: Int64
    transaction_start_timestamp_ms: Int64


@frozen
class TransactionLog:
    """The state of a transactional id (type 0). Without a value, it is a tombstone."""

    transactional_id: str
    value: TransactionLogValue | None = None


def _table(version: int) -> RecordTable[TransactionLog]:
    kind = RecordType(
        0,
        TransactionLog,
        TransactionLogValue,
        versions=range(2),
        flexible_since=1,
        version_of=lambda _value: version,
    )
    return RecordTable("__transaction_state", (kind,))


TRANSACTION_STATE = (_table(0), _table(1))
"""The only record type, as it is written in version 0 and 1. Both read both versions."""
