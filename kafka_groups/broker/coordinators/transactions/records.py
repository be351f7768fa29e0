"""The record of a transactional id, and its form in `__transaction_state`."""

from collections.abc import Iterable

from attrs import frozen

from kafka_groups.broker.coordinators.transactions.states import TransactionState
from kafka_groups.broker.coordinators.transactions.transaction import Transaction
from kafka_groups.errors import MalformedRecordError
from kafka_groups.protocol.coordinator_records.transaction_state import (
    TRANSACTION_STATE,
    TransactionLog,
    TransactionLogPartitions,
    TransactionLogValue,
)
from kafka_groups.types import TopicPartition

__all__ = ["StoredTransactionRecords", "TransactionRecord", "by_topic"]

_MOST_FIXED_BYTES = 100
_MOST_BYTES_OF_CHARACTER = 3
_BYTES_OF_PARTITION = 4
_BYTES_OF_TOPIC = 10


@frozen
class TransactionRecord:
    """The state of a transactional id, or None if it is forgotten.

    Attributes:
        transactional_id: The id.
        value: Its state.
        version: The version in which the state is stored.
    """

    transactional_id: str
    value: Transaction | None
    version: int = 1


class StoredTransactionRecords:
    """Encodes and decodes the records of transactional ids, for `InternalLog`."""

    topic = TRANSACTION_STATE[0].topic

    def encode(self, record: TransactionRecord) -> tuple[bytes, bytes | None]:
        """Return the bytes of the key and the value. A tombstone has no value."""
        value = None if record.value is None else _stored(record.value)
        return TRANSACTION_STATE[record.version].encode(TransactionLog(record.transactional_id, value))

    def most_bytes(self, record: TransactionRecord) -> int:
        """Return how many bytes the key and the value have together, at the most."""
        partitions = () if record.value is None else record.value.partitions
        topics = {each.topic for each in partitions}
        characters = len(record.transactional_id) + sum(map(len, topics))
        numbers = _BYTES_OF_TOPIC * len(topics) + _BYTES_OF_PARTITION * len(partitions)
        return _MOST_FIXED_BYTES + _MOST_BYTES_OF_CHARACTER * characters + numbers

    def decode(self, key: bytes, value: bytes | None) -> TransactionRecord:
        """Return the record with this key and value.

        Raises:
            UnknownRecordTypeError: The type of the record is not known.
            MalformedRecordError: The bytes are not a record of their type and version.
        """
        # The version is read from the bytes, so that one decoder serves all records.
        stored = TRANSACTION_STATE[-1].decode(key, value)
        return TransactionRecord(stored.transactional_id, None if stored.value is None else _loaded(stored.value))


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, tuple[int, ...]]:
    """Return the numbers of partitions by topic, both sorted."""
    topics: dict[str, list[int]] = {}
    for each in sorted(partitions):
        topics.setdefault(each.topic, []).append(each.partition)
    return {topic: tuple(numbers) for topic, numbers in topics.items()}


def _stored(value: Transaction) -> TransactionLogValue:
    # An id in this state has no transaction, so its list of partitions is null, and not just empty
    # (TransactionLog.valueToBytes in Kafka).
    is_empty = value.state is TransactionState.EMPTY
    topics = by_topic(value.partitions)
    return TransactionLogValue(
        producer_id=value.producer_id,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_transaction_version=value.client_version,
        producer_epoch=value.producer_epoch,
        transaction_timeout_ms=value.timeout_ms,
        transaction_status=value.state.number,
        transaction_partitions=None
        if is_empty
        else tuple(TransactionLogPartitions(topic=topic, partition_ids=numbers) for topic, numbers in topics.items()),
        transaction_last_update_timestamp_ms=value.updated_ms,
        transaction_start_timestamp_ms=value.start_ms,
    )


def _loaded(stored: TransactionLogValue) -> Transaction:
    # Kafka also fails on a number that it does not know (TransactionState.fromId).
    state = TransactionState.numbered(stored.transaction_status)
    if state is None:
        raise MalformedRecordError(f"Unknown transaction state {stored.transaction_status}.")
    return Transaction(
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        previous_producer_id=stored.previous_producer_id,
        next_producer_id=stored.next_producer_id,
        timeout_ms=stored.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            TopicPartition(each.topic, number)
            for each in stored.transaction_partitions or ()
            for number in each.partition_ids
        ),
        start_ms=stored.transaction_start_timestamp_ms,
        updated_ms=stored.transaction_last_update_timestamp_ms,
        client_version=stored.client_transaction_version,
    )
