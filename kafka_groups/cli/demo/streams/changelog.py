"""Reads changelogs of tasks with confluent-kafka's consumer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from kafka_groups.cli.demo.streams.counts import TaskCounts

__all__ = ["reader", "restored", "take_in"]

_MOST_MESSAGES: Final = 10_000
_WAIT_SECONDS: Final = 0.2
_TIMEOUT_SECONDS: Final = 30.0


@contextmanager
def reader(bootstrap_servers: str, group_id: str) -> Iterator[Consumer]:
    """A consumer that is given its partitions. Its group is not used."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "client.id": "kafka-groups-demo",
            "group.id": group_id,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "allow.auto.create.topics": False,
            "log_level": 2,
        }
    )
    try:
        yield consumer
    finally:
        consumer.close()


def restored(consumer: Consumer, changelog: str, partition: int) -> TaskCounts:
    """Read the changelog of a task to its end.

    Raises:
        KafkaException: The brokers refused it, or do not answer.
        BadChangelogError: A record is not one of the demo's.
    """
    counts = TaskCounts()
    place = TopicPartition(changelog, partition, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=_TIMEOUT_SECONDS)
    if end > 0:
        consumer.assign([place])
        while counts.changelog_offset < end:
            take_in(consumer, lambda _partition: counts)
        consumer.unassign()
    return counts


def take_in(consumer: Consumer, counts_of: Callable[[int], TaskCounts]) -> None:
    """Take in what a changelog has for now.

    Raises:
        KafkaException: A partition cannot be read.
    """
    for message in consumer.consume(_MOST_MESSAGES, _WAIT_SECONDS):
        counts_of(message.partition() or 0).restore(
            _text(message.key()), _text(_valid(message).value()), message.offset() or 0
        )


def _valid(message: Message) -> Message:
    error = message.error()
    if error is not None:
        raise KafkaException(error)
    return message


def _text(data: str | bytes | None) -> str:
    return data.decode() if isinstance(data, bytes) else data or ""
