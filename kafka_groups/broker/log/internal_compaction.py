"""Compaction of an internal log, a batch at a time.

The last record of each key stays, with its offset, unless it is a tombstone. A pass reads the batches twice. First it
notes the last offset of each key, and then it copies the records that stay into new batches. Records appended while it
runs are left to the next pass. So no append has to wait for a whole log.

Records of transactions that have ended are records like others, or are gone: those that were aborted, and the markers.
That changes nothing for those who load the log, because of two records of a key the one with the later offset counts,
however their transactions ended.
"""

from collections.abc import Iterable, Iterator

from kafka_groups.broker.log.batches import BatchInfo
from kafka_groups.broker.log.log_transactions import AbortedRange
from kafka_groups.broker.log.segment import StoredBatch
from kafka_groups.protocol.record_batch import DecodedRecord, iter_batches, parse_header
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch

__all__ = ["InternalCompaction"]

_RECORDS_OF_A_BATCH = 250
"""Records that stay are put together into batches of so many, so that reading one never takes long."""


class InternalCompaction:
    """One pass.

    Args:
        first_offset: The start of the log.
        end_offset: Only batches before this offset are compacted. They must be committed, and no transaction before it
            may be open.
        aborted: The aborted transactions before it.
    """

    def __init__(self, first_offset: int, end_offset: int, aborted: Iterable[AbortedRange] = ()) -> None:
        self.end_offset = end_offset
        self.position = first_offset
        self._first_offset = first_offset
        self._aborted: dict[int, list[AbortedRange]] = {}
        for each in aborted:
            self._aborted.setdefault(each.producer_id, []).append(each)
        self._last_offset_of: dict[bytes | None, int] = {}
        self._is_noting = True
        self._kept: list[StoredBatch] = []
        self._gathered: list[DecodedRecord] = []
        self._gathered_epoch = -1

    def __repr__(self) -> str:
        return f"<InternalCompaction of {self._first_offset}..{self.end_offset}: {self.position}>"

    @property
    def is_done(self) -> bool:
        """True if the pass has ended."""
        return not self._is_noting and self.position >= self.end_offset

    def take(self, batch: StoredBatch | None) -> None:
        """Take the batch at or after `position`, or None if there is none."""
        # Records that were appended after the pass began supersede nothing in it. The next pass has them.
        if batch is None or batch.info.base_offset >= self.end_offset:
            self.position = self.end_offset
        else:
            self._note(batch) if self._is_noting else self._keep(batch)
            self.position = batch.info.last_offset + 1
        if self._is_noting and self.position >= self.end_offset:
            self.position, self._is_noting = self._first_offset, False

    def kept(self) -> list[StoredBatch]:
        """Return the new batches, when the pass is done."""
        self._close()
        return self._kept

    def _note(self, batch: StoredBatch) -> None:
        self._last_offset_of.update((record.key, record.offset) for record in self._records(batch))

    def _keep(self, batch: StoredBatch) -> None:
        for record in self._records(batch):
            # A tombstone goes at once, unlike in Kafka, where it stays for `delete.retention.ms`: only coordinators
            # load this log, and they read it from its start.
            if record.value is not None and self._last_offset_of[record.key] == record.offset:
                self._gather(record, batch.info.leader_epoch)

    def _records(self, batch: StoredBatch) -> Iterator[DecodedRecord]:
        # See the module's text: a marker changes nothing for those who load the log, once its records are ordinary or
        # gone.
        if batch.info.is_control or self._was_aborted(batch.info):
            return
        for each in iter_batches(batch.data):
            yield from (record for record in each.records() if record.offset >= self._first_offset)

    def _was_aborted(self, info: BatchInfo) -> bool:
        ranges = self._aborted.get(info.producer_id, ()) if info.is_transactional else ()
        return any(each.first_offset <= info.base_offset < each.last_offset for each in ranges)

    def _gather(self, record: DecodedRecord, leader_epoch: int) -> None:
        # A batch has one leader epoch, so a change of it begins a batch.
        if leader_epoch != self._gathered_epoch or len(self._gathered) >= _RECORDS_OF_A_BATCH:
            self._close()
        self._gathered_epoch = leader_epoch
        self._gathered.append(record)

    def _close(self) -> None:
        if not self._gathered:
            return
        base_offset = self._gathered[0].offset
        records = [
            NewRecord(each.value, each.key, each.timestamp or 0, offset_delta=each.offset - base_offset)
            for each in self._gathered
        ]
        data = build_batch(records, base_offset, BatchOptions(leader_epoch=self._gathered_epoch))
        header = parse_header(data)
        info = BatchInfo.of(header, base_offset, self._gathered_epoch, header.max_timestamp_ms)
        self._kept.append(StoredBatch(info, data))
        self._gathered = []
