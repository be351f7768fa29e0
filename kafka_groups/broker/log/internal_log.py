"""The log of one partition of an internal topic, which its coordinator writes."""

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from attrs import frozen

from kafka_groups.broker.log.batches import AppendResult, AppendRules, BatchInfo, OffsetAndTimestamp, ReadResult
from kafka_groups.broker.log.partition_log import DEFAULT_RULES, PartitionLog
from kafka_groups.errors import MalformedRecordError, UnknownRecordTypeError
from kafka_groups.protocol.record_batch import iter_batches, parse_header
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch

__all__ = ["InternalLog", "RecordCodec"]

_SLICE_BYTES = 65_536
"""How many bytes of a log are decoded at a time."""
_SLICE_RECORDS = 500
"""How many records that are not bytes are returned at a time."""
_MOST_UNWRITTEN = 10_000
"""Records are kept as objects until someone reads the log, but hardly more than these."""


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

    def key_of(self, record: R) -> Hashable:
        """Return the key under which compaction keeps the last record."""
        ...

    def encode(self, record: R) -> tuple[bytes, bytes | None]:
        """Return the bytes of the key and the value. A tombstone has no value."""
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
    """Records that are not bytes yet."""

    base_offset: int
    records: tuple[R, ...]
    leader_epoch: int
    wall_ms: int

    @property
    def end_offset(self) -> int:
        return self.base_offset + len(self.records)


