"""Each error of confluent-kafka becomes one of ours, with what failed and what was said."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafka_groups.data_plane.failures import error_in, failure_of
from kafka_groups.errors import (
    AuthenticationError,
    KafkaGroupsError,
    NetworkError,
    OffsetOutOfRangeError,
    OperationTimeoutError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)


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
