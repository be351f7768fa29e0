"""Records that brokers did not take."""

from typing import NamedTuple

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.types import Headers

__all__ = ["UnwrittenRecord"]


class UnwrittenRecord(NamedTuple):
    """A record that was not written.

    Attributes:
        topic: Its topic.
        key: Its key.
        value: Its value.
        timestamp_ms: Its timestamp.
        headers: Its headers.
        partition: The partition, or None if none was chosen yet.
        error: Why.
        origin: What the writer of the record gave with it.
    """

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Headers
    partition: int | None
    error: KafkaGroupsError
    origin: object
