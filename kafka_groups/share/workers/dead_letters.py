"""Copies of records that may not be redelivered, in a dead-letter topic."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from kafka_groups.data_plane.producing import DurableProducer
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.workers.rules.dead_letters import CopiedRecords, dead_letter_headers, place_of
from kafka_groups.types import Header

__all__ = ["DeadLetters", "LetterBox", "letter_box", "write_copies"]

_FLUSH_SECONDS = 30.0
_NO_LIMIT_HERE = {"message.max.bytes": 1_000_000_000}
"""The topic's `max.message.bytes` decides how large a copy may be, and not the producer's default of 1,000,000."""


class LetterBox(Protocol):
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


def letter_box(config: Mapping[str, object]) -> LetterBox:
    """Return a producer for copies, given the keys of a share consumer of the same cluster."""
    return DurableProducer({**_NO_LIMIT_HERE, **config})


def write_copies(box: LetterBox, topic: str, copies: Iterable[tuple[AnyRecord, Iterable[Header]]]) -> None:
    """Write records to a topic, each with more headers; blocks until they are durable.

    Raises:
        DeliveryFailedError: Some were not confirmed.
    """
    for record, headers in copies:
        box.produce(topic, key=record.raw_key, value=record.raw_value, headers=[*record.headers, *headers])
    box.flush(_FLUSH_SECONDS)


class DeadLetters:
    """Writes copies of records to a dead-letter topic, with headers that say where they came from.

    Each process copies a record once. Other processes may copy it again, with the same headers.

    Args:
        topic: The dead-letter topic.
        group_id: The share group.
        config: Keys of the share consumer, for a producer to the same cluster.
        box: Another place to write to, for tests.
    """

    def __init__(self, topic: str, group_id: str, config: Mapping[str, object], box: LetterBox | None = None) -> None:
        self._topic = topic
        self._group_id = group_id
        self._box: LetterBox = box or letter_box(config)
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
        new = {place: record for record in records if (place := place_of(record)) not in self._copied}
        if new:
            copies = ((record, dead_letter_headers(record, self._group_id, reason)) for record in new.values())
            write_copies(self._box, self._topic, copies)
        self._copied.add(new)
        return len(new)
