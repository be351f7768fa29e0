"""Records as the application sees them."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, cast, overload

from typing_extensions import TypeVar

from kafka_groups.errors import RecordDeserializationError
from kafka_groups.protocol.record_batch import Record
from kafka_groups.types import AcknowledgeType, Header, TopicIdPartition, TopicPartition

if TYPE_CHECKING:
    from types import ModuleType

    from kafka_groups.share.delivery.acquired import AcquiredRecords

__all__ = [
    "AnyRecord",
    "AnyRecords",
    "Deserializer",
    "K",
    "ShareRecord",
    "ShareRecords",
    "V",
    "deliveries_of",
    "delivery_of",
]

K = TypeVar("K", default=bytes)
"""What keys are: bytes, or what the key deserialiser makes of them."""

V = TypeVar("V", default=bytes)
"""What values are: bytes, or what the value deserialiser makes of them."""

Deserializer = Callable[..., Any]
"""From the bytes of a key or value to what the application works with; not called for null."""


class ShareRecord(Generic[K, V]):
    """One record that was acquired for this consumer.

    Attributes:
        offset: Offset in the partition.
        value: The value, deserialised when a deserialiser is configured, else bytes; None when null, or when it could
            not be deserialised (see `error`).
    """

    # What every application reads is copied when the record is made; the rest is read from the codec's object when
    # it is asked for.
    __slots__ = ("_acquired", "_raw", "offset", "value")

    def __init__(self, raw: Record, acquired: "AcquiredRecords") -> None:
        self._raw = raw
        self._acquired = acquired
        self.offset = raw.offset
        self.value = cast("V | None", raw.value)

    @property
    def key(self) -> K | None:
        """The key, deserialised when a deserialiser is configured, else bytes; None when null or not deserialised."""
        return cast("K | None", self._raw.key)

    @property
    def error(self) -> RecordDeserializationError | None:
        """Why key or value could not be deserialised, or None; what could not be is None, `raw_value` has its bytes."""
        return None

    @property
    def topic(self) -> str:
        """Name of the topic."""
        return self._acquired.topic

    @property
    def partition(self) -> int:
        """Number of the partition."""
        return self._acquired.partition

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
        """The headers in the producer's order; a key may come twice."""
        return list(self._raw.headers)

    @property
    def delivery_count(self) -> int:
        """How many times the record was delivered, this delivery included (KIP-932)."""
        return self._acquired.delivery_count(self._raw.offset)

    @property
    def raw_key(self) -> bytes | None:
        """The key as it is on the wire."""
        return self._raw.key

    @property
    def raw_value(self) -> bytes | None:
        """The value as it is on the wire."""
        return self._raw.value

    def __eq__(self, other: object) -> bool:
        """Whether both are the same record of the log, with the same content; not whether it is the same delivery."""
        if not isinstance(other, ShareRecord):
            return NotImplemented
        mine, theirs = self._raw, other._raw
        return (
            self.offset == other.offset
            and self._acquired.topic_partition == other._acquired.topic_partition
            and (mine.timestamp, mine.key, mine.value) == (theirs.timestamp, theirs.key, theirs.value)
            and list(mine.headers) == list(theirs.headers)
        )

    def __hash__(self) -> int:
        return hash((self._acquired.topic_partition, self.offset))

    def __reduce__(self) -> tuple[Any, ...]:
        return _detached().restored_record, _detached().parts_of(self)

    def __repr__(self) -> str:
        return (
            f"<ShareRecord {self.topic}-{self.partition}@{self.offset} delivery {self.delivery_count}"
            f"{f' error {self.error}' if self.error else ''}>"
        )


