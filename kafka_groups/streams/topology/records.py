"""Records as processors of the user's see them."""

from typing import Generic, TypeVar

from attrs import evolve, frozen

from kafka_groups.types import Header, Headers

__all__ = ["Record", "RecordMetadata", "SourceRecord", "refused_record"]

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")


@frozen
class Record(Generic[K, V]):
    """A record between processors.

    Attributes:
        key: Its key. It may be None whatever its type says, if the record had a null key.
        value: Its value. It may be None, as the key.
        timestamp_ms: Its timestamp in ms since 1970.
        headers: Its headers.
    """

    key: K
    value: V
    timestamp_ms: int
    headers: Headers = ()

    def with_key(self, key: K2) -> "Record[K2, V]":
        """Return a copy with another key."""
        return evolve(self, key=key)  # type: ignore[arg-type, return-value]

    def with_value(self, value: V2) -> "Record[K, V2]":
        """Return a copy with another value."""
        return evolve(self, value=value)  # type: ignore[arg-type, return-value]

    def with_timestamp(self, timestamp_ms: int) -> "Record[K, V]":
        """Return a copy with another timestamp."""
        return evolve(self, timestamp_ms=timestamp_ms)

    def with_headers(self, *headers: Header) -> "Record[K, V]":
        """Return a copy with other headers."""
        return evolve(self, headers=headers)


def refused_record(given: object) -> Exception:
    """Return the error for a forwarded value that is not a record, or has a negative timestamp."""
    # A record is checked when it is forwarded, and not when it is made: a timestamp may be corrected in between.
    if isinstance(given, Record):
        return ValueError(
            f"The record to forward has the timestamp {given.timestamp_ms}. Give it one that is not negative."
        )
    return TypeError(f"{given!r} was given to forward, and is not a Record. Use record.with_value(…), or Record(…).")


@frozen
class RecordMetadata:
    """Topic, partition and offset of the record that a task is processing.

    Attributes:
        topic: Its topic.
        partition: Its partition.
        offset: Its offset.
    """

    topic: str
    partition: int
    offset: int


@frozen
class SourceRecord:
    """A record of a source topic, as timestamp extractors see it.

    Attributes:
        topic: Its topic.
        partition: Its partition.
        offset: Its offset.
        key: Its key.
        value: Its value.
        timestamp_ms: The timestamp that the topic has for it; negative if there is no timestamp.
        headers: Its headers.
        wall_ms: The wall-clock time in ms since 1970.
    """

    topic: str
    partition: int
    offset: int
    key: object
    value: object
    timestamp_ms: int
    headers: Headers = ()
    wall_ms: int = 0
