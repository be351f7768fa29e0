"""The lines of `kafka-groups consume --json` and `share-consume --json`."""

from attrs import frozen

from kafka_groups.cli.documents.document import JsonBytes

__all__ = ["DeliveredRecordEntry", "RecordEntry"]


@frozen
class RecordEntry:
    """A record.

    Attributes:
        topic: Its topic.
        partition: Its partition.
        offset: Its offset.
        timestamp_ms: Its time, in milliseconds since 1970, or null.
        key: The key as text, or as base64 if it is not UTF-8, or null.
        value: The value as text, or as base64 if it is not UTF-8, or null.
        headers: The headers, as pairs of name and value.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    key: JsonBytes
    value: JsonBytes
    headers: tuple[tuple[str, JsonBytes], ...]


@frozen
class DeliveredRecordEntry(RecordEntry):
    """A record that a share group has delivered.

    Attributes:
        delivery_count: The number of its deliveries, this one included.
    """

    delivery_count: int
