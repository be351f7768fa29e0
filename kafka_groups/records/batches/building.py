"""The batches of a producer: records are appended, numbered when the batch is sent, and perhaps divided later."""

from collections.abc import Collection, Iterable, Iterator

from attrs import frozen

from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.producer_batches import compiled_builder, compressed, renumbered
from kafka_groups.protocol.record_batch import NO_PRODUCER_ID, DecodedRecord, iter_batches
from kafka_groups.types import Header, TopicPartition

__all__ = ["BatchSettings", "ProducerBatch"]

_NO_EPOCH, _NO_SEQUENCE = -1, -1
_NOT_TRACKED = -1
_NO_TIMESTAMP = -1
_ORIGINS_BYTES = 100
"""The room of a batch's list of origins. Origins themselves are tuples that belong to the caller."""
_UNLIMITED_BYTES = 2**31 - 1


@frozen
class BatchSettings:
    """The form of all batches of a producer.

    Attributes:
        compression: How records are compressed.
        level: The level of compression; None for the codec's default.
        is_transactional: Whether batches belong to transactions.
    """

    compression: Compression = Compression.NONE
    level: int | None = None
    is_transactional: bool = False


class ProducerBatch:
    """Records of one partition that are sent together.

    It has no number until `encode`, so a batch that was never sent can be dropped without a gap. For each record only
    its bytes are kept, and its origin if it has one.

    Args:
        partition: The partition.
        max_bytes: The most bytes with several records, before compression.
        settings: The form of the batch.

    Attributes:
        add: The builder's `append`, for the loop over records: offset delta, timestamp, key, value, list of headers. It
            returns None if the batch is full. Call it with `count`, and increase that.
        count: The number of records.
        origins: The index and the origin of each record that has one, in ascending order.
        last_tracked: The index of the last record whose offset somebody wants to know, or -1.
        opened_ms: The time of the first look at it, or None.
        producer_id: The id of the producer in its bytes, or -1.
        epoch: The epoch of that producer, or -1.
        base_sequence: The number of its first record, or -1.
        plain_bytes: The bytes that it had without compression, once it was encoded.
        room_bytes: The bytes that are counted for it.
        may_be_written: Whether an attempt to write it, or a batch that it is a part of, got no answer or one that
            leaves it open.
    """

    __slots__ = (
        "_builder", "_data", "_settings", "add", "base_sequence", "count", "epoch", "last_tracked", "may_be_written",
        "opened_ms", "origins", "partition", "plain_bytes", "producer_id", "room_bytes",
    )  # fmt: skip

    def __init__(self, partition: TopicPartition, max_bytes: int, settings: BatchSettings) -> None:
        self.partition = partition
        self._settings = settings
        self._builder = compiled_builder(max_bytes, is_transactional=settings.is_transactional)
        self._data: bytes | None = None
        self.add = self._builder.append
        self.count = 0
        self.origins: list[tuple[int, object]] = []
        self.last_tracked = _NOT_TRACKED
        self.opened_ms: int | None = None
        self.producer_id, self.epoch = NO_PRODUCER_ID, _NO_EPOCH
        self.base_sequence = _NO_SEQUENCE
        self.plain_bytes = 0
        self.room_bytes = 0
        self.may_be_written = False

    def __repr__(self) -> str:
        return f"<ProducerBatch of {self.count} for {self.partition}, number {self.base_sequence}>"

    @property
    def data(self) -> bytes:
        """The bytes of `encode`; empty before it."""
        return self._data or b""

    @property
    def was_sent(self) -> bool:
        """True if it was handed over to be sent."""
        return self._data is not None

    @property
    def size_bytes(self) -> int:
        """The bytes of the batch: those that are sent once it has a number, and before that without compression."""
        return self._builder.size() if self._data is None else len(self._data)

    @property
    def held_bytes(self) -> int:
        """The bytes that it takes up, with its list of origins."""
        return self.size_bytes + _ORIGINS_BYTES

    @property
    def last_sequence(self) -> int:
        """The number of its last record. After 2³¹ - 1 comes 0."""
        return self.base_sequence + self.count - 1 & 0x7FFFFFFF

    def size_with(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: list[Header]) -> int:
        """Return the bytes of the batch if it had another record."""
        return self._builder.size() + self._builder.size_in_bytes(self.count, timestamp_ms, key, value, headers)

    def encode(self, producer_id: int, epoch: int, base_sequence: int) -> bytes:
        """Return the batch with these numbers. Bytes that exist are kept, and changed only if the numbers differ."""
        if self._data is None:
            self._builder.set_producer_state(producer_id, epoch, base_sequence)
            settings = self._settings
            self.plain_bytes = self._builder.size()
            self._data = bytes(compressed(self._builder.build(), settings.compression, settings.level))
            self._release()
        elif (producer_id, epoch, base_sequence) != (self.producer_id, self.epoch, self.base_sequence):
            self._data = renumbered(self._data, producer_id, epoch, base_sequence)
        self.producer_id, self.epoch, self.base_sequence = producer_id, epoch, base_sequence
        return self._data

    def _release(self) -> None:
        """Drop the builder's memory: an empty one takes its place."""
        self._builder = compiled_builder(0, is_transactional=False)
        self.add = self._builder.append

    # ---------------------------------------------------------------------------------------- dividing

    def records(self) -> list[DecodedRecord]:
        """Return all records."""
        data = bytes(self._builder.build()) if self._data is None else self._data
        return [record for batch in iter_batches(data) for record in batch.records()]

    def halves(self) -> "tuple[ProducerBatch, ProducerBatch]":
        """Return two batches without numbers, each with a half of the records. The first one gets the smaller half.

        Each record has the number in its half that it has here, if the halves are numbered one after the other.
        """
        middle = self.count // 2
        everything = list(enumerate(self.records()))
        return self._with(everything[:middle]), self._with(everything[middle:])

    def without(self, indexes: Collection[int]) -> "ProducerBatch | None":
        """Return a batch without number that lacks some of the records. None: no record is left."""
        kept = [(index, record) for index, record in enumerate(self.records()) if index not in indexes]
        return self._with(kept) if kept else None

    def drop(self, indexes: Collection[int]) -> None:
        """Remove some of the records of a batch that was not encoded yet. It stays the same object."""
        rest = self.without(indexes) or self._with(())
        self._builder, self.add = rest._builder, rest.add
        self.count, self.origins, self.last_tracked = rest.count, rest.origins, rest.last_tracked

    def refused(self, indexes: Collection[int] | None) -> Iterator[tuple[DecodedRecord, object]]:
        """Return records and their origins, None without one. None as indexes: all records."""
        origins = dict(self.origins)
        for index, record in enumerate(self.records()):
            if indexes is None or index in indexes:
                yield record, origins.get(index)

    def _with(self, chosen: Iterable[tuple[int, DecodedRecord]]) -> "ProducerBatch":
        part = ProducerBatch(self.partition, _UNLIMITED_BYTES, self._settings)
        part.opened_ms, part.may_be_written = self.opened_ms, self.may_be_written
        origins = dict(self.origins)
        for index, record in chosen:
            timestamp_ms = _NO_TIMESTAMP if record.timestamp is None else record.timestamp
            part.add(part.count, timestamp_ms, record.key, record.value, list(record.headers))
            if index in origins:
                part.origins.append((part.count, origins[index]))
            if index <= self.last_tracked:
                part.last_tracked = part.count
            part.count += 1
        return part