class InternalLog(PartitionLog, Generic[R]):
    """A partition's log of records with types.

    Hardly anybody reads these logs, and a coordinator writes one with every acknowledgement. So records become bytes
    with the first reading, with the same offsets, timestamps and bytes as at once.

    Args:
        codec: Encodes and decodes the records.

    Attributes:
        on_committed: Called when `committed_offset` has grown after the call that appended the records.
    """

    def __init__(self, codec: RecordCodec[R]) -> None:
        self._codec = codec
        self._unwritten: deque[_Unwritten[R]] = deque()
        self._unwritten_count = 0
        self._written_count = 0
        self.on_committed: Callable[[], None] = lambda: None
        super().__init__()

    # ------------------------------------------------------------------------------------------- writing

    def append_records(self, records: Sequence[R], leader_epoch: int, wall_ms: int) -> int:
        """Append records as one batch, and return the offset of the first.

        Args:
            records: The records, at least one.
            leader_epoch: Epoch of the appending leader.
            wall_ms: The timestamp of the records.
        """
        base_offset = self.end_offset
        self._unwritten.append(_Unwritten(base_offset, tuple(records), leader_epoch, wall_ms))
        self._unwritten_count += len(records)
        self.end_offset += len(records)
        while self._unwritten_count > _MOST_UNWRITTEN:
            self._write_first()  # a few with each append, so that none takes long
        return base_offset

    @property
    def committed_offset(self) -> int:
        """The offset before which no record will be lost. In memory that is the end of the log."""
        return self.end_offset

    def drop_uncommitted(self) -> None:
        """Lose the records that are not committed, because their broker died. In memory there are none."""

    def append(
        self,
        records: bytes | memoryview | None,
        leader_epoch: int,
        wall_ms: int,
        *,
        rules: AppendRules = DEFAULT_RULES,
    ) -> AppendResult:
        """As `PartitionLog.append`."""
        self._write()
        return super().append(records, leader_epoch, wall_ms, rules=rules)

    def append_as_is(self, records: bytes | memoryview) -> None:
        """As `PartitionLog.append_as_is`."""
        self._write()
        super().append_as_is(records)

    def delete_records(self, before_offset: int) -> int:
        """As `PartitionLog.delete_records`. Records that nobody has read are dropped as they are."""
        start = super().delete_records(before_offset)
        while self._unwritten and self._unwritten[0].end_offset <= start:
            self._unwritten_count -= len(self._unwritten.popleft().records)
        self._written_count = sum(info.record_count for info in self._infos)
        return start

    def compact(self) -> None:
        """Keep the last record of each key, unless it is a tombstone. The records that stay have their offsets."""
        last: dict[Hashable, _Unwritten[R]] = {}
        for each in self._each_record():
            [record] = each.records
            last.pop(self._codec.key_of(record), None)
            last[self._codec.key_of(record)] = each
        self._forget_batches()
        self._written_count = 0
        self._unwritten.clear()
        self._unwritten.extend(each for each in last.values() if each.records[0].value is not None)
        self._unwritten_count = len(self._unwritten)

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
        self, offset: int, max_bytes: int, *, min_one: bool = True, before_offset: int | None = None
    ) -> ReadResult:
        """As `PartitionLog.read`."""
        self._write()
        return super().read(offset, max_bytes, min_one=min_one, before_offset=before_offset)

    def available_bytes(self, offset: int) -> int:
        """As `PartitionLog.available_bytes`."""
        self._write()
        return super().available_bytes(offset)

    def leader_epoch_at(self, offset: int) -> int | None:
        """As `PartitionLog.leader_epoch_at`."""
        self._write()
        return super().leader_epoch_at(offset)

    def offset_for_timestamp(self, timestamp_ms: int) -> OffsetAndTimestamp | None:
        """As `PartitionLog.offset_for_timestamp`."""
        self._write()
        return super().offset_for_timestamp(timestamp_ms)

    def max_timestamp(self) -> OffsetAndTimestamp | None:
        """As `PartitionLog.max_timestamp`."""
        self._write()
        return super().max_timestamp()

    def slice(self, offset: int) -> tuple[list[tuple[int, R]], int]:
        """Return the next few records from an offset on, each with its offset, and the offset after them.

        As in Kafka, records of unknown types are left out.

        Raises:
            OffsetOutOfRangeError: The offset is not in the log.
            MalformedRecordError: A record is not what its type says.
        """
        if self._unwritten and offset >= self._first_unwritten:
            return self._objects(offset)
        found: list[tuple[int, R]] = []
        next_offset = offset
        for batch in iter_batches(super().read(offset, _SLICE_BYTES).records):
            for record in batch.records():
                if record.offset >= offset:
                    with suppress(UnknownRecordTypeError):
                        found.append((record.offset, self._decoded(record.key, record.value)))
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

    def _objects(self, offset: int) -> tuple[list[tuple[int, R]], int]:
        found: list[tuple[int, R]] = []
        for unwritten in self._unwritten:
            if len(found) >= _SLICE_RECORDS:
                return found, unwritten.base_offset
            for place, record in enumerate(unwritten.records, unwritten.base_offset):
                if place >= offset:
                    found.append((place, record))
        return found, self.end_offset

    def _each_record(self) -> Iterator[_Unwritten[R]]:
        for info, data in zip(self._infos, self._data, strict=True):
            for batch in iter_batches(data):
                for record in batch.records():
                    if record.offset >= self.log_start_offset:
                        decoded = self._decoded(record.key, record.value)
                        yield _Unwritten(record.offset, (decoded,), info.leader_epoch, record.timestamp or 0)
        for unwritten in self._unwritten:
            for offset, kept in enumerate(unwritten.records, unwritten.base_offset):
                yield _Unwritten(offset, (kept,), unwritten.leader_epoch, unwritten.wall_ms)

    def _decoded(self, key: bytes | None, value: bytes | None) -> R:
        if key is None:
            raise MalformedRecordError(f"A record of {self._codec.topic} has no key.")
        return self._codec.decode(key, value)

    def _write(self) -> None:
        while self._unwritten:
            self._write_first()

    def _write_first(self) -> None:
        unwritten = self._unwritten.popleft()
        self._unwritten_count -= len(unwritten.records)
        self._written_count += len(unwritten.records)
        data = self._bytes_of(unwritten)
        info = BatchInfo.of(parse_header(data), unwritten.base_offset, unwritten.leader_epoch, unwritten.wall_ms)
        self._add_at_its_place(info, data)

    def _add_at_its_place(self, info: BatchInfo, data: bytes) -> None:
        end_offset = self.end_offset
        self._add(info, data)
        self.end_offset = end_offset

    def _bytes_of(self, unwritten: _Unwritten[R]) -> bytes:
        encoded = map(self._codec.encode, unwritten.records)
        records = [NewRecord(value, key, timestamp_ms=unwritten.wall_ms) for key, value in encoded]
        return build_batch(records, unwritten.base_offset, BatchOptions(leader_epoch=unwritten.leader_epoch))
