"""Ordinary confluent-kafka consumers that share the partitions of one topic."""

from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from kafka_groups.net.clock import SystemClock

__all__ = ["PARTITIONS", "PATIENCE_S", "TOPIC", "Reader", "poll_until", "share_all"]

TOPIC, PARTITIONS = "t", 4
PATIENCE_S = 30.0
PROPERTIES: dict[str, Any] = {
    "group.id": "g",
    "auto.offset.reset": "earliest",
    "session.timeout.ms": 6_000,
    "heartbeat.interval.ms": 200,
    "enable.auto.commit": False,
}


class Reader:
    """A confluent-kafka consumer, and what it was told of its partitions.

    Args:
        bootstrap_servers: Addresses of the brokers.
        topic: What it reads.
        **properties: Its configuration, with underscores for dots. None removes what all readers have.

    Attributes:
        assignments: The partitions of each assignment.
        values: The values of the records that it has read.
        fatal: The error that ended it.
    """

    def __init__(self, bootstrap_servers: str, topic: str = TOPIC, **properties: Any) -> None:
        self.assignments: list[frozenset[int]] = []
        self.values: list[bytes | None] = []
        self.fatal: KafkaError | None = None
        keys = {key.replace("_", "."): value for key, value in properties.items()}
        given = {"bootstrap.servers": bootstrap_servers, **PROPERTIES, **keys}
        self.consumer = Consumer({key: value for key, value in given.items() if value is not None})
        self.consumer.subscribe([topic], on_assign=self._assigned)

    def _assigned(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.assignments.append(frozenset(each.partition for each in partitions))

    def close(self) -> None:
        """Commit and close the consumer. A dynamic member leaves the group, a static one does not."""
        self.consumer.close()

    @property
    def partitions(self) -> frozenset[int]:
        """What it is assigned."""
        return frozenset(each.partition for each in self.consumer.assignment())

    def poll(self) -> None:
        """Take one record, or an error that ends the consumer."""
        message = self.consumer.poll(0.05)
        if message is None:
            return
        error = message.error()
        if error is None:
            self.values.append(message.value())
        elif error.code() == KafkaError._FATAL:
            self.fatal = error


def poll_until(expected: Callable[[], bool], *readers: Reader) -> None:
    """Let all of them poll by turns until something is the case."""
    clock = SystemClock()
    deadline_ms = clock.now_ms() + PATIENCE_S * 1000
    while not expected():
        assert clock.now_ms() < deadline_ms, [(reader.partitions, reader.values) for reader in readers]
        for reader in readers:
            reader.poll()


def share_all(*readers: Reader) -> bool:
    """Whether each partition belongs to one of them, and each has some."""
    owned = [reader.partitions for reader in readers]
    return (
        all(owned) and sum(map(len, owned)) == PARTITIONS and frozenset().union(*owned) == frozenset(range(PARTITIONS))
    )
