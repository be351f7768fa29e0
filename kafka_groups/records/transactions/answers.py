"""The meaning of coordinators' answers for a transaction, as one table of APIs, errors and states.

Kafka has these decisions in the handlers of `TransactionManager`. Where it ends a producer, a new InitProducerId is
enough here (see `transaction.py`), so most of its fatal errors only lose the transaction.
"""

import enum
from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

from kafka_groups.errors import error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.producing.outcomes import ProducerOutcome, outcome_of
from kafka_groups.records.transactions.transaction import WriterState
from kafka_groups.types import TopicPartition

__all__ = ["TRANSACTION_APIS", "AnswerMeaning", "Answered", "gravest", "meaning_of"]


class AnswerMeaning(enum.IntEnum):
    """The meaning of an answer, in the order of gravity: of several, the last one counts."""

    DONE = 0
    """The coordinator did as it was asked."""
    REPEAT = 1
    """Ask the same broker again after the back-off."""
    WAIT_FOR_MARKERS = 2
    """The transaction before gets its markers. Ask again soon: that takes some milliseconds."""
    FIND = 3
    """Another broker may be the coordinator. Find it, and ask again."""
    LOST = 4
    """The transaction is lost."""
    FINAL = 5
    """No new producer id helps."""
    LATE = 6
    """The answer is about something that has ended, so it means nothing."""


_C, _M, _S = ErrorCode, AnswerMeaning, WriterState

_OF_COORDINATORS: Mapping[ErrorCode, AnswerMeaning] = MappingProxyType({
    _C.NONE: _M.DONE,
    _C.CONCURRENT_TRANSACTIONS: _M.WAIT_FOR_MARKERS,
    _C.NOT_COORDINATOR: _M.FIND,
    _C.COORDINATOR_NOT_AVAILABLE: _M.FIND,
    # TxnOffsetCommitHandler in Kafka looks the coordinator up again after this one, too.
    _C.REQUEST_TIMED_OUT: _M.FIND,
    _C.UNSUPPORTED_VERSION: _M.FINAL,
    _C.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _M.FINAL,
    _C.CLUSTER_AUTHORIZATION_FAILED: _M.FINAL,
    _C.GROUP_AUTHORIZATION_FAILED: _M.FINAL,
})  # fmt: skip

_OF_APIS: Mapping[ApiKey, Mapping[ErrorCode, AnswerMeaning]] = MappingProxyType({
    # `outcome_of` decides about all errors that are not in the table above.
    ApiKey.INIT_PRODUCER_ID: {},
    ApiKey.ADD_PARTITIONS_TO_TXN: {
        # Another partition of the request has failed, and that one decides.
        _C.OPERATION_NOT_ATTEMPTED: _M.REPEAT,
    },
    ApiKey.ADD_OFFSETS_TO_TXN: {},
    # A worker reads its sources, so without the right to do that it cannot continue. A sink's topic may be chosen for
    # each record: AddPartitionsToTxn loses the transaction only.
    ApiKey.TXN_OFFSET_COMMIT: {
        _C.TOPIC_AUTHORIZATION_FAILED: _M.FINAL,
        # Java repeats these two, so the topic that has the name next may get the offset. The group's coordinator knew
        # the topic when it assigned it: it was deleted, and the offset must not be sent again.
        _C.UNKNOWN_TOPIC_OR_PARTITION: _M.LOST,
        _C.UNKNOWN_TOPIC_ID: _M.LOST,
    },
    ApiKey.END_TXN: {},
})  # fmt: skip

_OF_OUTCOMES: Mapping[ProducerOutcome, AnswerMeaning] = MappingProxyType({
    ProducerOutcome.DONE: _M.DONE,
    ProducerOutcome.RETRY: _M.REPEAT,
    ProducerOutcome.LOST: _M.LOST,
    ProducerOutcome.FATAL: _M.FINAL,
})  # fmt: skip
"""The outcomes of InitProducerId, about which producers without transactions decide in the same way."""

TRANSACTION_APIS: tuple[ApiKey, ...] = tuple(_OF_APIS)
"""The APIs whose answers this module decides about."""

_WAITED_FOR: Mapping[ApiKey, frozenset[WriterState]] = MappingProxyType({
    ApiKey.INIT_PRODUCER_ID: frozenset({_S.PREPARING}),
    ApiKey.ADD_PARTITIONS_TO_TXN: frozenset({_S.OPEN, _S.COMMITTING}),
    ApiKey.ADD_OFFSETS_TO_TXN: frozenset({_S.OPEN, _S.COMMITTING}),
    ApiKey.TXN_OFFSET_COMMIT: frozenset({_S.OPEN, _S.COMMITTING}),
    ApiKey.END_TXN: frozenset({_S.COMMITTING, _S.ABORTING}),
})  # fmt: skip
"""The states that need the answer."""


def meaning_of(api: ApiKey, code: ErrorCode, state: WriterState) -> AnswerMeaning:
    """Return what an error of an API means for a producer in a state."""
    if state not in _WAITED_FOR[api]:
        return _M.LATE
    decided = {**_OF_COORDINATORS, **_OF_APIS[api]}
    meaning = decided[code] if code in decided else _otherwise(api, code)
    # A transaction that cannot be aborted is not there: it has ended, or belongs to a newer producer.
    return _M.DONE if state is _S.ABORTING and meaning is _M.LOST else meaning


def _otherwise(api: ApiKey, code: ErrorCode) -> AnswerMeaning:
    if api is ApiKey.INIT_PRODUCER_ID:
        return _OF_OUTCOMES[outcome_of(api, code, is_transactional=True)]
    return _M.REPEAT if error_for(code).retriable else _M.LOST


@frozen
class Answered:
    """The part of an answer that decides.

    Attributes:
        meaning: What it means.
        code: The error.
        partition: The partition that it is about, or None.
    """

    meaning: AnswerMeaning
    code: ErrorCode
    partition: TopicPartition | None = None


def gravest(api: ApiKey, codes: Mapping[TopicPartition, ErrorCode], state: WriterState) -> Answered:
    """Return the part that decides of an answer with an error for each partition. Without any, it is asked again."""
    answers = [Answered(meaning_of(api, code, state), code, each) for each, code in codes.items()]
    return max(answers, default=Answered(_M.REPEAT, _C.UNKNOWN_SERVER_ERROR), key=lambda each: each.meaning)
