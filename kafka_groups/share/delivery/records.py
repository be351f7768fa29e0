"""Single records as the application sees them."""

from collections.abc import Callable
from typing import Any, Generic, cast

from attrs import frozen
from typing_extensions import TypeVar

from kafka_groups.errors import RecordDeserializationError
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.protocol.record_batch import DecodedRecord
from kafka_groups.share.delivery.delivery import Delivery, SessionId
from kafka_groups.types import Header, TopicIdPartition

__all__ = [
    "NO_SESSION",
    "AnyRecord",
    "CopiedRecord",
    "DeserializedRecord",
    "Deserializer",
    "K",
    "ShareRecord",
    "V",
    "copied_record",
    "delivery_of",
]

NO_SESSION = SessionId(-1, -1)
"""The session of a copy, which has no locks."""

K = TypeVar("K", default=bytes)
"""The type of keys: bytes, or the result of the key deserialiser."""

V = TypeVar("V", default=bytes)
"""The type of values: bytes, or the result of the value deserialiser."""

Deserializer = Callable[..., Any]
"""Converts the bytes of a key or value into the application's type. Not called for null."""


class ShareRecord(Generic[K, V]):
    """One record that was acquired for this consumer.

    Attributes:
        offset: Offset in the partition.
        value: The value, deserialised when a deserialiser is configured, else bytes; None when null, or when it could
            not be deserialised (see `error`).
    """

    # What every application reads is copied when the record is made; the rest is read from the codec's object when
    # it is asked for.
    __slots__ = ("_delivery", "_raw", "offset", "value")

    def __init__(self, raw: DecodedRecord, delivery: Delivery) -> None:
        self._raw = raw
        self._delivery = delivery
        self.offset = raw.offset
        self.value = cast("V | None", raw.value)

    @property
    def key(self) -> K | None:
        """The key, deserialised when a deserialiser is configured, else bytes; None when null or not deserialised."""
        return cast("K | None", self._raw.key)

    @property
    def error(self) -> RecordDeserializationError | None:
        """The error of deserialising key or value, or None. The part that failed is None; `raw_value` has its bytes."""
        return None

    @property
    def topic(self) -> str:
        """Name of the topic."""
        return self._delivery.topic

    @property
    def partition(self) -> int:
        """Number of the partition."""
        return self._delivery.partition

    @property
    def timestamp(self) -> int | None:
        """Milliseconds since the epoch, set by the producer or the broker (see `timestamp_type`)."""
        return self._raw.timestamp

    @property
    def timestamp_type(self) -> int | None:
        """0 when the producer set the timestamp (CreateTime), 1 when the broker did (LogAppendTime)."""
        return self._raw.timestamp_type

    @property
    def headers(self) -> list[Header]:
        """The headers in the producer's order; a key may be repeated."""
        return list(self._raw.headers)

    @property
    def delivery_count(self) -> int:
        """The number of deliveries of the record, this one included (KIP-932)."""
        return self._delivery.delivery_count(self._raw.offset)

    @property
    def raw_key(self) -> bytes | None:
        """The key as it is on the wire."""
        return self._raw.key

    @property
    def raw_value(self) -> bytes | None:
        """The value as it is on the wire."""
        return self._raw.value

    def __eq__(self, other: object) -> bool:
        """Return True if both are the same record of the log, with the same content. The deliveries may differ."""
        if not isinstance(other, ShareRecord):
            return NotImplemented
        mine, theirs = self._raw, other._raw
        return (
            self.offset == other.offset
            and self._delivery.topic_partition == other._delivery.topic_partition
            and (mine.timestamp, mine.key, mine.value) == (theirs.timestamp, theirs.key, theirs.value)
            and list(mine.headers) == list(theirs.headers)
        )

    def __hash__(self) -> int:
        return hash((self._delivery.topic_partition, self.offset))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._delivery.topic_partition, self.delivery_count, copied_record(self))

    def __repr__(self) -> str:
        return (
            f"<ShareRecord {self.topic}-{self.partition}@{self.offset} delivery {self.delivery_count}"
            f"{f' error {self.error}' if self.error else ''}>"
        )


class DeserializedRecord(ShareRecord[Any, Any]):
    """A record whose key and value went through deserialisers, or whose error says why they could not."""

    __slots__ = ("_error", "_key")

    def __init__(
        self, raw: DecodedRecord, delivery: Delivery, key: Any, value: Any, error: RecordDeserializationError | None
    ) -> None:
        super().__init__(raw, delivery)
        self.value = value
        self._key = key
        self._error = error

    def for_delivery(self, delivery: Delivery) -> "DeserializedRecord":
        """Return the same record as part of another delivery, for renewed records."""
        return DeserializedRecord(self._raw, delivery, self._key, self.value, self._error)

    @property
    def key(self) -> Any:
        """The deserialised key; None when null, or when it could not be deserialised."""
        return self._key

    @property
    def error(self) -> RecordDeserializationError | None:
        """The error of deserialising key or value, or None."""
        return self._error


AnyRecord = ShareRecord[Any, Any]


def delivery_of(record: AnyRecord) -> Delivery:
    """Return the delivery of a record. For other parts of this package only."""
    return record._delivery


# ------------------------------------------------------------------------------------------------- copies


@frozen
class _PlainRecord:
    """The fields of the codec's record object."""

    offset: int
    timestamp: int | None
    timestamp_type: int | None
    key: bytes | None
    value: bytes | None
    headers: list[Header]


@frozen
class CopiedRecord:
    """A record without its delivery."""

    raw: _PlainRecord
    key: Any
    value: Any
    error: RecordDeserializationError | None

    def in_delivery(self, delivery: Delivery) -> DeserializedRecord:
        """Return the record as part of a delivery."""
        return DeserializedRecord(self.raw, delivery, self.key, self.value, self.error)


def copied_record(record: AnyRecord) -> CopiedRecord:
    """Copy a record without its delivery."""
    raw = record._raw
    headers = [(key, value) for key, value in raw.headers]
    plain = _PlainRecord(raw.offset, raw.timestamp, raw.timestamp_type, raw.key, raw.value, headers)
    return CopiedRecord(plain, record.key, record.value, record.error)


def _restored(partition: TopicIdPartition, delivery_count: int, copied: CopiedRecord) -> AnyRecord:
    offset = copied.raw.offset
    acquired = AcquiredRecords(first_offset=offset, last_offset=offset, delivery_count=delivery_count)
    delivery = Delivery(partition, NO_SESSION, [acquired], 0)
    delivery.let_go()
    return copied.in_delivery(delivery)
