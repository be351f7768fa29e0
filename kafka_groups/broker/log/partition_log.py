"""The log of one partition: raw record batches by offset.

A leader assigns offsets and its epoch, and decodes a batch only if it must. The log is in memory and keeps all batches
until `delete_records` or until the topic is deleted: there is no retention and no compaction. Without replicas, the
high watermark is the end of the log.
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from kafka_groups.broker.log.batches import AppendResult, AppendRules, BatchInfo, OffsetAndTimestamp, ReadResult
from kafka_groups.broker.log.compaction import StoredBatch
from kafka_groups.broker.log.entries import EndMarker
from kafka_groups.broker.log.markers import marker_batch
from kafka_groups.broker.log.producers import ProducerStates, Verification
from kafka_groups.broker.log.transactions import AbortedRange
from kafka_groups.broker.log.validation import checked_batch, sole_batch
from kafka_groups.errors import CorruptRecordError, InvalidRecordError, OffsetOutOfRangeError
from kafka_groups.protocol.record_batch import (
    RecordBatch,
    iter_batches,
    parse_header,
    with_create_time,
    with_log_append_time,
)
from kafka_groups.protocol.record_builder import end_marker

__all__ = ["DEFAULT_RULES", "HIGH_WATERMARK", "NO_TIMESTAMP", "PartitionLog"]

HIGH_WATERMARK = -1
"""Offset in DeleteRecords that means the end of the log."""
NO_TIMESTAMP = -1

_LEADERS_PART = struct.Struct(">qii")  # base offset, length, leader epoch: the fields before the magic
DEFAULT_RULES = AppendRules()


class PartitionLog:
    """One partition's record batches in memory.

    Attributes:
        log_start_offset: The first offset.
        end_offset: The offset after the last one.
        producers: The idempotent and transactional producers that wrote to it, and their transactions.
    """

    def __init__(self) -> None:
        self.log_start_offset = 0
        self.end_offset = 0
        self.producers = ProducerStates()
        self._forget_batches()

    def __repr__(self) -> str:
        return f"<PartitionLog {self.log_start_offset}..{self.end_offset}: {len(self._infos)} batches>"

    def __len__(self) -> int:
        """Number of batches."""
        return len(self._infos)

    @property
    def high_watermark(self) -> int:
        """The offset after the last readable one."""
        return self.end_offset

    @property
    def last_stable_offset(self) -> int:
        """The first offset of an open transaction, or the end of what can be read if there is none."""
        return max(self.producers.transactions.last_stable_offset(self.high_watermark), self.log_start_offset)

    @property
    def size_bytes(self) -> int:
        """Size of all batches."""
        return self._sizes_up_to[-1] - self._size_before if self._sizes_up_to else 0

    # ------------------------------------------------------------------------------------------- writing

    def append(
        self,
        records: bytes | memoryview | None,
        leader_epoch: int,
        wall_ms: int,
        *,
        rules: AppendRules = DEFAULT_RULES,
        verification: Verification | None = None,
    ) -> AppendResult:
        """Append the batch that a producer sent. A batch that it sent before gets the same result as then.

        Args:
            records: The batch as received.
            leader_epoch: Epoch of the appending leader.
            wall_ms: The current time in milliseconds since the epoch.
            rules: The topic's configuration for appends.
            verification: What the transaction coordinator was asked, if the batch may begin a transaction.

        Raises:
            BrokerError: The batch is refused; see `sole_batch`, `checked_batch` and `ProducerStates.check`.
        """
        batch = sole_batch(records)
        header = checked_batch(batch, rules, wall_ms)
        before = self.producers.check(header, rules, wall_ms, verification)
        if before is not None:
            return AppendResult(
                before.base_offset, before.last_offset, before.timestamp_ms, self.log_start_offset, is_duplicate=True
            )
        append_time_ms = wall_ms if rules.log_append_time else NO_TIMESTAMP
        timestamp_ms = wall_ms if rules.log_append_time else header.max_timestamp_ms
        base_offset = self.end_offset
        data = _assigned(batch, base_offset, leader_epoch, append_time_ms)
        self._add(BatchInfo.of(header, base_offset, leader_epoch, timestamp_ms), data)
        self.producers.appended(header, base_offset, timestamp_ms, wall_ms)
        return AppendResult(base_offset, self.end_offset - 1, append_time_ms, self.log_start_offset)

    def append_end(self, marker: EndMarker, leader_epoch: int, wall_ms: int) -> int:
        """Append the marker of a transaction that has ended, and return its offset.

        Raises:
            InvalidProducerEpochError, TransactionCoordinatorFencedError: See `ProducerStates.check_marker`.
        """
        self.producers.check_marker(marker)
        base_offset = self.end_offset
        data = marker_batch(marker, base_offset, leader_epoch, wall_ms)
        self._add(BatchInfo.of(parse_header(data), base_offset, leader_epoch, wall_ms), data)
        self.producers.ended(marker, base_offset, self.high_watermark, wall_ms)
        return base_offset

    def append_as_is(self, records: bytes | memoryview) -> None:
        """Append batches with their existing offsets and epochs, like a replica.

        Use this for batches that a producer can't write: batches with gaps, as after compaction, and transaction
        markers.

        Raises:
            CorruptRecordError: The bytes are not batches.
            InvalidRecordError: A batch starts before the end of the log, or ends before it starts.
        """
        for batch in iter_batches(records):
            header = batch.header
            batch.check_crc()
            if header.base_offset < self.end_offset or header.last_offset_delta < 0:
                raise InvalidRecordError(
                    f"Offsets {header.base_offset} to {header.last_offset} do not follow the log, "
                    f"which ends at {self.end_offset}."
                )
            info = BatchInfo.of(header, header.base_offset, header.leader_epoch, header.max_timestamp_ms)
            self._add(info, bytes(batch.data))
            self._note_transaction(batch)

    def delete_records(self, before_offset: int) -> int:
        """Delete the records before an offset (`HIGH_WATERMARK`: all records) and return the new start of the log.

        Only whole batches are deleted. If the offset is in the middle of a batch, the batch stays and readers skip its
        first records.

        Raises:
            OffsetOutOfRangeError: The offset is negative or beyond the end of the log.
        """
        offset = self.end_offset if before_offset == HIGH_WATERMARK else before_offset
        if not 0 <= offset <= self.end_offset:
            raise OffsetOutOfRangeError(f"Offset {offset} is outside the log, which ends at {self.end_offset}.")
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.producers.transactions.deleted_before(offset)
            self._drop_first(bisect_left(self._last_offsets, offset))
        return self.log_start_offset

    # ------------------------------------------------------------------------------------------- reading

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        min_one: bool = True,
        before_offset: int | None = None,
        is_stable: bool = False,
    ) -> ReadResult:
        """Return whole batches, starting with the one that contains an offset, up to `max_bytes`.

        Args:
            offset: The first offset. At the end of the log the result is empty.
            max_bytes: Maximum number of bytes to return.
            min_one: Whether to return the first batch even if it is larger than `max_bytes`.
            before_offset: Batches that start at this offset or later are not returned, except the first one.
            is_stable: Whether to return only batches before the last stable offset.

        Raises:
            OffsetOutOfRangeError: The offset is not in the log.
        """
        first = self._index_of(offset)
        size_before = self._size_at(first)
        after = bisect_right(self._sizes_up_to, size_before + max_bytes, lo=first)
        if min_one and after == first:
            after = min(first + 1, len(self._infos))
        if before_offset is not None:
            after = min(after, max(bisect_left(self._last_offsets, before_offset - 1), first) + 1)
        stable_offset = self.last_stable_offset
        if is_stable:
            after = max(min(after, bisect_left(self._last_offsets, stable_offset)), first)
        data = self._data[first:after]
        records = data[0] if len(data) == 1 else b"".join(data)
        batches = tuple(self._infos[first:after])
        return ReadResult(records, batches, self.high_watermark, self.log_start_offset, stable_offset)

    def available_bytes(self, offset: int, *, is_stable: bool = False) -> int:
        """Return the size of all batches, starting with the one that contains an offset.

        Args:
            offset: The offset.
            is_stable: Whether only batches before the last stable offset count.

        Raises:
            OffsetOutOfRangeError: The offset is not in the log.
        """
        first = self._index_of(offset)
        after = bisect_left(self._last_offsets, self.last_stable_offset) if is_stable else len(self._infos)
        return max(self._size_at(after) - self._size_at(first), 0)

    def aborted_between(self, offset: int, end_offset: int) -> Iterator[AbortedRange]:
        """Return the aborted transactions that readers of these offsets have to know."""
        return self.producers.transactions.aborted_between(offset, end_offset)

    def leader_epoch_at(self, offset: int) -> int | None:
        """Return the leader epoch of the batch at or after an offset, or None at the end of the log."""
        index = bisect_left(self._last_offsets, offset)
        return self._infos[index].leader_epoch if index < len(self._infos) else None

    def offset_for_timestamp(self, timestamp_ms: int) -> OffsetAndTimestamp | None:
        """Return the first record at or after a timestamp, or None.

        Decodes one batch, or more if the matching records of the first one were deleted.
        """
        for index in range(bisect_left(self._max_timestamps_so_far, timestamp_ms), len(self._infos)):
            if self._infos[index].max_timestamp_ms >= timestamp_ms:
                found = self._first_record(index, timestamp_ms)
                if found is not None:
                    return found
        return None

    def max_timestamp(self) -> OffsetAndTimestamp | None:
        """Return the first record with the largest timestamp, or None in a log without timestamps."""
        found = (self._largest_record(index) for index in self._batches_with_largest())
        known = [record for record in found if record is not None and record.timestamp_ms != NO_TIMESTAMP]
        return max(known, key=lambda record: (record.timestamp_ms, -record.offset), default=None)

    # ------------------------------------------------------------------------------------------- insides

    def _forget_batches(self) -> None:
        # Parallel lists, because bisect needs its own list of keys. Entry i of each list belongs to batch i.
        self._infos: list[BatchInfo] = []
        self._data: list[bytes] = []
        self._last_offsets: list[int] = []
        self._sizes_up_to: list[int] = []  # of all batches up to this one, including deleted ones
        self._max_timestamps_so_far: list[int] = []
        self._size_before = 0  # of the deleted ones

    def _add(self, info: BatchInfo, data: bytes) -> None:
        so_far = self._max_timestamps_so_far
        self._sizes_up_to.append(self._size_at(len(self._infos)) + info.size_bytes)
        so_far.append(max(so_far[-1], info.max_timestamp_ms) if so_far else info.max_timestamp_ms)
        self._infos.append(info)
        self._data.append(data)
        self._last_offsets.append(info.last_offset)
        self.end_offset = info.last_offset + 1

    def _note_transaction(self, batch: RecordBatch) -> None:
        header = batch.header
        transactions = self.producers.transactions
        if header.is_control:
            committed = end_marker(next((record.key for record in batch.records()), None))
            if committed is not None:
                transactions.ended(header.producer_id, header.base_offset, self.high_watermark, committed=committed)
        elif header.is_transactional:
            transactions.begun(header.producer_id, header.base_offset)

    def _drop_first(self, count: int) -> None:
        if count == 0:
            return
        self._size_before = self._sizes_up_to[count - 1]
        for column in (self._infos, self._data, self._last_offsets, self._sizes_up_to):
            del column[:count]
        self._max_timestamps_so_far = list(accumulate((info.max_timestamp_ms for info in self._infos), max))

    def _replace_before(self, offset: int, batches: Iterable[StoredBatch]) -> None:
        """Replace all batches before an offset, with which a batch begins."""
        first = bisect_left(self._last_offsets, offset)
        end_offset, infos, data = self.end_offset, self._infos[first:], self._data[first:]
        self._forget_batches()
        for batch in batches:
            self._add(batch.info, batch.data)
        for info, each in zip(infos, data, strict=True):
            self._add(info, each)
        self.end_offset = end_offset

    def _index_of(self, offset: int) -> int:
        if not self.log_start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRangeError(
                f"Offset {offset} is outside the log, which contains {self.log_start_offset} to {self.end_offset}."
            )
        return bisect_left(self._last_offsets, offset)

    def _size_at(self, index: int) -> int:
        return self._sizes_up_to[index - 1] if index else self._size_before

    def _first_record(self, index: int, timestamp_ms: int) -> OffsetAndTimestamp | None:
        return next((record for record in self._records(index) if record.timestamp_ms >= timestamp_ms), None)

    def _largest_record(self, index: int) -> OffsetAndTimestamp | None:
        return max(self._records(index), key=lambda record: record.timestamp_ms, default=None)

    def _batches_with_largest(self) -> list[int]:
        so_far = self._max_timestamps_so_far
        if not so_far:
            return []
        first = bisect_left(so_far, so_far[-1])
        if first > 0 or len(so_far) == 1:
            return [first]
        # The log may start within its first batch, after the record with the batch's largest timestamp.
        return [0, max(range(1, len(so_far)), key=lambda index: self._infos[index].max_timestamp_ms)]

    def _records(self, index: int) -> Iterator[OffsetAndTimestamp]:
        info = self._infos[index]
        (batch,) = iter_batches(self._data[index])
        try:
            for record in batch.records():
                if record.offset >= self.log_start_offset:
                    timestamp_ms = NO_TIMESTAMP if record.timestamp is None else record.timestamp
                    yield OffsetAndTimestamp(record.offset, timestamp_ms, info.leader_epoch)
        except CorruptRecordError:
            # A producer wrote a batch that can't be decoded. Only its header is known.
            offset = max(info.base_offset, self.log_start_offset)
            yield OffsetAndTimestamp(offset, info.max_timestamp_ms, info.leader_epoch)


def _assigned(batch: RecordBatch, base_offset: int, leader_epoch: int, append_time_ms: int) -> bytes:
    start = _LEADERS_PART.pack(base_offset, batch.header.length, leader_epoch)
    data = b"".join((start, batch.data[_LEADERS_PART.size :]))
    if append_time_ms == NO_TIMESTAMP and not batch.header.is_log_append_time:
        return data
    timed = bytearray(data)
    if append_time_ms == NO_TIMESTAMP:
        with_create_time(timed)
    else:
        with_log_append_time(timed, append_time_ms)
    return bytes(timed)
