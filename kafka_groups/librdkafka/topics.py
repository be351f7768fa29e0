"""Create and delete topics, for programs that bring their own."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from kafka_groups.errors import (
    KafkaGroupsError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
    is_retriable,
)
from kafka_groups.librdkafka.client_log import process_log
from kafka_groups.librdkafka.configuration import client_config
from kafka_groups.librdkafka.failures import error_in, failure_of

__all__ = ["create_topics", "delete_topics"]

_CONNECT_SECONDS: Final = 10.0
_TIMEOUT_SECONDS: Final = 30.0
_BROKER_DEFAULT: Final = -1
_NO_CONFIGS: Final[Mapping[str, str]] = MappingProxyType({})

_Attempt = Callable[[], dict[str, Any]]


def create_topics(
    config: Mapping[str, object], partitions: Mapping[str, int], topic_configs: Mapping[str, str] = _NO_CONFIGS
) -> None:
    """Create topics with the broker's default replication factor. Blocks until they exist.

    A cluster that has just started may return errors, so attempts that fail with a retriable one are repeated.

    Args:
        config: Keys as for `client_config`.
        partitions: The number of partitions of each topic, by name.
        topic_configs: The configuration of all of them.

    Raises:
        TopicAlreadyExistsError: There is such a topic.
        KafkaGroupsError: No broker can be reached, or the request was refused.
    """
    new = [
        NewTopic(topic, num_partitions=n, replication_factor=_BROKER_DEFAULT, config=dict(topic_configs))
        for topic, n in partitions.items()
    ]
    with _admin(config) as admin:
        try:
            admin.list_topics(timeout=_CONNECT_SECONDS)  # fails sooner than the call below if no broker responds
        except KafkaException as error:
            raise failure_of(error_in(error), "The brokers do not answer") from error
        _insist(lambda: admin.create_topics(new, operation_timeout=_TIMEOUT_SECONDS), done=TopicAlreadyExistsError)


def delete_topics(config: Mapping[str, object], topics: Iterable[str]) -> None:
    """Delete topics. Blocks until they are gone.

    Args:
        config: Keys as for `client_config`.
        topics: Their names.

    Raises:
        KafkaGroupsError: No broker can be reached, or the request was refused.
    """
    with _admin(config) as admin:
        _insist(
            lambda: admin.delete_topics(list(topics), operation_timeout=_TIMEOUT_SECONDS),
            done=UnknownTopicOrPartitionError,
        )


@contextmanager
def _admin(config: Mapping[str, object]) -> Iterator[AdminClient]:
    """Yield a client, which must live until its responses have arrived, and let it log at the end."""
    settings: dict[str, Any] = {**client_config(config), "logger": process_log()}
    admin = AdminClient(settings)
    try:
        yield admin
    finally:
        admin.poll(0)


def _insist(attempt_to: _Attempt, done: type[KafkaGroupsError]) -> None:
    """Create or delete topics, again and again if that may help.

    Args:
        attempt_to: Begins an attempt.
        done: The error of a topic for which nothing is left to do. An attempt whose response was lost may have done it,
            so it is one in the first attempt only.
    """
    for attempt in Retrying(
        stop=stop_after_delay(_TIMEOUT_SECONDS),
        wait=wait_random_exponential(multiplier=0.1, max=2.0),
        retry=retry_if_exception(lambda error: is_retriable(error) and not isinstance(error, done)),
        reraise=True,
    ):
        with attempt:
            _wait_for(attempt_to, None if attempt.retry_state.attempt_number == 1 else done)


def _wait_for(attempt_to: _Attempt, done: type[KafkaGroupsError] | None) -> None:
    for topic, future in attempt_to().items():
        try:
            future.result(timeout=_TIMEOUT_SECONDS)
        except KafkaException as error:
            failure = failure_of(error_in(error), topic)
            if done is None or not isinstance(failure, done):
                raise failure from error
