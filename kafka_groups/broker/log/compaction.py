"""Compaction of a topic's log, as Kafka's cleaner does it: of each key the last record stays, with its offset.

A pass reads the segments that it may touch twice. First it notes the last offset of each key in the part that is new.
Then it copies what stays of all segments before the end of that part. Each copy takes its place as soon as it is
complete, so a pass can stop anywhere. Batches keep their offsets, producers and sequence numbers; readers meet gaps.

A tombstone, and the marker of a transaction without records, stay for `delete.retention.ms` after the first pass that
found nothing else to keep them for, so that no reader who began before misses them.
"""

from collections.abc import Generator, Iterator, Sequence
from itertools import islice

from attrs import evolve

from kafka_groups.broker.log.batches import BatchInfo
from kafka_groups.broker.log.cleaning import Cleanable, CleaningRules
from kafka_groups.broker.log.log_transactions import AbortedRange
from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.log.segment import Segment, StoredBatch
from kafka_groups.protocol.record_batch import DecodedRecord, RecordBatch, iter_batches
from kafka_groups.protocol.record_builder import reduced_batch

__all__ = ["MOST_KEYS", "CompactionPass"]

MOST_KEYS = 1_000_000
"""The keys that a pass remembers. Where there are more, the next pass continues."""
_RECORDS_OF_A_STEP = 100
_COST_OF_A_BATCH = 10
"""Records that take as long as a batch without any."""


class CompactionPass:
    """One pass.

    Args:
        log: The log.
        part: What the pass may touch.
        rules: The topic's configuration.
        wall_ms: The time of the pass.
        most_keys: The number of keys that it remembers.
    """

    def __init__(
        self,
        log: PartitionLog,
        part: Cleanable,
        rules: CleaningRules,
        wall_ms: int,
        *,
        most_keys: int = MOST_KEYS,
    ) -> None:
        self._log = log
        self._part = part
        self._rules = rules
        self._wall_ms = wall_ms
        self._most_keys = most_keys
        self._last_offset_of: dict[bytes, int] = {}
        self._end_offset = part.dirty_offset  # of what was noted
        self._transactions = _Transactions(log.aborted_between(log.log_start_offset, part.end_offset))

    def __repr__(self) -> str:
        return f"<CompactionPass of {self._log!r} up to {self._part.end_offset}>"

    def work(self) -> Generator[int, None, None]:
        """Do the pass in small steps. Yields the cost of each, in records.

        Anything may happen to the log between two steps. If segments that are being copied are deleted, the pass ends.

        Raises:
            CorruptRecordError: A producer wrote a batch that cannot be decoded.
        """
        yield from self._note_keys()
        segments = [each for each in self._log.segments if each.base_offset < self._end_offset]
        for group in _groups(segments, self._rules.segment_bytes):
            copy = yield from self._copied(group)
            # Retention or DeleteRecords has taken the segments in the meantime. The next pass begins with what is left.
            if not self._log.replace_segments(group, copy):
                return
        # Only a complete pass counts: of a part that stops, some keys may have older records left.
        self._log.clean_offset = self._end_offset
        self._log.producers.transactions.forget_aborted(self._transactions.without_records)

    # ------------------------------------------------------------------------------------------- first

    def _note_keys(self) -> Generator[int, None, None]:
        offset = self._part.dirty_offset
        while offset < self._part.end_offset:
            batch = self._log.batch_at(offset)
            if batch is None or batch.info.base_offset >= self._part.end_offset:
                break
            yield from self._note(batch, offset)
            # Kafka's pass is also bounded by the size of its map of keys (Cleaner.buildOffsetMap). The offsets after
            # this batch stay as they are, and the next pass begins there.
            if len(self._last_offset_of) > self._most_keys:
                self._end_offset = batch.info.last_offset + 1
                return
            offset = batch.info.last_offset + 1
        self._end_offset = self._part.end_offset

    def _note(self, batch: StoredBatch, first_offset: int) -> Generator[int, None, None]:
        # Neither a marker nor an aborted record supersedes a record: for readers of committed records they do not exist
        # (Cleaner.buildOffsetMapForSegment in Kafka).
        if not batch.info.is_control and self._transactions.aborted(batch.info) is None:
            for records in _steps(_decoded(batch)):
                self._last_offset_of.update(
                    (record.key, record.offset)
                    for record in records
                    if record.key is not None and record.offset >= first_offset
                )
                yield len(records)
        yield _COST_OF_A_BATCH

    # ------------------------------------------------------------------------------------------- second

    def _copied(self, group: Sequence[Segment]) -> Generator[int, None, Segment]:
        copy = Segment(group[0].base_offset)
        for segment in group:
            offset = segment.base_offset
            while (batch := segment.batch_at(offset)) is not None:
                kept = yield from self._kept(batch)
                if kept is not None:
                    copy.add(kept.info, kept.data, segment.modified_ms)
                yield _COST_OF_A_BATCH
                offset = batch.info.last_offset + 1
        return copy

    def _kept(self, batch: StoredBatch) -> Generator[int, None, StoredBatch | None]:
        """Return what stays of a batch, or None."""
        # Every batch is shown to `_transactions`, because it follows the order of the log.
        is_gone = self._transactions.is_without_effect(batch)
        if batch.info.is_control:
            return self._kept_marker(batch, is_gone=is_gone)
        records: list[DecodedRecord] = []
        for some in () if is_gone else _steps(_decoded(batch)):
            records += (record for record in some if self._stays(record, batch))
            yield len(some)
        # Nothing goes, so the bytes of the batch need not be built again.
        if len(records) == batch.info.record_count and records:
            return self._dated(batch, records)
        # Kafka calls this DELETE_EMPTY (Cleaner.cleanInto): without records, a batch stays only for its header.
        if not records and not self._keeps_header(batch):
            return None
        data = reduced_batch(_batch_of(batch).header, records)
        yield len(records)
        info = evolve(batch.info, size_bytes=len(data), record_count=len(records))
        return self._dated(StoredBatch(info, data), records)

    def _stays(self, record: DecodedRecord, batch: StoredBatch) -> bool:
        # Nothing is known about keys after the end of the pass (Cleaner.shouldRetainRecord in Kafka). A batch may reach
        # over it.
        if record.offset >= self._end_offset:
            return True
        # Only the last record of a key stays. One without a key cannot be superseded and goes: it dates from a time
        # before the topic was compacted (Cleaner.shouldRetainRecord).
        if record.key is None or self._last_offset_of.get(record.key, -1) > record.offset:
            return False
        # A tombstone stays until its horizon is past, so that readers learn that the key was deleted.
        return record.value is not None or not self._is_past_horizon(batch)

    def _kept_marker(self, batch: StoredBatch, *, is_gone: bool) -> StoredBatch | None:
        # Of its transaction there are records left, and readers need the marker to know how it ended
        # (CleanedTransactionMetadata.onControlBatchRead in Kafka).
        if not is_gone:
            return batch
        # Without records the marker stays for `delete.retention.ms` more, like a tombstone: a reader may have begun
        # before its records went.
        if not self._is_past_horizon(batch):
            return self._with_horizon(batch)
        # Later the marker itself goes. The header may have to stay without it.
        if self._keeps_header(batch):
            data = reduced_batch(_batch_of(batch).header, ())
            return StoredBatch(evolve(batch.info, size_bytes=len(data), record_count=0), data)
        return None

    def _keeps_header(self, batch: StoredBatch) -> bool:
        """Return whether the header of a batch without records stays.

        The last one tells readers how far they have come, and that of a producer's last batch the sequence number.
        """
        # These are the two cases of RETAIN_EMPTY in Kafka (Cleaner.cleanInto).
        header = _batch_of(batch).header
        return header.next_offset == self._part.end_offset or self._log.producers.is_last_batch(header)

    def _dated(self, batch: StoredBatch, records: Sequence[DecodedRecord]) -> StoredBatch:
        has_tombstones = any(record.value is None for record in records)
        return self._with_horizon(batch) if has_tombstones else batch

    def _with_horizon(self, batch: StoredBatch) -> StoredBatch:
        # The first pass sets the horizon. If later passes moved it, tombstones would never go where a log is compacted
        # often.
        if batch.info.delete_horizon_ms >= 0:
            return batch
        horizon_ms = self._wall_ms + self._rules.delete_retention_ms
        return StoredBatch(evolve(batch.info, delete_horizon_ms=horizon_ms), batch.data)

    def _is_past_horizon(self, batch: StoredBatch) -> bool:
        return 0 <= batch.info.delete_horizon_ms <= self._wall_ms


