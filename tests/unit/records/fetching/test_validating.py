import pytest

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import EpochEndOffset, PartitionData
from kafka_groups.records.fetching.validating import FetchOutcome, failure_of, outcome_of
from kafka_groups.types import TopicPartition

EXPECTED = {
    ErrorCode.NONE: FetchOutcome.TAKE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: FetchOutcome.FIND_LEADER,
    ErrorCode.FENCED_LEADER_EPOCH: FetchOutcome.FIND_LEADER,
    ErrorCode.REPLICA_NOT_AVAILABLE: FetchOutcome.FIND_LEADER,
    ErrorCode.KAFKA_STORAGE_ERROR: FetchOutcome.FIND_LEADER,
    ErrorCode.OFFSET_NOT_AVAILABLE: FetchOutcome.FIND_LEADER,
    ErrorCode.LEADER_NOT_AVAILABLE: FetchOutcome.FIND_LEADER,
    ErrorCode.UNKNOWN_LEADER_EPOCH: FetchOutcome.ASK_AGAIN,
    ErrorCode.UNKNOWN_SERVER_ERROR: FetchOutcome.ASK_AGAIN,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: FetchOutcome.FIND_TOPIC,
    ErrorCode.UNKNOWN_TOPIC_ID: FetchOutcome.FIND_TOPIC,
    ErrorCode.INCONSISTENT_TOPIC_ID: FetchOutcome.FIND_TOPIC,
    ErrorCode.OFFSET_OUT_OF_RANGE: FetchOutcome.OUT_OF_RANGE,
    ErrorCode.CORRUPT_MESSAGE: FetchOutcome.FAIL,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: FetchOutcome.FAIL,
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE: FetchOutcome.FAIL,
    ErrorCode.REQUEST_TIMED_OUT: FetchOutcome.FIND_TOPIC,  # retriable, and in no table of fetches
}


@pytest.mark.parametrize("code", list(ErrorCode), ids=lambda code: code.name)
def test_each_error_has_an_outcome(code: ErrorCode) -> None:
    outcome = outcome_of(PartitionData(partition_index=0, error_code=code, high_watermark=-1))
    assert outcome is EXPECTED.get(code, outcome)


def test_a_diverging_epoch_is_no_error_code() -> None:
    diverging = EpochEndOffset(epoch=0, end_offset=10)
    data = PartitionData(partition_index=0, high_watermark=10, diverging_epoch=diverging)
    assert outcome_of(data) is FetchOutcome.DIVERGED


def test_a_missing_right_names_principal_operation_and_resource() -> None:
    error = failure_of(ErrorCode.TOPIC_AUTHORIZATION_FAILED, TopicPartition("a", 0), 3, "User:ann")
    assert str(error) == (
        "User:ann needs READ on the topic a (TOPIC_AUTHORIZATION_FAILED). Grant it: kafka-groups acls add --allow "
        "User:ann --topic a --operation READ"
    )
    other = failure_of(ErrorCode.UNKNOWN_TOPIC_ID, TopicPartition("a", 0), 3, "User:ann")
    assert str(other) == "a-0 cannot be read from offset 3 on: UNKNOWN_TOPIC_ID"
