"""The errors that a producer gets, and their consequences, as one table for each API.

Kafka's own producer is the model (`Sender.completeBatch` and `TransactionManager` in Java), with two differences. A
refused batch in a transaction does not end the transaction: the caller decides. And an error that leaves open whether a
batch was written never frees its sequence numbers for other records.
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kafka_groups.errors import error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode

__all__ = ["DENIED", "IN_DOUBT", "MISSING_TOPIC", "NEW_LEADER", "ProducerOutcome", "outcome_of"]


class ProducerOutcome(enum.Enum):
    """The consequence of an error."""

    DONE = "done"
    """The request has succeeded, now or earlier."""
    RETRY = "retry"
    """Send the same again. `IN_DOUBT` has the errors after which it may have succeeded all along."""
    SPLIT = "split"
    """The batch is too large: send its records in smaller ones. A record alone is refused."""
    GAP = "gap"
    """The broker does not expect these sequence numbers: after an earlier batch failed, or because it forgot them."""
    REFUSE_RECORDS = "refuse records"
    """The response names the records that are refused; the others are sent again. Without names, all are refused."""
    REFUSE_BATCH = "refuse the batch"
    """All records of the batch are refused. None was written."""
    REFUSE_IN_DOUBT = "refuse the batch in doubt"
    """All records of the batch are refused, although they may have been written."""
    LOST = "lost"
    """The transaction is lost. Another one may succeed, with a new epoch."""
    FATAL = "fatal"
    """No retry and no new producer will help before somebody changes the configuration."""


_E, _O = ErrorCode, ProducerOutcome

MISSING_TOPIC: Final = frozenset({
    _E.UNKNOWN_TOPIC_OR_PARTITION, _E.UNKNOWN_TOPIC_ID, _E.INCONSISTENT_TOPIC_ID,
})  # fmt: skip
"""The topic may have been deleted. These are retried, but not forever."""

DENIED: Final = frozenset({_E.TOPIC_AUTHORIZATION_FAILED, _E.CLUSTER_AUTHORIZATION_FAILED})
"""A right is missing, which somebody may grant while the producer waits."""

NEW_LEADER: Final = MISSING_TOPIC | {
    _E.NOT_LEADER_OR_FOLLOWER, _E.FENCED_LEADER_EPOCH, _E.UNKNOWN_LEADER_EPOCH, _E.LEADER_NOT_AVAILABLE,
    _E.REPLICA_NOT_AVAILABLE, _E.KAFKA_STORAGE_ERROR,
}  # fmt: skip
"""Errors of Produce after which the metadata is fetched again."""

IN_DOUBT: Final = frozenset({
    # The leader appends before it waits for its replicas, and it may lose its role while it waits.
    _E.REQUEST_TIMED_OUT, _E.NOT_ENOUGH_REPLICAS_AFTER_APPEND, _E.NOT_LEADER_OR_FOLLOWER, _E.FENCED_LEADER_EPOCH,
    _E.KAFKA_STORAGE_ERROR, _E.NETWORK_EXCEPTION, _E.UNKNOWN_TOPIC_OR_PARTITION, _E.UNKNOWN_TOPIC_ID,
    _E.UNKNOWN_SERVER_ERROR,
})  # fmt: skip
"""Errors of Produce after which the batch may have been written. Only its own numbers can tell."""

_PRODUCE: Mapping[ErrorCode, ProducerOutcome] = MappingProxyType({
    # The batch was written by an earlier attempt (Sender.completeBatch).
    _E.DUPLICATE_SEQUENCE_NUMBER: _O.DONE,
    _E.MESSAGE_TOO_LARGE: _O.SPLIT,
    # Larger than a segment. Java fails the batch, although smaller ones would be accepted.
    _E.RECORD_LIST_TOO_LARGE: _O.SPLIT,
    _E.OUT_OF_ORDER_SEQUENCE_NUMBER: _O.GAP,
    _E.UNKNOWN_PRODUCER_ID: _O.GAP,
    _E.INVALID_PRODUCER_EPOCH: _O.GAP,
    _E.INVALID_RECORD: _O.REFUSE_RECORDS,
    _E.INVALID_TIMESTAMP: _O.REFUSE_RECORDS,
    _E.TOPIC_AUTHORIZATION_FAILED: _O.REFUSE_BATCH,
    _E.INVALID_TOPIC_EXCEPTION: _O.REFUSE_BATCH,
    _E.UNSUPPORTED_COMPRESSION_TYPE: _O.REFUSE_BATCH,
    _E.UNSUPPORTED_FOR_MESSAGE_FORMAT: _O.REFUSE_BATCH,
    _E.POLICY_VIOLATION: _O.REFUSE_BATCH,
    _E.CLUSTER_AUTHORIZATION_FAILED: _O.FATAL,
    _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _O.FATAL,
    _E.UNSUPPORTED_VERSION: _O.FATAL,
})  # fmt: skip

_LOSES: Mapping[ErrorCode, ProducerOutcome] = MappingProxyType({
    # Numbers begin anew with an epoch, and only InitProducerId raises that of a transactional producer.
    _E.UNKNOWN_PRODUCER_ID: _O.LOST,
    _E.INVALID_PRODUCER_EPOCH: _O.LOST,
    _E.PRODUCER_FENCED: _O.LOST,
    _E.INVALID_PRODUCER_ID_MAPPING: _O.LOST,
    _E.INVALID_TXN_STATE: _O.LOST,
    _E.TRANSACTION_ABORTABLE: _O.LOST,
    _E.TRANSACTION_COORDINATOR_FENCED: _O.LOST,
})  # fmt: skip
"""Errors of a transaction that another one does not need to have."""

_INIT_PRODUCER_ID: Mapping[ErrorCode, ProducerOutcome] = MappingProxyType({
    # Asking again does no harm, so an unexpected error of the broker is not the end. In Java it is.
    _E.UNKNOWN_SERVER_ERROR: _O.RETRY,
})  # fmt: skip

_FENCED: Mapping[ErrorCode, ProducerOutcome] = MappingProxyType({
    _E.INVALID_PRODUCER_EPOCH: _O.LOST,
    _E.PRODUCER_FENCED: _O.LOST,
    _E.TRANSACTION_ABORTABLE: _O.LOST,
})  # fmt: skip

_TABLES: Mapping[tuple[ApiKey, bool], tuple[Mapping[ErrorCode, ProducerOutcome], ProducerOutcome]] = MappingProxyType({
    (ApiKey.PRODUCE, False): (_PRODUCE, _O.REFUSE_IN_DOUBT),
    (ApiKey.PRODUCE, True): ({**_PRODUCE, **_LOSES}, _O.LOST),
    (ApiKey.INIT_PRODUCER_ID, False): (_INIT_PRODUCER_ID, _O.FATAL),
    (ApiKey.INIT_PRODUCER_ID, True): ({**_INIT_PRODUCER_ID, **_FENCED}, _O.FATAL),
})  # fmt: skip
"""For each API, without and with transactions: its errors, and the outcome of those that are in no table."""


def outcome_of(api: ApiKey, error: ErrorCode, *, is_transactional: bool) -> ProducerOutcome:
    """Return the consequence of an error.

    Args:
        api: The API whose response has it.
        error: The error.
        is_transactional: Whether the producer has transactions.
    """
    table, otherwise = _TABLES[api, is_transactional]
    if error is ErrorCode.NONE:
        return ProducerOutcome.DONE
    if error in table:
        return table[error]
    # Kafka's own table: a retriable error passes by itself (RetriableException in Java).
    return ProducerOutcome.RETRY if error_for(error).retriable else otherwise
