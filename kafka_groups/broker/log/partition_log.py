"""The log of one partition: raw record batches by offset.

A leader assigns offsets and its epoch, and decodes a batch only if it must. The log is in memory, in segments, of which
the cleaner deletes or compacts those that are not active any more. Without replicas, the high watermark is the end of
the log.
"""

import heapq
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from kafka_groups.broker.log.batches import AppendResult, AppendRules, BatchInfo, OffsetAndTimestamp, ReadResult
from kafka_groups.broker.log.entries import EndMarker
from kafka_groups.broker.log.leader_epochs import EpochEnd, LeaderEpochs
from kafka_groups.broker.log.log_transactions import AbortedRange
from kafka_groups.broker.log.markers import marker_batch
from kafka_groups.broker.log.producers import ProducerStates, Verification
from kafka_groups.broker.log.reloading import producers_of
from kafka_groups.broker.log.segment import Segment, StoredBatch
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
        epochs: The leader epochs in which it was written.
        clean_offset: The offset before which it has been compacted.
    """

    def __init__(self) -> None:
        self.log_start_offset = 0
        self.end_offset = 0
        self.producers = ProducerStates()
        self.epochs = LeaderEpochs()
        self.clean_offset = 0
        self._segments = [Segment(0)]
        self._bounds = DEFAULT_RULES

    def __repr__(self) -> str:
        return f"<PartitionLog {self.log_start_offset}..{self.end_offset}: {len(self)} batches>"

    def __len__(self) -> int:
        """Number of batches."""
        return sum(map(len, self._segments))

    @property
    def high_watermark(self) -> int:
        """The offset after the last readable one."""
        # Kafka's high watermark waits for the replicas. There are none.
        return self.end_offset

    @property
    def last_stable_offset(self) -> int:
        """The first offset of an open transaction, or the end of what can be read if there is none."""
        # A transaction may have begun before records were deleted. Nobody can read from there any more.
        return max(self.producers.transactions.last_stable_offset(self.high_watermark), self.log_start_offset)

    @property
    def size_bytes(self) -> int:
        """Size of all batches."""
        return sum(segment.size_bytes for segment in self._segments)

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
        # The producer did not get the result and has sent the batch again. It gets the same offsets as then
        # (UnifiedLog.append in Kafka).
        if before is not None:
            return AppendResult(
                before.base_offset, before.last_offset, before.timestamp_ms, self.log_start_offset, is_duplicate=True
            )
        append_time_ms = wall_ms if rules.log_append_time else NO_TIMESTAMP
        # With `LogAppendTime`, all searches by time go by the broker's clock.
        timestamp_ms = wall_ms if rules.log_append_time else header.max_timestamp_ms
        self._bounds = rules
        self._make_room(header.size_bytes, timestamp_ms, wall_ms)
        base_offset = self.end_offset
        data = _assigned(batch, base_offset, leader_epoch, append_time_ms)
        self._add(BatchInfo.of(header, base_offset, leader_epoch, timestamp_ms), data, wall_ms)
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
        self._make_room(len(data), wall_ms, wall_ms)
        self._add(BatchInfo.of(parse_header(data), base_offset, leader_epoch, wall_ms), data, wall_ms)
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
            # Gaps are allowed, and steps back are not: a replica copies what compaction has left.
            if header.base_offset < self.end_offset or header.last_offset_delta < 0:
                raise InvalidRecordError(
                    f"Offsets {header.base_offset} to {header.last_offset} do not follow the log, "
                    f"which ends at {self.end_offset}."
                )
            info = BatchInfo.of(header, header.base_offset, header.leader_epoch, header.max_timestamp_ms)
            self._add(info, bytes(batch.data), header.max_timestamp_ms)
            self._note_transaction(batch)

    def delete_records(self, before_offset: int) -> int:
        """Delete the records before an offset (`HIGH_WATERMARK`: all records) and return the new start of the log.

        Only whole batches are deleted. If the offset is in the middle of a batch, the batch stays and readers skip its
        first records.

        Raises:
            OffsetOutOfRangeError: The offset is negative or beyond the end of the log.
        """
        offset = self.end_offset if before_offset == HIGH_WATERMARK else before_offset
        # Kafka refuses an offset beyond the high watermark, which is the end of the log here
        # (Partition.deleteRecordsOnLeader).
        if not 0 <= offset <= self.end_offset:
            raise OffsetOutOfRangeError(f"Offset {offset} is outside the log, which ends at {self.end_offset}.")
        # The start of a log never moves back: an earlier offset succeeds and changes nothing
        # (UnifiedLog.maybeIncrementLogStartOffset).
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.producers.transactions.deleted_before(offset)
            self.epochs.deleted_before(offset)
            del self._segments[: self._index_of_segment(offset)]
            self._segments[0].drop_before(offset)
        return self.log_start_offset

    def truncate(self, end_offset: int, wall_ms: int) -> int:
        """Lose the batches from an offset on, and return the new end of the log.

        A leader that was elected although it was not in sync has such a log. If the offset is in the middle of a batch,
        the whole batch is lost. What is known of producers and transactions is read from the batches that are left.

        Args:
            end_offset: The offset.
            wall_ms: The time.

        Raises:
            OffsetOutOfRangeError: The offset is not in the log.
        """
        self.check_offset(end_offset)
        first_lost = self.batch_at(end_offset)
        if first_lost is None:
            return self.end_offset
        self.end_offset = max(min(end_offset, first_lost.info.base_offset), self.log_start_offset)
        last = self._index_of_segment(end_offset)
        self._segments[last:] = [self._segments[last].before(end_offset)]
        self.clean_offset = min(self.clean_offset, self.end_offset)
        self.epochs.truncated(self.end_offset)
        # Kafka goes back to a snapshot of the producers, and reads the batches after it
        # (ProducerStateManager.truncateAndReload).
        self.producers = producers_of(chain.from_iterable(self._segments), self.end_offset, wall_ms)
        return self.end_offset

    # ------------------------------------------------------------------------------------------- segments

    @property
    def segments(self) -> Sequence[Segment]:
        """The segments in the order of their offsets. The last one is active: batches are added to it."""
        return tuple(self._segments)

    def roll(self) -> None:
        """Begin a segment, unless the active one has no batches."""
        if len(self._active):
            self._segments.append(Segment(self.end_offset))

    def replace_segments(self, old: Sequence[Segment], new: Segment) -> bool:
        """Replace segments that follow each other. Returns False, and changes nothing, if one of them is gone."""
        first = self._index_of_segment(old[0].base_offset)
        # Something was deleted while the copy was made, so it would bring deleted records back.
        if self._segments[first : first + len(old)] != list(old):
            return False
        new.drop_before(self.log_start_offset)
        self._segments[first : first + len(old)] = [new]
        return True

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

        As in Kafka, all of them are of one segment.

        Args:
            offset: The first offset. At the end of the log the result is empty.
            max_bytes: Maximum number of bytes to return.
            min_one: Whether to return the first batch even if it is larger than `max_bytes`.
            before_offset: Batches that start at this offset or later are not returned, except the first one.
            is_stable: Whether to return only batches before the last stable offset.

        Raises:
            OffsetOutOfRangeError: The offset is not in the log.
        """
        self.check_offset(offset)
        stable_offset = self.last_stable_offset
        data: list[bytes] = []
        batches: list[BatchInfo] = []
        for segment in self._segments_from(offset):
            first = segment.index_of(offset)
            most = segment.index_of(stable_offset) if is_stable else len(segment)
            after = min(segment.after_bytes(first, max_bytes), most)
            # A consumer whose limit is smaller than a batch must not be stuck: the first batch is returned anyway
            # (KIP-74; `minOneMessage` of LogSegment.read in Kafka).
            if min_one and after <= first:
                after = min(first + 1, most)
            if before_offset is not None:
                after = min(after, segment.index_from(before_offset, at_least=first + 1))
            # As in Kafka, a read ends with the segment that it began in (LocalLog.read). Only an empty one is passed
            # over.
            if first < len(segment):
                data, batches = segment.data(first, after), segment.infos(first, after)
                break
        records = data[0] if len(data) == 1 else b"".join(data)
        return ReadResult(records, tuple(batches), self.high_watermark, self.log_start_offset, stable_offset)

    def check_offset(self, offset: int) -> None:
        """Check that an offset is in the log, or is its end.

        Raises:
            OffsetOutOfRangeError: It is not.
        """
        if not self.log_start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRangeError(
                f"Offset {offset} is outside the log, which contains {self.log_start_offset} to {self.end_offset}."
            )

    def batches(self, offset: int, end_offset: int) -> Iterator[StoredBatch]:
        """Return the batches from the one that contains an offset on, up to the last that begins before another one."""
        for segment in self._segments_from(offset):
            for batch in segment.since(offset):
                if batch.info.base_offset >= end_offset:
                    return
                yield batch

    def batch_at(self, offset: int) -> StoredBatch | None:
        """Return the batch with an offset, or the next one, or None if there is none."""
        found = (segment.batch_at(offset) for segment in self._segments_from(offset))
        return next((batch for batch in found if batch is not None), None)

    def available_bytes(self, offset: int, *, is_stable: bool = False) -> int:
        """Return the size of all batches, starting with the one that contains an offset.

        Args:
            offset: The offset.
            is_stable: Whether only batches before the last stable offset count.

        Raises:
            OffsetOutOfRangeError: The offset is not in the log.
        """
        self.check_offset(offset)
        end_offset = self.last_stable_offset if is_stable else self.end_offset
        available = 0
        for segment in self._segments_from(offset):
            first, after = segment.index_of(offset), segment.index_of(end_offset)
            available += max(segment.size_at(after) - segment.size_at(first), 0)
        return available

    def divergence(self, offset: int, fetched_epoch: int, leader_epoch: int) -> EpochEnd | None:
        """Return where the records of a reader diverge from this log, or None if the reader may go on.

        Args:
            offset: The offset that the reader wants next.
            fetched_epoch: The leader epoch of the last batch that it has.
            leader_epoch: The epoch of the leader.

        Raises:
            OffsetOutOfRangeError: The leader does not have the epoch, or the offset is before the start of the log.
        """
        # The order of the checks is that of Partition.readRecords in Kafka. An offset before the start of the log is
        # out of range even if the logs diverge, as the reader has to look for another offset in any case.
        end = self.epochs.end_of(fetched_epoch, leader_epoch, self.end_offset)
        if end is None:
            raise OffsetOutOfRangeError(f"Leader epoch {fetched_epoch} is newer than {leader_epoch}.")
        if offset < self.log_start_offset:
            self.check_offset(offset)
        return end if end.epoch < fetched_epoch or end.end_offset < offset else None

    def aborted_between(self, offset: int, end_offset: int) -> Iterator[AbortedRange]:
        """Return the aborted transactions that readers of these offsets have to know."""
        return self.producers.transactions.aborted_between(offset, end_offset)

    def leader_epoch_at(self, offset: int) -> int | None:
        """Return the leader epoch of the batch at or after an offset, or None at the end of the log."""
        batch = self.batch_at(offset)
        return None if batch is None else batch.info.leader_epoch

    def offset_for_timestamp(self, timestamp_ms: int) -> OffsetAndTimestamp | None:
        """Return the first record at or after a timestamp, or None.

        Decodes one batch, or more if the matching records of the first one were deleted.
        """
        # DeleteRecords may have cut off the first part of a batch, and with it the records that were young enough. So
        # the search may need more than one batch.
        for segment in self._segments:
            for batch in segment.first_since(timestamp_ms):
                found = self._first_record(batch, timestamp_ms)
                if found is not None:
                    return found
        return None

    def max_timestamp(self) -> OffsetAndTimestamp | None:
        """Return the first record with the largest timestamp, or None in a log without timestamps."""
        found = (self._largest_record(batch) for batch in self._batches_with_largest())
        known = [record for record in found if record is not None and record.timestamp_ms != NO_TIMESTAMP]
        return max(known, key=lambda record: (record.timestamp_ms, -record.offset), default=None)

    # ------------------------------------------------------------------------------------------- insides

    @property
    def _active(self) -> Segment:
        """The segment that batches are added to."""
        return self._segments[-1]

    def _add(self, info: BatchInfo, data: bytes, wall_ms: int) -> None:
        self._active.add(info, data, wall_ms)
        self.epochs.begun(info.leader_epoch, info.base_offset)
        self.end_offset = info.last_offset + 1

    def _make_room(self, size_bytes: int, max_timestamp_ms: int, wall_ms: int) -> None:
        """Begin a segment if the next batch does not fit into the active one."""
        active, bounds = self._active, self._bounds
        first_ms = active.first_timestamp_ms
        # Kafka measures the age of a segment by timestamps, so that records of long ago, sent again in one go, are
        # still divided by their time. Only without timestamps the clock counts (LogSegment.timeWaitedForRoll).
        waited_ms = max_timestamp_ms - first_ms if first_ms >= 0 else wall_ms - active.created_ms
        # See LogSegment.shouldRoll in Kafka.
        if len(active) and (active.size_bytes > bounds.segment_bytes - size_bytes or waited_ms > bounds.segment_ms):
            self.roll()

    def _note_transaction(self, batch: RecordBatch) -> None:
        header = batch.header
        transactions = self.producers.transactions
        if header.is_control:
            committed = end_marker(next((record.key for record in batch.records()), None))
            if committed is not None:
                transactions.ended(header.producer_id, header.base_offset, self.high_watermark, committed=committed)
        elif header.is_transactional:
            transactions.begun(header.producer_id, header.base_offset)

    def _replace_before(self, offset: int, batches: Iterable[StoredBatch]) -> None:
        """Replace all batches of the active segment before an offset, with which a batch begins."""
        active = self._active
        segment = Segment(active.base_offset)
        for batch in (*batches, *active.since(offset)):
            segment.add(batch.info, batch.data, active.modified_ms)
        self._segments[-1] = segment

    def _index_of_segment(self, offset: int) -> int:
        return max(bisect_right(self._segments, offset, key=_base_offset) - 1, 0)

    def _segments_from(self, offset: int) -> Sequence[Segment]:
        """Return the segment with an offset, and those after it."""
        active = self._segments[-1:]
        return active if offset >= active[0].base_offset else self._segments[self._index_of_segment(offset) :]

    def _first_record(self, batch: StoredBatch, timestamp_ms: int) -> OffsetAndTimestamp | None:
        return next((record for record in self._records(batch) if record.timestamp_ms >= timestamp_ms), None)

    def _largest_record(self, batch: StoredBatch) -> OffsetAndTimestamp | None:
        return max(self._records(batch), key=lambda record: record.timestamp_ms, default=None)

    def _batches_with_largest(self) -> Iterator[StoredBatch]:
        """Return the batches one of which has the record with the largest timestamp."""
        latest = [batch for batch in (segment.latest() for segment in self._segments) if batch is not None]
        if not latest:
            return
        first = max(latest, key=_max_timestamp)
        yield first
        if first.info.base_offset < self.log_start_offset:
            # The log starts within this batch, maybe after the record with the largest timestamp.
            rest = (batch for segment in self._segments for batch in segment if batch.info != first.info)
            yield from heapq.nlargest(1, rest, key=_max_timestamp)

    def _records(self, batch: StoredBatch) -> Iterator[OffsetAndTimestamp]:
        info = batch.info
        (encoded,) = iter_batches(batch.data)
        try:
            for record in encoded.records():
                if record.offset >= self.log_start_offset:
                    timestamp_ms = NO_TIMESTAMP if record.timestamp is None else record.timestamp
                    yield OffsetAndTimestamp(record.offset, timestamp_ms, info.leader_epoch)
        except CorruptRecordError:
            # A producer wrote a batch that can't be decoded. Only its header is known.
            offset = max(info.base_offset, self.log_start_offset)
            yield OffsetAndTimestamp(offset, info.max_timestamp_ms, info.leader_epoch)


def _base_offset(segment: Segment) -> int:
    return segment.base_offset


def _max_timestamp(batch: StoredBatch) -> int:
    return batch.info.max_timestamp_ms


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
