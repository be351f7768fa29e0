"""The log of one partition: raw record batches by offset.

A leader assigns offsets and its epoch, and looks into no batch that it need not decode. Everything stays in memory
and is kept until `delete_records` or the end of the topic: there is no retention and no compaction. There are no
replicas, so the high watermark is the end of the log; there are no transactions, so the last stable offset is too.
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate

from kafka_groups.broker.log.batches import AppendResult, AppendRules, BatchInfo, OffsetAndTimestamp, ReadResult
from kafka_groups.broker.log.producers import ProducerStates
from kafka_groups.broker.log.validation import checked_batch, sole_batch
from kafka_groups.errors import CorruptRecordError, InvalidRecordError, OffsetOutOfRangeError
from kafka_groups.protocol.record_batch import (
    RecordBatch,
    iter_batches,
    with_create_time,
    with_log_append_time,
)

__all__ = ["HIGH_WATERMARK", "NO_TIMESTAMP", "PartitionLog"]

HIGH_WATERMARK = -1
"""Offset in DeleteRecords that stands for the end of the log."""
NO_TIMESTAMP = -1

_LEADERS_PART = struct.Struct(">qii")  # base offset, length, leader epoch: what comes before the magic
_DEFAULT_RULES = AppendRules()


class PartitionLog:
    """One partition's record batches in memory."""

    def __init__(self) -> None:
        self.log_start_offset = 0
        self.end_offset = 0
        self._producers = ProducerStates()
        self._forget_batches()

    def __repr__(self) -> str:
        return f"<PartitionLog {self.log_start_offset}..{self.end_offset}: {len(self._infos)} batches>"

    def __len__(self) -> int:
        """Number of batches."""
        return len(self._infos)

    @property
    def high_watermark(self) -> int:
        """The offset after the last one that may be read."""
        return self.end_offset

    @property
    def last_stable_offset(self) -> int:
        """The offset after the last one that no open transaction holds back."""
        return self.end_offset

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
        rules: AppendRules = _DEFAULT_RULES,
    ) -> AppendResult:
        """Append the one batch that a producer sent; one that it sent before is answered as then.

        Args:
            records: The batch, as it came.
            leader_epoch: Epoch of the leader that appends.
            wall_ms: Now, in milliseconds since the epoch.
            rules: What the topic's configuration says.

        Raises:
            BrokerError: The batch is refused; see `sole_batch`, `checked_batch` and `ProducerStates.check`.
        """
        batch = sole_batch(records)
        header = checked_batch(batch, rules, wall_ms)
        before = self._producers.check(header, rules.producer_expiration_ms, wall_ms)
        if before is not None:
            return AppendResult(
                before.base_offset, before.last_offset, before.timestamp_ms, self.log_start_offset, is_duplicate=True
            )
        append_time_ms = wall_ms if rules.log_append_time else NO_TIMESTAMP
        timestamp_ms = wall_ms if rules.log_append_time else header.max_timestamp_ms
        base_offset = self.end_offset
        data = _assigned(batch, base_offset, leader_epoch, append_time_ms)
        self._add(BatchInfo.of(header, base_offset, leader_epoch, timestamp_ms), data)
        self._producers.appended(header, base_offset, timestamp_ms, wall_ms)
        return AppendResult(base_offset, self.end_offset - 1, append_time_ms, self.log_start_offset)

    def append_as_is(self, records: bytes | memoryview) -> None:
        """Append batches with the offsets and epochs that they have, as a replica does.

        That is how batches come into a log which no producer may write: with gaps, as compaction leaves them, and
        transaction markers.

        Raises:
            CorruptRecordError: The bytes are no batches.
            InvalidRecordError: A batch begins before the end of the log, or ends before it begins.
        """
        for batch in iter_batches(records):
            header = batch.header
            batch.check_crc()
            if header.base_offset < self.end_offset or header.last_offset_delta < 0:
                raise InvalidRecordError(
                    f"offsets {header.base_offset} to {header.last_offset} do not follow the log, "
                    f"which ends at {self.end_offset}"
                )
            info = BatchInfo.of(header, header.base_offset, header.leader_epoch, header.max_timestamp_ms)
            self._add(info, bytes(batch.data))

    def delete_records(self, before_offset: int) -> int:
        """Delete what lies before an offset (`HIGH_WATERMARK`: everything); returns the new start of the log.

        Batches go as a whole: one that the offset splits stays, and readers skip its first records.

        Raises:
            OffsetOutOfRangeError: The offset is negative or lies beyond the end of the log.
        """
        offset = self.end_offset if before_offset == HIGH_WATERMARK else before_offset
        if not 0 <= offset <= self.end_offset:
            raise OffsetOutOfRangeError(f"offset {offset} lies outside the log, which ends at {self.end_offset}")
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self._drop_first(bisect_left(self._last_offsets, offset))
        return self.log_start_offset

    # ------------------------------------------------------------------------------------------- reading

    def read(
        self, offset: int, max_bytes: int, *, min_one: bool = True, before_offset: int | None = None
    ) -> ReadResult:
        """Whole batches from the one that holds an offset on, none of them beyond `max_bytes`.

        Args:
            offset: First offset wanted; the end of the log gives nothing.
            max_bytes: The most bytes to give.
            min_one: Whether the first batch is given even when it is larger than that.
            before_offset: Nothing that begins at this offset or later is given, except the first batch.

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
        data = self._data[first:after]
        records = data[0] if len(data) == 1 else b"".join(data)
        batches = tuple(self._infos[first:after])
        return ReadResult(records, batches, self.high_watermark, self.log_start_offset, self.last_stable_offset)

    def available_bytes(self, offset: int) -> int:
        """Size of all batches from the one that holds an offset on.

        Raises:
            OffsetOutOfRangeError: The offset is not in the log.
        """
        return self.size_bytes + self._size_before - self._size_at(self._index_of(offset))

    def leader_epoch_at(self, offset: int) -> int | None:
        """Leader epoch of the batch that holds an offset, or of the next one; None at the end of the log."""
        index = bisect_left(self._last_offsets, offset)
        return self._infos[index].leader_epoch if index < len(self._infos) else None

    def offset_for_timestamp(self, timestamp_ms: int) -> OffsetAndTimestamp | None:
        """The first record whose timestamp is the given one or a later one; None when there is none.

        Decodes one batch; more only where the records looked for were deleted from the first one.
        """
        for index in range(bisect_left(self._max_timestamps_so_far, timestamp_ms), len(self._infos)):
            if self._infos[index].max_timestamp_ms >= timestamp_ms:
                found = self._first_record(index, timestamp_ms)
                if found is not None:
                    return found
        return None

    def max_timestamp(self) -> OffsetAndTimestamp | None:
        """The first record with the largest timestamp of all; None in a log without timestamps."""
        found = (self._largest_record(index) for index in self._batches_with_largest())
        known = [record for record in found if record is not None and record.timestamp_ms != NO_TIMESTAMP]
        return max(known, key=lambda record: (record.timestamp_ms, -record.offset), default=None)

    # ------------------------------------------------------------------------------------------- insides

    def _forget_batches(self) -> None:
        # Parallel lists, as bisect needs keys of its own; entry i of each belongs to batch i.
        self._infos: list[BatchInfo] = []
        self._data: list[bytes] = []
        self._last_offsets: list[int] = []
        self._sizes_up_to: list[int] = []  # of all batches ever appended up to this one, deleted ones included
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

    def _drop_first(self, count: int) -> None:
        if count == 0:
            return
        self._size_before = self._sizes_up_to[count - 1]
        for column in (self._infos, self._data, self._last_offsets, self._sizes_up_to):
            del column[:count]
        self._max_timestamps_so_far = list(accumulate((info.max_timestamp_ms for info in self._infos), max))

    def _index_of(self, offset: int) -> int:
        if not self.log_start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRangeError(
                f"offset {offset} lies outside the log, which has {self.log_start_offset} to {self.end_offset}"
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
        # The log may begin within its first batch, after the record with the batch's largest timestamp.
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
            # A producer wrote what no one can decode: its header is all that is known of the batch.
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
