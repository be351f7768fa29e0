"""Prepares the demo's topics and group, and produces its records with confluent-kafka."""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import frozen
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from kafka_groups.errors import KafkaGroupsError, error_for

__all__ = ["Outgoing", "PublishError", "Publisher", "create_topics", "delete_topics", "start_at_earliest"]

_CONNECT_SECONDS = 10.0
_TIMEOUT_SECONDS = 30.0
_BROKER_DEFAULT = -1
_ALREADY_THERE = frozenset({KafkaError.TOPIC_ALREADY_EXISTS})


class PublishError(KafkaGroupsError):
    """Records could not be produced."""


@frozen
class Outgoing:
    """A record to produce."""

    topic: str
    key: str
    value: str


def create_topics(bootstrap_servers: str, partitions: Mapping[str, int]) -> None:
    """Create topics with the broker's default replication factor.

    Args:
        bootstrap_servers: Addresses of the brokers.
        partitions: The number of partitions of each topic, by name.

    Raises:
        KafkaException: The broker refused the request.
    """
    new = [NewTopic(topic, num_partitions=n, replication_factor=_BROKER_DEFAULT) for topic, n in partitions.items()]
    admin = _admin(bootstrap_servers)  # it must live until the responses have arrived
    admin.list_topics(timeout=_CONNECT_SECONDS)  # fails sooner than the call below if no broker responds
    # An attempt whose response was lost may have created the topics. Nobody else uses their names.
    _insist(lambda: admin.create_topics(new, operation_timeout=_TIMEOUT_SECONDS), done=_ALREADY_THERE)


def delete_topics(bootstrap_servers: str, topics: Iterable[str]) -> None:
    """Delete topics.

    Raises:
        KafkaException: The broker refused the request.
    """
    admin = _admin(bootstrap_servers)  # it must live until the responses have arrived
    _wait_for(admin.delete_topics(list(topics), operation_timeout=_TIMEOUT_SECONDS))


def start_at_earliest(bootstrap_servers: str, group_id: str) -> None:
    """Make the share group start at the earliest record. By default, it starts at the end of the log.

    Raises:
        KafkaException: The broker refused the request.
    """
    entry = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.GROUP, group_id, incremental_configs=[entry])
    admin = _admin(bootstrap_servers)  # it must live until the responses have arrived
    _insist(lambda: admin.incremental_alter_configs([resource]))


class Publisher:
    """Produces records and counts how many the broker has confirmed.

    `run` blocks, so call it on its own thread. You can use the other members from any thread.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self._stop = threading.Event()
        self._confirmed = 0
        self._refused: str | None = None
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "client.id": "kafka-groups-demo",
                "log_level": 2,
                "enable.idempotence": True,
                "linger.ms": 20,
            }
        )

    def __repr__(self) -> str:
        return f"<Publisher: {self._confirmed} confirmed>"

    @property
    def confirmed(self) -> int:
        """The number of records that the broker has confirmed."""
        return self._confirmed

    def stop(self) -> None:
        """End `run` early and drop records that have not been sent."""
        self._stop.set()

    def run(self, records: Iterable[Outgoing]) -> int:
        """Produce the records and wait until the broker has confirmed them.

        Returns:
            How many records were confirmed, including those of earlier calls.

        Raises:
            PublishError: A record was refused, or not confirmed in time.
        """
        for record in records:
            if self._stop.is_set() or self._refused is not None:
                break
            self._send(record)
        if self._stop.is_set():
            self._producer.purge()
        left = self._producer.flush(_TIMEOUT_SECONDS)
        if not self._stop.is_set() and (left or self._refused is not None):
            raise PublishError(self._refused or f"{left} records were not confirmed within {_TIMEOUT_SECONDS:.0f} s.")
        return self._confirmed

    def _send(self, record: Outgoing) -> None:
        while not self._stop.is_set():
            try:
                self._producer.produce(record.topic, record.value, record.key, on_delivery=self._delivered)
            except BufferError:
                self._producer.poll(0.1)
            else:
                self._producer.poll(0)
                return

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self._confirmed += 1
        elif not self._stop.is_set():
            self._refused = f"The broker refused a record: {error}"


def _admin(bootstrap_servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap_servers, "client.id": "kafka-groups-demo", "log_level": 2})


def _insist(operation: Callable[[], dict[Any, Any]], *, done: frozenset[int] = frozenset()) -> None:
    """Retry an administrative operation until it succeeds: a cluster that has just started may return errors."""
    for attempt in Retrying(
        stop=stop_after_delay(_TIMEOUT_SECONDS),
        wait=wait_random_exponential(multiplier=0.1, max=2.0),
        retry=retry_if_exception(_is_retriable),
        reraise=True,
    ):
        with attempt:
            _wait_for(operation(), done if attempt.retry_state.attempt_number > 1 else frozenset())


def _is_retriable(error: BaseException) -> bool:
    # librdkafka sets its own flag for transactions only.
    return isinstance(error, KafkaException) and error_for(error.args[0].code()).retriable


def _wait_for(futures: dict[Any, Any], done: frozenset[int] = frozenset()) -> None:
    for future in futures.values():
        try:
            future.result(timeout=_TIMEOUT_SECONDS)
        except KafkaException as error:
            if error.args[0].code() not in done:
                raise
