"""Copies of records that may not be redelivered, in a dead-letter topic."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from kafka_groups.librdkafka.durable_producer import DurableProducer
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.types import Header

__all__ = ["DeadLetterProducer", "dead_letter_producer", "write_copies"]

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
