"""Copies of the records that a task or a drain gives up, or may not lose, in a dead-letter topic."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from kafka_groups.librdkafka.durable_producer import DurableProducer
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.rules.dead_letter_headers import CopiedRecords, dead_letter_headers, record_id
from kafka_groups.spark.missing_rights import naming_rights_to_write
from kafka_groups.types import Header

__all__ = ["DeadLetterProducer", "DeadLetters", "dead_letter_producer", "write_copies"]

_FLUSH_SECONDS = 30.0
_NO_LIMIT_HERE = {"message.max.bytes": 1_000_000_000}
"""The topic's `max.message.bytes` decides how large a copy may be, and not the producer's default of 1,000,000."""


class DeadLetterProducer(Protocol):
    """Producer for copies of rejected records. `DurableProducer` implements this."""

    def produce(self, topic: str, *, key: bytes | None, value: bytes | None, headers: list[Header]) -> None:
        """Queue a record."""
        ...

    def flush(self, timeout_s: float) -> None:
        """Wait until all records are written.

        Raises:
            DeliveryFailedError: Some were not confirmed.
        """
        ...


def dead_letter_producer(config: Mapping[str, object]) -> DeadLetterProducer:
    """Return a producer for copies, given the keys of a share consumer of the same cluster."""
    return DurableProducer({**_NO_LIMIT_HERE, **config})


def write_copies(
    producer: DeadLetterProducer, topic: str, copies: Iterable[tuple[AnyRecord, Iterable[Header]]]
) -> None:
    """Write records to a topic, each with more headers; blocks until they are durable.

    Raises:
        DeliveryFailedError: Some were not confirmed.
    """
    for record, headers in copies:
        producer.produce(topic, key=record.raw_key, value=record.raw_value, headers=[*record.headers, *headers])
    producer.flush(_FLUSH_SECONDS)


class DeadLetters:
    """Writes copies of records to a dead-letter topic, with headers that say where they came from.

    Each process copies a record once. Other processes may copy it again, with the same headers.

    Args:
        topic: The dead-letter topic.
        group_id: The share group.
        config: Keys of the share consumer, for a producer to the same cluster.
        producer: Another place to write to, for tests.
    """

    def __init__(
        self, topic: str, group_id: str, config: Mapping[str, object], producer: DeadLetterProducer | None = None
    ) -> None:
        self._topic = topic
        self._group_id = group_id
        self._config = config
        self._producer: DeadLetterProducer = producer or dead_letter_producer(config)
        self._copied = CopiedRecords()

    def __repr__(self) -> str:
        return f"<DeadLetters to {self._topic}>"

    def copy(self, records: Iterable[AnyRecord], reason: str) -> int:
        """Write the records that this process has not copied before; blocks until they are durable.

        Args:
            records: The records.
            reason: The reason for the copy, written as a header.

        Returns:
            The number of copies written.

        Raises:
            DeliveryFailedError: Some were not confirmed.
        """
        new = {place: record for record in records if (place := record_id(record)) not in self._copied}
        if new:
            copies = ((record, dead_letter_headers(record, self._group_id, reason)) for record in new.values())
            with naming_rights_to_write(self._topic, self._config):
                write_copies(self._producer, self._topic, copies)
        self._copied.add(new)
        return len(new)