class DeserializedRecord(ShareRecord[Any, Any]):
    """A record whose key and value went through deserialisers, or whose error says why they could not."""

    __slots__ = ("_error", "_key")

    def __init__(
        self, raw: Record, acquired: "AcquiredRecords", key: Any, value: Any, error: RecordDeserializationError | None
    ) -> None:
        super().__init__(raw, acquired)
        self.value = value
        self._key = key
        self._error = error

    def for_delivery(self, acquired: "AcquiredRecords") -> "DeserializedRecord":
        """The same record as part of another delivery (a renewed one)."""
        return DeserializedRecord(self._raw, acquired, self._key, self.value, self._error)

    @property
    def key(self) -> Any:
        """The deserialised key; None when null, or when it could not be deserialised."""
        return self._key

    @property
    def error(self) -> RecordDeserializationError | None:
        """Why key or value could not be deserialised, or None."""
        return self._error


class ShareRecords(Generic[K, V]):
    """What one poll returned: a batch of records of one or more partitions, to iterate over, index and slice.

    Iterating makes the records one by one, so that a large batch needs little memory; iterating twice makes them twice.
    Indexing makes and keeps them all.

    A batch and its records can be pickled. The copies have everything but the locks: acknowledge the originals, or the
    offsets with `acknowledge_offset`. Two records are equal if they are the same record of the log, whichever delivery
    they came with.
    """

    __slots__ = ("_deliveries", "_made")

    def __init__(self, deliveries: Sequence["AcquiredRecords"] = ()) -> None:
        self._deliveries = tuple(deliveries)
        self._made: list[ShareRecord[K, V]] | None = None

    def __len__(self) -> int:
        return sum(map(len, self._deliveries))

    def __bool__(self) -> bool:
        return any(map(len, self._deliveries))

    def __iter__(self) -> Iterator[ShareRecord[K, V]]:
        return chain.from_iterable(self._deliveries)

    @overload
    def __getitem__(self, index: int) -> ShareRecord[K, V]: ...

    @overload
    def __getitem__(self, index: slice) -> list[ShareRecord[K, V]]: ...

    def __getitem__(self, index: int | slice) -> ShareRecord[K, V] | list[ShareRecord[K, V]]:
        """Return one record, or the list of a slice.

        The first use makes all records of the batch and keeps them.
        """
        if self._made is None:
            self._made = list(self)
        return self._made[index]

    def __eq__(self, other: object) -> bool:
        """Whether both have equal records in the same order."""
        if not isinstance(other, ShareRecords):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=False))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _detached().restored_records, _detached().parts_of_batch(self)

    def acknowledgements(self) -> Mapping[TopicIdPartition, Counter[AcknowledgeType]]:
        """Count the records that you have acknowledged but not sent yet, by partition and type."""
        counted: dict[TopicIdPartition, Counter[AcknowledgeType]] = {}
        for part in self._deliveries:
            counts = part.acknowledgements()
            if counts:
                counted.setdefault(part.topic_partition, Counter()).update(counts)
        return counted

    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions that the batch has records of."""
        return frozenset(TopicPartition(part.topic, part.partition) for part in self._deliveries)

    def by_partition(self) -> Mapping[TopicPartition, Sequence[ShareRecord[K, V]]]:
        """The records of each partition, in the order of their offsets."""
        grouped: dict[TopicPartition, list[ShareRecord[K, V]]] = {}
        for part in self._deliveries:
            grouped.setdefault(TopicPartition(part.topic, part.partition), []).extend(part)
        return grouped

    def __repr__(self) -> str:
        return f"<ShareRecords {len(self)} of {', '.join(map(str, sorted(self.partitions()))) or 'no partition'}>"


AnyRecord = ShareRecord[Any, Any]
AnyRecords = ShareRecords[Any, Any]


def delivery_of(record: AnyRecord) -> "AcquiredRecords":
    """The delivery that a record came with, for the other parts of this package."""
    return record._acquired


def deliveries_of(records: AnyRecords) -> tuple["AcquiredRecords", ...]:
    """The parts of a batch, one for each partition and fetch response, for the other parts of this package."""
    return records._deliveries


def _detached() -> "ModuleType":
    # Imported when something is pickled: it needs deliveries, which need this module.
    from kafka_groups.share.delivery import detached  # noqa: PLC0415

    return detached
