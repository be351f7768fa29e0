"""An attempt as tracing sees it, and the attributes of its span."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from kafka_groups.telemetry import conventions
from kafka_groups.types import Header

__all__ = ["TracedAttempt", "TracedRecord", "attempt_attributes", "place_attributes", "span_name"]

_ATTEMPT = "kafka_groups.attempt"
"""The attribute with the number of the attempt. The conventions do not define one."""

_HANDLER = "kafka_groups.handler"
"""The attribute with the name of the handler. The conventions do not define one."""


class TracedRecord(Protocol):
    """A record of an attempt; a `ShareRecord` is one."""

    @property
    def topic(self) -> str:
        """The topic."""

    @property
    def partition(self) -> int:
        """The partition."""

    @property
    def offset(self) -> int:
        """The offset in the partition."""

    @property
    def key(self) -> object:
        """The key."""

    @property
    def headers(self) -> Sequence[Header]:
        """The headers."""


class TracedAttempt(Protocol):
    """One call of a handler."""

    @property
    def records(self) -> Sequence[TracedRecord]:
        """The records of the call: one, or a batch."""

    @property
    def group(self) -> str:
        """The share group."""

    @property
    def handler(self) -> str:
        """The name of the handler."""

    @property
    def client_id(self) -> str:
        """The `client.id` that the program has set; empty if it has set none."""

    @property
    def number(self) -> int:
        """1 for the first call with these records in this delivery, then 2, 3, and so on."""

    @property
    def is_batch(self) -> bool:
        """True if the handler takes batches, even if this one has one record."""


def span_name(attempt: TracedAttempt) -> str:
    """Return the name of the span: `process` and the topic, or the handler if there are several topics."""
    topic = _only({record.topic for record in attempt.records})
    return f"{conventions.PROCESS} {attempt.handler if topic is None else topic}"


def attempt_attributes(attempt: TracedAttempt) -> dict[str, str]:
    """Return the attributes that spans and metrics share: they have few different values."""
    found = {
        conventions.SYSTEM: conventions.KAFKA,
        conventions.OPERATION_NAME: conventions.PROCESS,
        conventions.OPERATION_TYPE: conventions.PROCESS,
        conventions.CONSUMER_GROUP_NAME: attempt.group,
    }
    if attempt.client_id:
        found[conventions.CLIENT_ID] = attempt.client_id
    topic = _only({record.topic for record in attempt.records})
    return found if topic is None else {**found, conventions.DESTINATION_NAME: topic}


def place_attributes(attempt: TracedAttempt, *, with_key: bool) -> Mapping[str, str | int]:
    """Return the attributes of a span alone: the place of its records, and which attempt it is.

    Args:
        attempt: The attempt.
        with_key: Whether the key of a single record is among them.
    """
    found: dict[str, str | int] = {_HANDLER: attempt.handler, _ATTEMPT: attempt.number}
    if len({(record.topic, record.partition) for record in attempt.records}) == 1:
        found[conventions.DESTINATION_PARTITION_ID] = str(attempt.records[0].partition)
    if attempt.is_batch:
        return {**found, conventions.BATCH_MESSAGE_COUNT: len(attempt.records)}
    (record,) = attempt.records
    key = _text(record.key) if with_key else None
    return {**found, conventions.KAFKA_OFFSET: record.offset} | ({conventions.KAFKA_MESSAGE_KEY: key} if key else {})


def _only(values: set[str]) -> str | None:
    return next(iter(values)) if len(values) == 1 else None


def _text(key: object) -> str | None:
    """Return a key as text. Bytes that are not UTF-8 become their hexadecimal digits."""
    if not isinstance(key, bytes):
        return None if key is None else str(key)
    try:
        return key.decode()
    except UnicodeDecodeError:
        return key.hex()
