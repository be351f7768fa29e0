"""Each error of confluent-kafka becomes one of ours, with what failed and what was said."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_groups.errors import (
    AuthenticationError,
    KafkaGroupsError,
    NetworkError,
    OffsetOutOfRangeError,
    OperationTimeoutError,
    ProducerFencedError,
    TopicAuthorizationFailedError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.librdkafka.failures import LOCAL, error_in, failure_of, fetch_failure


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, TopicAuthorizationFailedError),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, UnknownTopicOrPartitionError),
        (KafkaError._UNKNOWN_PARTITION, UnknownTopicOrPartitionError),
        (KafkaError._AUTO_OFFSET_RESET, OffsetOutOfRangeError),
        (KafkaError._TIMED_OUT, OperationTimeoutError),
        (KafkaError._ALL_BROKERS_DOWN, NetworkError),
        (KafkaError._AUTHENTICATION, AuthenticationError),
        (KafkaError._FENCED, ProducerFencedError),
        (KafkaError._LOG_TRUNCATION, OffsetOutOfRangeError),
        (KafkaError.UNKNOWN, UnknownServerError),
        (KafkaError._BAD_MSG, KafkaGroupsError),
    ],
)
def test_codes_of_brokers_and_of_librdkafka_have_classes(code: int, expected: type[KafkaGroupsError]) -> None:
    failure = failure_of(KafkaError(code, "said so"), "t-0 cannot be read")
    assert type(failure) is expected
    assert str(failure) == "t-0 cannot be read: said so"


def test_an_exception_contains_its_error() -> None:
    error = KafkaError(KafkaError._TIMED_OUT)
    assert error_in(KafkaException(error)) is error


def test_each_local_code_of_librdkafka_has_a_decision_with_a_reason() -> None:
    codes = {code for name in dir(KafkaError) if isinstance(code := getattr(KafkaError, name), int) and code < 0}
    assert codes == LOCAL.keys()
    assert all(decision.reason for decision in LOCAL.values())


@pytest.mark.parametrize(
    ("name", "passes"),
    [
        ("_DESTROY_BROKER", True),
        ("_IN_PROGRESS", True),
        ("_INTR", True),
        ("_OUTDATED", True),
        ("_RETRY", True),
        ("_WAIT_CACHE", True),
        ("_WAIT_COORD", True),
        ("_NOENT", True),
        ("_PARTIAL", True),
        ("_FAIL", True),
        ("_UNDERFLOW", False),
        ("_BAD_MSG", False),
        ("_LOG_TRUNCATION", False),
        ("UNKNOWN", False),
        ("_FENCED", False),
        ("_FATAL", False),
        ("_INVALID_ARG", False),
    ],
)
def test_passing_faults_may_be_tried_again(name: str, passes: bool) -> None:
    assert failure_of(KafkaError(getattr(KafkaError, name)), "it failed").retriable is passes


def test_a_local_code_without_a_decision_may_be_tried_again() -> None:
    assert failure_of(KafkaError(-120), "it failed").retriable


def test_a_broker_that_fails_without_a_reason_may_answer_the_next_fetch() -> None:
    assert fetch_failure(KafkaError(KafkaError.UNKNOWN), "t-0 cannot be read").retriable
    assert not fetch_failure(KafkaError(KafkaError._BAD_MSG), "t-0 cannot be read").retriable
