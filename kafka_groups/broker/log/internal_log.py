"""The log of one partition of an internal topic, which its coordinator writes."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Generic, NoReturn, Protocol, TypeVar

from attrs import frozen

from kafka_groups.broker.log.batches import AppendRules, BatchInfo, OffsetAndTimestamp, ReadResult
from kafka_groups.broker.log.entries import EndMarker, LogEntry, Producer, TransactionEnd
from kafka_groups.broker.log.internal_compaction import InternalCompaction
from kafka_groups.broker.log.markers import marker_batch
from kafka_groups.broker.log.partition_log import DEFAULT_RULES, PartitionLog
from kafka_groups.broker.log.producers import Verification
from kafka_groups.broker.log.segment import StoredBatch
from kafka_groups.errors import MalformedRecordError, UnknownRecordTypeError
from kafka_groups.protocol.record_batch import RecordBatch, iter_batches, parse_header
from kafka_groups.protocol.record_builder import (
    BatchOptions,
    NewRecord,
    build_batch,
    end_marker,
)

__all__ = ["InternalLog", "RecordCodec"]

_SLICE_BYTES = 16_384
"""The size of the part of a log that is decoded at a time: some 200 records."""
_SLICE_RECORDS = 500
"""The number of records returned at a time if they are not stored as bytes."""
_MOST_UNWRITTEN = 10_000
"""Records are kept as objects until someone reads the log, but hardly more than these."""
_NO_PRODUCER = Producer(-1, -1)
_SPARE_RECORDS = 1_000
_STEP_RECORDS = 50
"""The smallest number of records that one step of compaction handles."""
_STEP_FOR_EACH = 4
"""The number of records that a step handles for each appended one. A pass reads each record twice, so it keeps up."""

_MOST_BYTES_OF_NUMBERS = 36
"""Bytes of a record's numbers: attributes, timestamp, offset, lengths of its parts, number of headers."""

R = TypeVar("R", bound="_Record")


class _Record(Protocol):
    @property
    def value(self) -> object | None: ...


class RecordCodec(Protocol[R]):
    """Encodes and decodes the records of a topic."""

    @property
    def topic(self) -> str:
        """Name of the topic."""
        ...

    def encode(self, record: R) -> tuple[bytes, bytes | None]:
        """Return the bytes of the key and the value. A tombstone has no value."""
        ...

    def most_bytes(self, record: R) -> int:
        """Return how many bytes the key and the value have together, at the most."""
        ...

    def decode(self, key: bytes, value: bytes | None) -> R:
        """Return the record with this key and value.

        Raises:
            UnknownRecordTypeError: The type of the record is not known.
            MalformedRecordError: The bytes are not a record of their type and version.
        """
        ...


@frozen
class _Unwritten(Generic[R]):
    """Records that are not bytes yet, or the marker of a transaction that has ended."""

    base_offset: int
    records: tuple[R, ...]
    leader_epoch: int
    wall_ms: int
    producer: Producer | None = None
    end: EndMarker | None = None

    @property
    def size(self) -> int:
        return len(self.records) if self.end is None else 1

    @property
    def end_offset(self) -> int:
        return self.base_offset + self.size

    def entries(self) -> Iterator[LogEntry[R] | TransactionEnd]:
        if self.end is not None:
            yield TransactionEnd(self.base_offset, self.end.producer, self.end.committed)
        for offset, record in enumerate(self.records, self.base_offset):
            yield LogEntry(offset, record, self.producer)


