"""Turn confluent-kafka's errors into those of this package."""

from collections.abc import Callable, Mapping
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from kafka_groups.errors import (
    AuthenticationError,
    KafkaGroupsError,
    NameResolutionError,
    NetworkError,
    OffsetOutOfRangeError,
    OperationTimeoutError,
    TlsError,
    UnknownTopicOrPartitionError,
    error_for,
)

__all__ = ["error_in", "failure_of"]

_LOCAL: Final[Mapping[int, Callable[[str], KafkaGroupsError]]] = {
    KafkaError._ALL_BROKERS_DOWN: NetworkError,
    KafkaError._AUTHENTICATION: AuthenticationError,
    KafkaError._AUTO_OFFSET_RESET: OffsetOutOfRangeError,
    KafkaError._MSG_TIMED_OUT: OperationTimeoutError,
    KafkaError._RESOLVE: NameResolutionError,
    KafkaError._SSL: TlsError,
    KafkaError._TIMED_OUT: OperationTimeoutError,
    KafkaError._TIMED_OUT_QUEUE: OperationTimeoutError,
    KafkaError._TRANSPORT: NetworkError,
    KafkaError._UNKNOWN_PARTITION: UnknownTopicOrPartitionError,
    KafkaError._UNKNOWN_TOPIC: UnknownTopicOrPartitionError,
}
"""The classes for librdkafka's own codes; `errors.error_for` has those for Kafka's."""


def error_in(raised: KafkaException) -> KafkaError:
    """Return the error inside an exception of confluent-kafka."""
    error: KafkaError = raised.args[0]
    return error


def failure_of(error: KafkaError, what: str) -> KafkaGroupsError:
    """Return the error to raise.

    Args:
        error: What librdkafka or a broker said.
        what: The beginning of the message, which names the operation and its subject.
    """
    message = f"{what}: {error.str()}"
    if error.code() >= 0:
        return error_for(error.code(), message)
    return _LOCAL.get(error.code(), KafkaGroupsError)(message)
