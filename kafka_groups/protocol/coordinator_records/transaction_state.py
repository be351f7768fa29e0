"""The records of `__transaction_state`, which the transaction coordinators write (KIP-98, KIP-890)."""

from attrs import frozen

from kafka_groups.protocol.coordinator_records.record import RecordTable, RecordType
from kafka_groups.protocol.fields import ignorable
from kafka_groups.protocol.schemas.declared import transaction_records as schemas

__all__ = ["TRANSACTION_STATE", "TransactionLogKey", "TransactionLogPartitions", "TransactionLogValue"]

NOT_SET = -1


@frozen(kw_only=True)
class TransactionLogKey:
    """Key of a transactional id (type 0)."""

    transactional_id: str


@frozen(kw_only=True)
class TransactionLogPartitions:
    """Partitions of one topic in a transaction."""

    topic: str
    partition_ids: tuple[int, ...] = ()


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

    producer_id: int
    previous_producer_id: int = ignorable(NOT_SET)  # v1+
    next_producer_id: int = ignorable(NOT_SET)  # v1+
    client_transaction_version: int = ignorable(0)  # v1+
    next_producer_epoch: int = ignorable(NOT_SET)  # v1+
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: tuple[TransactionLogPartitions, ...] | None
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int


def _table(version: int) -> RecordTable:
    values = {0: schemas.TRANSACTION_0, 1: schemas.TRANSACTION_1}
    kind = RecordType(
        0,
        key=(TransactionLogKey, schemas.TRANSACTIONAL_ID_KEY),
        value=(TransactionLogValue, values),
        version_of=lambda _value: version,
    )
    return RecordTable("__transaction_state", (kind,))


TRANSACTION_STATE = (_table(0), _table(1))
"""The only record type, as it is written in version 0 and 1. Both read both versions."""
