"""What answers mean: every error of Kafka, for every API, in every state of the producer."""

import itertools
from collections.abc import Mapping

import pytest

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.transactions.answers import TRANSACTION_APIS, AnswerMeaning, gravest, meaning_of
from kafka_groups.records.transactions.transaction import WriterState
from kafka_groups.types import TopicPartition

_M, _S = AnswerMeaning, WriterState

INIT, PARTITIONS, OFFSETS = ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN
STORE, END = ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN

WAITING: Mapping[ApiKey, set[WriterState]] = {
    INIT: {_S.PREPARING},
    PARTITIONS: {_S.OPEN, _S.COMMITTING},
    OFFSETS: {_S.OPEN, _S.COMMITTING},
    STORE: {_S.OPEN, _S.COMMITTING},
    END: {_S.COMMITTING, _S.ABORTING},
}
FINDS = "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE REQUEST_TIMED_OUT"
ENDS = (
    "UNSUPPORTED_VERSION TRANSACTIONAL_ID_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED"
)
REPEATS = """
    COORDINATOR_LOAD_IN_PROGRESS CORRUPT_MESSAGE UNKNOWN_TOPIC_OR_PARTITION LEADER_NOT_AVAILABLE NOT_LEADER_OR_FOLLOWER
    REPLICA_NOT_AVAILABLE NETWORK_EXCEPTION NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_CONTROLLER
    KAFKA_STORAGE_ERROR FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH LISTENER_NOT_FOUND FENCED_LEADER_EPOCH
    UNKNOWN_LEADER_EPOCH OFFSET_NOT_AVAILABLE PREFERRED_LEADER_NOT_AVAILABLE ELIGIBLE_LEADERS_NOT_AVAILABLE
    ELECTION_NOT_NEEDED UNSTABLE_OFFSET_COMMIT THROTTLING_QUOTA_EXCEEDED UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID
    FETCH_SESSION_TOPIC_ID_ERROR SHARE_SESSION_NOT_FOUND INVALID_SHARE_SESSION_EPOCH SHARE_SESSION_LIMIT_REACHED
"""
EVERYWHERE = {
    "NONE": _M.DONE,
    "CONCURRENT_TRANSACTIONS": _M.WAIT_FOR_MARKERS,
    **dict.fromkeys(FINDS.split(), _M.FIND),
    **dict.fromkeys(ENDS.split(), _M.FINAL),
    **dict.fromkeys(REPEATS.split(), _M.REPEAT),
}
"""Errors that mean the same for each API, by name. All others lose the transaction, or end a producer that begins."""
INIT_LOSES = "INVALID_PRODUCER_EPOCH PRODUCER_FENCED TRANSACTION_ABORTABLE"
ELSEWHERE = {
    **{(INIT, name): _M.LOST for name in INIT_LOSES.split()},
    (INIT, "UNKNOWN_SERVER_ERROR"): _M.REPEAT,
    (PARTITIONS, "OPERATION_NOT_ATTEMPTED"): _M.REPEAT,
    (STORE, "TOPIC_AUTHORIZATION_FAILED"): _M.FINAL,
    # The topic was deleted: the one that has its name next must not get the offset.
    **{(STORE, name): _M.LOST for name in ("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID")},
}
CODES = [*ErrorCode, ErrorCode(9_999)]


@pytest.mark.parametrize(("api", "state"), list(itertools.product(TRANSACTION_APIS, WriterState)))
def test_every_error(api: ApiKey, state: WriterState) -> None:
    for code in CODES:
        others = _M.FINAL if api is INIT else _M.LOST
        usual = ELSEWHERE.get((api, code.name), EVERYWHERE.get(code.name, others))
        if state not in WAITING[api]:
            usual = _M.LATE
        elif state is _S.ABORTING and usual is _M.LOST:
            usual = _M.DONE
        assert meaning_of(api, code, state) is usual, code.name


@pytest.mark.parametrize(
    ("api", "code"),
    [
        *((api, name) for api in TRANSACTION_APIS for name in ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")),
        *((STORE, name) for name in ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH")),
        (STORE, "FENCED_INSTANCE_ID"),
        (END, "INVALID_TXN_STATE"),
        (END, "INVALID_PRODUCER_ID_MAPPING"),
        (END, "UNKNOWN_PRODUCER_ID"),
        (PARTITIONS, "TOPIC_AUTHORIZATION_FAILED"),
        (PARTITIONS, "TRANSACTION_ABORTABLE"),
    ],
)
def test_what_a_new_producer_id_overcomes(api: ApiKey, code: str) -> None:
    state = min(WAITING[api] - {_S.ABORTING})
    assert meaning_of(api, ErrorCode[code], state) is _M.LOST


def test_of_several_errors_the_gravest_decides() -> None:
    codes = {
        TopicPartition("a", 0): ErrorCode.NONE,
        TopicPartition("a", 1): ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        TopicPartition("b", 0): ErrorCode.OPERATION_NOT_ATTEMPTED,
    }
    found = gravest(PARTITIONS, codes, _S.OPEN)
    assert (found.meaning, found.code.name, found.partition) == (
        _M.LOST,
        "TOPIC_AUTHORIZATION_FAILED",
        TopicPartition("a", 1),
    )


def test_an_answer_about_no_partition_is_asked_for_again() -> None:
    assert gravest(STORE, {}, _S.OPEN).meaning is _M.REPEAT
