"""The table of errors: each code of the protocol has the outcome that the rules name."""

import pytest

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.records.producing.outcomes import (
    IN_DOUBT,
    MISSING_TOPIC,
    NEW_LEADER,
    ProducerOutcome,
    outcome_of,
)

DONE, RETRY, SPLIT, GAP = (
    ProducerOutcome.DONE, ProducerOutcome.RETRY, ProducerOutcome.SPLIT, ProducerOutcome.GAP,
)  # fmt: skip
REFUSE_RECORDS, REFUSE_BATCH, REFUSE_IN_DOUBT = (
    ProducerOutcome.REFUSE_RECORDS, ProducerOutcome.REFUSE_BATCH, ProducerOutcome.REFUSE_IN_DOUBT,
)  # fmt: skip
LOST, FATAL = ProducerOutcome.LOST, ProducerOutcome.FATAL

PASSES = """
    CORRUPT_MESSAGE UNKNOWN_TOPIC_OR_PARTITION LEADER_NOT_AVAILABLE NOT_LEADER_OR_FOLLOWER REQUEST_TIMED_OUT
    REPLICA_NOT_AVAILABLE NETWORK_EXCEPTION COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR
    NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_CONTROLLER CONCURRENT_TRANSACTIONS KAFKA_STORAGE_ERROR
    FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH LISTENER_NOT_FOUND FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH
    OFFSET_NOT_AVAILABLE PREFERRED_LEADER_NOT_AVAILABLE ELIGIBLE_LEADERS_NOT_AVAILABLE ELECTION_NOT_NEEDED
    UNSTABLE_OFFSET_COMMIT THROTTLING_QUOTA_EXCEEDED UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID
    FETCH_SESSION_TOPIC_ID_ERROR SHARE_SESSION_NOT_FOUND INVALID_SHARE_SESSION_EPOCH SHARE_SESSION_LIMIT_REACHED
"""
"""The errors that Kafka calls retriable."""

EXPECTED = {
    (ApiKey.PRODUCE, False): (REFUSE_IN_DOUBT, {
        DONE: "NONE DUPLICATE_SEQUENCE_NUMBER",
        RETRY: PASSES,
        SPLIT: "MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE",
        GAP: "OUT_OF_ORDER_SEQUENCE_NUMBER UNKNOWN_PRODUCER_ID INVALID_PRODUCER_EPOCH",
        REFUSE_RECORDS: "INVALID_RECORD INVALID_TIMESTAMP",
        REFUSE_BATCH: "TOPIC_AUTHORIZATION_FAILED INVALID_TOPIC_EXCEPTION UNSUPPORTED_COMPRESSION_TYPE"
        " UNSUPPORTED_FOR_MESSAGE_FORMAT POLICY_VIOLATION",
        FATAL: "CLUSTER_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED UNSUPPORTED_VERSION",
    }),
    (ApiKey.PRODUCE, True): (LOST, {
        DONE: "NONE DUPLICATE_SEQUENCE_NUMBER",
        RETRY: PASSES,
        SPLIT: "MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE",
        GAP: "OUT_OF_ORDER_SEQUENCE_NUMBER",
        REFUSE_RECORDS: "INVALID_RECORD INVALID_TIMESTAMP",
        REFUSE_BATCH: "TOPIC_AUTHORIZATION_FAILED INVALID_TOPIC_EXCEPTION UNSUPPORTED_COMPRESSION_TYPE"
        " UNSUPPORTED_FOR_MESSAGE_FORMAT POLICY_VIOLATION",
        FATAL: "CLUSTER_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED UNSUPPORTED_VERSION",
    }),
    (ApiKey.INIT_PRODUCER_ID, False): (FATAL, {
        DONE: "NONE",
        RETRY: f"{PASSES} UNKNOWN_SERVER_ERROR",
    }),
    (ApiKey.INIT_PRODUCER_ID, True): (FATAL, {
        DONE: "NONE",
        RETRY: f"{PASSES} UNKNOWN_SERVER_ERROR",
        LOST: "INVALID_PRODUCER_EPOCH PRODUCER_FENCED TRANSACTION_ABORTABLE",
    }),
}  # fmt: skip


@pytest.mark.parametrize(("api", "is_transactional"), EXPECTED)
def test_each_code_has_its_outcome(api: ApiKey, is_transactional: bool) -> None:
    otherwise, named = EXPECTED[api, is_transactional]
    expected = dict.fromkeys(ErrorCode, otherwise)
    for outcome, names in named.items():
        expected |= dict.fromkeys(map(ErrorCode.__getitem__, names.split()), outcome)
    found = {code: outcome_of(api, code, is_transactional=is_transactional) for code in ErrorCode}
    differing = {code.name: (found[code], expected[code]) for code in ErrorCode if found[code] is not expected[code]}
    assert differing == {}


def test_a_code_of_a_newer_broker_leaves_open_whether_the_batch_was_written() -> None:
    assert outcome_of(ApiKey.PRODUCE, ErrorCode(4_711), is_transactional=False) is REFUSE_IN_DOUBT
    assert outcome_of(ApiKey.PRODUCE, ErrorCode(4_711), is_transactional=True) is LOST


def test_errors_in_doubt_and_of_topics_are_retried() -> None:
    for code in (IN_DOUBT | MISSING_TOPIC | NEW_LEADER) - {ErrorCode.UNKNOWN_SERVER_ERROR}:
        assert outcome_of(ApiKey.PRODUCE, code, is_transactional=False) is RETRY


def test_errors_before_an_append_are_not_in_doubt() -> None:
    """Otherwise a batch that was never written keeps its numbers, and the ones after it wait for nothing."""
    assert not IN_DOUBT & {
        ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.LEADER_NOT_AVAILABLE,
    }  # fmt: skip