class InternalLog(PartitionLog, Generic[R]):
    """A partition's log of records with types.

    These logs are rarely read, but a coordinator writes to one with every acknowledgement. So records are encoded at
    the first read, with the same offsets, timestamps and bytes as if they had been encoded at once.

    Args:
        codec: Encodes and decodes the records.
        spare_records: The number of records that a compacted log may have beyond two for each needed one.

    Attributes:
        on_committed: Called when `committed_offset` has grown after the call that appended the records.
    """

    def __init__(self, codec: RecordCodec[R], *, spare_records: int = _SPARE_RECORDS) -> None:
        self._codec = codec
        self._spare_records = spare_records
        self._unwritten: deque[_Unwritten[R]] = deque()
        self._unwritten_count = 0
        self._written_count = 0
        self._needed_count = 0
        self._compaction: InternalCompaction | None = None
        self._appended = 0
        self.on_committed: Callable[[], None] = lambda: None
        super().__init__()

    # ------------------------------------------------------------------------------------------- writing

    def append_records(
        self, records: Sequence[R], leader_epoch: int, wall_ms: int, producer: Producer | None = None
    ) -> int:
        """Append records as one batch, and return the offset of the first.

        Args:
            records: The records, at least one.
            leader_epoch: Epoch of the appending leader.
            wall_ms: The timestamp of the records.
            producer: The producer whose transaction they belong to, after `ProducerStates.check_transaction`.
        """
        offset = self._append(_Unwritten(self.end_offset, tuple(records), leader_epoch, wall_ms, producer))
        if producer is not None:
            self.producers.appended_by_coordinator(producer, offset, wall_ms)
        return offset

    def append_end(self, marker: EndMarker, leader_epoch: int, wall_ms: int) -> int:
        """Append the marker of a transaction that has ended, and return its offset.

        Raises:
            InvalidProducerEpochError, TransactionCoordinatorFencedError: See `ProducerStates.check_marker`.
        """
        self.producers.check_marker(marker)
        offset = self._append(_Unwritten(self.end_offset, (), leader_epoch, wall_ms, marker.producer, marker))
        self.producers.ended(marker, offset, self.committed_offset, wall_ms)
        return offset

    def _append(self, unwritten: _Unwritten[R]) -> int:
        self._unwritten.append(unwritten)
        self._unwritten_count += unwritten.size
        self._appended += unwritten.size
        self.epochs.begun(unwritten.leader_epoch, unwritten.base_offset)
        self.end_offset = unwritten.end_offset
        # What is not committed may be dropped, and bytes of it could not be taken back.
        while self._unwritten_count > _MOST_UNWRITTEN and self._unwritten[0].end_offset <= self.committed_offset:
            self._write_first()  # a few with each append, so that none takes long
        return unwritten.base_offset

    def size_of(self, record: R) -> int:
        """Return how many bytes a record takes in a batch, at the most."""
        return _MOST_BYTES_OF_NUMBERS + self._codec.most_bytes(record)

    @property
    def committed_offset(self) -> int:
        """The offset before which no record will be lost. In memory that is the end of the log."""
        return self.end_offset

    @property
    def high_watermark(self) -> int:
        """The offset after the last readable one."""
        return self.committed_offset

    def drop_uncommitted(self) -> None:
        """Lose the records that are not committed, because their broker died. In memory there are none."""

    def append(
        self,
        records: bytes | memoryview | None,
        leader_epoch: int,
        wall_ms: int,
        *,
        rules: AppendRules = DEFAULT_RULES,
        verification: Verification | None = None,
    ) -> NoReturn:
        """Refuse: a client's batch would stand before records that are not bytes yet."""
        raise TypeError(f"Only a coordinator writes to {self._codec.topic}.")

    def append_as_is(self, records: bytes | memoryview) -> None:
        """Append batches with their existing offsets and epochs, after all pending records."""
        while self._unwritten:
            self._write_first()
        super().append_as_is(records)

    def delete_records(self, before_offset: int) -> int:
        """Delete the records before an offset and return the new start. Drop pending records without encoding them."""
        start = super().delete_records(before_offset)
        self._compaction = None
        while self._unwritten and self._unwritten[0].end_offset <= start:
            self._unwritten_count -= self._unwritten.popleft().size
        self._written_count = self._active.record_count
        return start

    def compact_some(self) -> None:
        """Continue compaction: of each key the last record stays, unless it is a tombstone, with its offset.

        A pass begins when more than half of the records are superseded. Each call handles a few records, and more if
        many were appended since the call before.
        """
        appended, self._appended = self._appended, 0
        if self._compaction is None:
            # The share of records that are not needed decides, as `min.cleanable.dirty.ratio` does in Kafka. The spare
            # records keep a small log from being compacted all the time.
            if self.record_count <= self._spare_records + 2 * self._needed_count:
                return
            # A pass ends before the first open transaction: it is not known whether its records count.
            first, end = self.log_start_offset, self.last_stable_offset
            self._compaction = InternalCompaction(first, end, self.aborted_between(first, end))
        self._step(self._compaction, _STEP_RECORDS + _STEP_FOR_EACH * appended)

    # ------------------------------------------------------------------------------------------- reading

    @property
    def record_count(self) -> int:
        """Number of records."""
        return self._written_count + self._unwritten_count

    def __len__(self) -> int:
        """Number of batches."""
        return super().__len__() + len(self._unwritten)

    @property
    def size_bytes(self) -> int:
        """Size of all batches."""
        self._write()
        return super().size_bytes

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        min_one: bool = True,
        before_offset: int | None = None,
        is_stable: bool = False,
    ) -> ReadResult:
        """Read batches from an offset on, as `PartitionLog.read` does, pending records included."""
        self._write()
        return super().read(offset, max_bytes, min_one=min_one, before_offset=before_offset, is_stable=is_stable)

    def batches(self, offset: int, end_offset: int) -> Iterator[StoredBatch]:
        """Return the batches from an offset on, as `PartitionLog.batches` does, pending records included."""
        self._write()
        return super().batches(offset, end_offset)

    def available_bytes(self, offset: int, *, is_stable: bool = False) -> int:
        """Return the size of all batches, starting with the one that contains an offset; pending records included."""
        self._write()
        return super().available_bytes(offset, is_stable=is_stable)

    def leader_epoch_at(self, offset: int) -> int | None:
        """Return the leader epoch of the batch at or after an offset, or None at the end of the log."""
        self._write()
        return super().leader_epoch_at(offset)

    def offset_for_timestamp(self, timestamp_ms: int) -> OffsetAndTimestamp | None:
        """Return the first record at or after a timestamp, or None; pending records included."""
        self._write()
        return super().offset_for_timestamp(timestamp_ms)

    def max_timestamp(self) -> OffsetAndTimestamp | None:
        """Return the first record with the largest timestamp, or None; pending records included."""
        self._write()
        return super().max_timestamp()

    def slice(self, offset: int) -> tuple[list[tuple[int, R]], int]:
        """Return records with their offsets, as `entries` does, but without the ends of transactions."""
        found, next_offset = self.entries(offset)
        return [(each.offset, each.record) for each in found if isinstance(each, LogEntry)], next_offset

    def entries(self, offset: int) -> tuple[list[LogEntry[R] | TransactionEnd], int]:
        """Return the next few records and ends of transactions from an offset on, and the offset after them.

        As in Kafka, records of unknown types are left out.

        Raises:
            OffsetOutOfRangeError: The offset is not in the log.
            MalformedRecordError: A record is not what its type says.
        """
        if self._unwritten and offset >= self._first_unwritten:
            return self._objects(offset)
        found: list[LogEntry[R] | TransactionEnd] = []
        next_offset = offset
        for batch in iter_batches(super().read(offset, _SLICE_BYTES).records):
            found += (each for each in self._entries_of(batch) if each.offset >= offset)
            next_offset = batch.header.next_offset
        return found, self._first_unwritten if next_offset == offset else next_offset

    def records(self) -> Iterator[tuple[int, R]]:
        """Return all records, each with its offset. They are read slice by slice.

        Raises:
            MalformedRecordError: A record is not what its type says.
        """
        offset = self.log_start_offset
        while offset < self.end_offset:
            found, offset = self.slice(offset)
            yield from found

    # ------------------------------------------------------------------------------------------ insides

    @property
    def _first_unwritten(self) -> int:
        return self._unwritten[0].base_offset if self._unwritten else self.end_offset

    def _objects(self, offset: int) -> tuple[list[LogEntry[R] | TransactionEnd], int]:
        found: list[LogEntry[R] | TransactionEnd] = []
        for unwritten in self._unwritten:
            if len(found) >= _SLICE_RECORDS:
                return found, unwritten.base_offset
            found += (each for each in unwritten.entries() if each.offset >= offset)
        return found, self.end_offset

    def _entries_of(self, batch: RecordBatch) -> Iterator[LogEntry[R] | TransactionEnd]:
        header = batch.header
        producer = Producer(header.producer_id, header.producer_epoch) if header.is_transactional else None
        for record in batch.records():
            if header.is_control:
                committed = end_marker(record.key)
                # Control records that are not the end of a transaction change nothing for a coordinator.
                if committed is not None and producer is not None:
                    yield TransactionEnd(record.offset, producer, committed)
                continue
            # Records of types that a newer release wrote must not stop a coordinator from loading: Kafka's loaders skip
            # them, too (CoordinatorLoaderImpl.processMemoryRecords).
            with suppress(UnknownRecordTypeError):
                yield LogEntry(record.offset, self._decoded(record.key, record.value), producer)

    def _step(self, compaction: InternalCompaction, most: int) -> None:
        taken = 0
        while taken < most and not compaction.is_done:
            batch = self._batch_at(compaction.position)
            compaction.take(batch)
            taken += 0 if batch is None else batch.info.record_count
        if compaction.is_done:
            self._compaction = None
            self._replace_before(compaction.end_offset, compaction.kept())
            self.producers.transactions.deleted_before(compaction.end_offset)
            self._written_count = self._active.record_count
            self._needed_count = self.record_count

    def _batch_at(self, offset: int) -> StoredBatch | None:
        batch = self.batch_at(offset)
        # The first unwritten batch may begin later than the offset: what was between them may be gone.
        while batch is None and self._unwritten and self._unwritten[0].end_offset <= self.committed_offset:
            self._write_first()
            batch = self.batch_at(offset)
        return batch

    def _decoded(self, key: bytes | None, value: bytes | None) -> R:
        if key is None:
            raise MalformedRecordError(f"A record of {self._codec.topic} has no key.")
        return self._codec.decode(key, value)

    def _write(self) -> None:
        """Make bytes of what is committed. Nobody reads the rest."""
        while self._unwritten and self._unwritten[0].end_offset <= self.committed_offset:
            self._write_first()

    def _write_first(self) -> None:
        unwritten = self._unwritten.popleft()
        self._unwritten_count -= unwritten.size
        self._written_count += unwritten.size
        data = self._bytes_of(unwritten)
        info = BatchInfo.of(parse_header(data), unwritten.base_offset, unwritten.leader_epoch, unwritten.wall_ms)
        self._active.add(info, data, unwritten.wall_ms)

    def _bytes_of(self, unwritten: _Unwritten[R]) -> bytes:
        if unwritten.end is not None:
            return marker_batch(unwritten.end, unwritten.base_offset, unwritten.leader_epoch, unwritten.wall_ms)
        producer = unwritten.producer or _NO_PRODUCER
        encoded = map(self._codec.encode, unwritten.records)
        records = [NewRecord(value, key, timestamp_ms=unwritten.wall_ms) for key, value in encoded]
        options = BatchOptions(
            leader_epoch=unwritten.leader_epoch,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            is_transactional=unwritten.producer is not None,
        )
        return build_batch(records, unwritten.base_offset, options)
