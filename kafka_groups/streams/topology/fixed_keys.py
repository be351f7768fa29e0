"""Processors that keep the keys of their records, so that no repartitioning follows (KIP-820)."""

from typing import Generic, TypeVar

from kafka_groups.streams.topology.context import ProcessingContext
from kafka_groups.streams.topology.records import Record
from kafka_groups.types import Header, Headers

__all__ = ["FixedKeyProcessor", "FixedKeyProcessorContext", "FixedKeyRecord", "fixed_key_record"]

K = TypeVar("K")
V = TypeVar("V")
V2 = TypeVar("V2")
KIn = TypeVar("KIn")
VIn = TypeVar("VIn")
VOut = TypeVar("VOut")


class FixedKeyRecord(Generic[K, V]):
    """A record whose key cannot be changed. A `FixedKeyProcessor` gets it, and forwards it or a changed copy.

    You cannot make one, as in Kafka Streams: keep one that you got, to forward it later.
    """

    __slots__ = ("_record",)
    _record: Record[K, V]

    def __init__(self) -> None:
        raise TypeError(
            "A FixedKeyRecord cannot be made. Change the one that process got, such as record.with_value(…)."
        )

    def __repr__(self) -> str:
        return f"FixedKey{self._record!r}"

    def __eq__(self, other: object) -> bool:
        return self._record == other._record if isinstance(other, FixedKeyRecord) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._record)

    @property
    def key(self) -> K:
        """The key. It may be None whatever its type says, if the record had a null key."""
        return self._record.key

    @property
    def value(self) -> V:
        """The value. It may be None, as the key."""
        return self._record.value

    @property
    def timestamp_ms(self) -> int:
        """The timestamp in ms since 1970."""
        return self._record.timestamp_ms

    @property
    def headers(self) -> Headers:
        """The headers."""
        return self._record.headers

    def with_value(self, value: V2) -> "FixedKeyRecord[K, V2]":
        """Return a copy with another value."""
        return fixed_key_record(self._record.with_value(value))

    def with_timestamp(self, timestamp_ms: int) -> "FixedKeyRecord[K, V]":
        """Return a copy with another timestamp."""
        return fixed_key_record(self._record.with_timestamp(timestamp_ms))

    def with_headers(self, *headers: Header) -> "FixedKeyRecord[K, V]":
        """Return a copy with other headers."""
        return fixed_key_record(self._record.with_headers(*headers))


def fixed_key_record(record: Record[K, V]) -> FixedKeyRecord[K, V]:
    """Return a record whose key cannot be changed. For this package only."""
    made: FixedKeyRecord[K, V] = object.__new__(FixedKeyRecord)
    made._record = record
    return made


class FixedKeyProcessorContext(ProcessingContext, Generic[K, VOut]):
    """Forwarding, stores, punctuation and metadata for one processor that keeps keys, in one task."""

    def forward(self, record: FixedKeyRecord[K, VOut], *, to: str | None = None) -> None:
        """Pass a record to the children, or to the one child with this name.

        Raises:
            StreamsError: There is no child with this name.
            TypeError: It is not a record that a processor like this has got.
            ValueError: Its timestamp is negative.
        """
        # A record with another key would be in the wrong partition for what follows, where nothing repartitions. Java's
        # type has no public constructor, so that no other record can be forwarded (FixedKeyRecord in Kafka).
        if not isinstance(record, FixedKeyRecord):
            raise TypeError(
                f"{record!r} was given to forward, and is not a FixedKeyRecord. Forward the record that process got, "
                "or record.with_value(…). To change keys, use KStream.process."
            )
        self._forward(record._record, to)


class FixedKeyProcessor(Generic[KIn, VIn, VOut]):
    """A processor of your own for `process_values`. One object serves one task.

    `self.context` is there from `init` on.
    """

    context: FixedKeyProcessorContext[KIn, VOut]

    def init(self, context: FixedKeyProcessorContext[KIn, VOut]) -> None:
        """Prepare for records: get stores, schedule punctuation. Call `super().init(context)` first."""
        self.context = context

    def process(self, record: FixedKeyRecord[KIn, VIn]) -> None:
        """Process one record."""
        raise NotImplementedError(f"{type(self).__name__} has no method 'process'. Define it.")

    def close(self) -> None:
        """Release what `init` acquired."""