class _Transactions:
    """The transactions of the batches that a pass has met so far, in the order of their offsets.

    Attributes:
        without_records: The offsets of the markers that abort transactions of which no record is left.
    """

    def __init__(self, aborted: Iterator[AbortedRange]) -> None:
        self.without_records: set[int] = set()
        self._aborted: dict[int, list[AbortedRange]] = {}
        for each in aborted:
            self._aborted.setdefault(each.producer_id, []).append(each)
        self._met: set[int] = set()

    def aborted(self, info: BatchInfo) -> AbortedRange | None:
        """Return the aborted transaction that a batch belongs to, if it does."""
        ranges = self._aborted.get(info.producer_id, ()) if info.is_transactional else ()
        return next((each for each in ranges if each.first_offset <= info.base_offset < each.last_offset), None)

    def is_without_effect(self, batch: StoredBatch) -> bool:
        """Return whether a batch was aborted, or is the marker of a transaction of which no record is left."""
        info = batch.info
        # The records of an aborted transaction go at once: no reader of committed records may see them, and `_met`
        # keeps their marker for this pass (CleanedTransactionMetadata.onBatchRead in Kafka).
        if not info.is_control:
            if info.is_transactional:
                self._met.add(info.producer_id)
            return self.aborted(info) is not None
        # The pass has met records of this transaction, so its marker is still needed.
        if info.producer_id in self._met:
            self._met.discard(info.producer_id)
            return False
        # No reader has to skip records of this transaction any more. If it was aborted, its entry in the index goes
        # after this pass, even while the marker stays.
        self.without_records.add(info.base_offset)
        return True


def _groups(segments: Sequence[Segment], segment_bytes: int) -> Iterator[list[Segment]]:
    """Return segments that follow each other, together as long as they fit into one."""
    group: list[Segment] = []
    size = 0
    for segment in segments:
        # Small segments are put together, so that a log that shrinks does not end in many tiny ones
        # (Cleaner.groupSegmentsBySize in Kafka).
        if group and size + segment.size_bytes > segment_bytes:
            yield group
            group, size = [], 0
        group.append(segment)
        size += segment.size_bytes
    if group:
        yield group


def _batch_of(batch: StoredBatch) -> RecordBatch:
    (encoded,) = iter_batches(batch.data)
    return encoded


def _decoded(batch: StoredBatch) -> Iterator[DecodedRecord]:
    return _batch_of(batch).records()


def _steps(records: Iterator[DecodedRecord]) -> Iterator[list[DecodedRecord]]:
    while some := list(islice(records, _RECORDS_OF_A_STEP)):
        yield some
