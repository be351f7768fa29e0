"""Reads topics of the demo, and writes changelogs, with confluent-kafka."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, Producer

__all__ = ["keyed", "messages", "reader", "writer"]

_INIT_SECONDS: Final = 30.0
_TRANSACTION_TIMEOUT_MS: Final = 10_000
"""For so long the next owner of a task waits for the transaction of a process that was killed."""


@contextmanager
def reader(bootstrap_servers: str, group_id: str) -> Iterator[Consumer]:
    """A consumer that is given its partitions. Its group is not used."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "client.id": "kafka-groups-demo",
            "group.id": group_id,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed",
            "allow.auto.create.topics": False,
            "log_level": 2,
        }
    )
    try:
        yield consumer
    finally:
        consumer.close()


def writer(bootstrap_servers: str, transactional_id: str | None) -> Producer:
    """Return a producer. With a transactional id, it aborts what the last one with this id has left.

    Raises:
        KafkaException: The brokers refused it, or do not answer.
    """
    config: dict[str, str | int | bool] = {
        "bootstrap.servers": bootstrap_servers,
        "client.id": "kafka-groups-demo",
        "enable.idempotence": True,
        "linger.ms": 5,
        "log_level": 2,
    }
    if transactional_id is None:
        return Producer(config)
    config |= {"transactional.id": transactional_id, "transaction.timeout.ms": _TRANSACTION_TIMEOUT_MS}
    producer = Producer(config)
    producer.init_transactions(_INIT_SECONDS)
    return producer


def messages(consumer: Consumer, most: int, timeout_s: float) -> Iterator[Message]:
    """Return what the consumer has for now.

    Raises:
        KafkaException: A partition cannot be read.
    """
    for message in consumer.consume(most, timeout_s):
        error = message.error()
        if error is not None:
            raise KafkaException(error)
        yield message


def keyed(message: Message) -> tuple[str, str, int]:
    """Return key, value and offset of a record."""
    return _text(message.key()), _text(message.value()), message.offset() or 0


def _text(data: str | bytes | None) -> str:
    return data.decode() if isinstance(data, bytes) else data or ""
