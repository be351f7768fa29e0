"""A delivery with its records: its batches, iteration, and columns."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Self

from attrs import evolve

from kafka_groups.errors import CorruptRecordError
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.protocol.record_batch import DecodedRecord, RecordBatch, foreign_errors
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.columns import BLOCK_RECORDS, FIELDS, RecordColumns
from kafka_groups.share.delivery.delivery import NOT_CHANGEABLE, Delivery, SessionId
from kafka_groups.share.delivery.read_position import ReadPosition
from kafka_groups.share.delivery.records import AnyRecord, DeserializedRecord, ShareRecord
from kafka_groups.types import AcknowledgeType, TopicIdPartition

__all__ = ["DeliveredRecords"]

_new = object.__new__
_OPEN = bytes([m.OPEN])
_CHANGEABLE = bytes([m.OPEN, m.ACCEPT, m.RELEASE, m.REJECT, m.RENEW, m.HELD])


class DeliveredRecords(Delivery):
    """A delivery with its records. It has a length and is iterable.

    Args:
        partition: The partition, its topic's name included.
        session: The share session that holds the locks.
        ranges: The acquired offsets, with the delivery counts.
        lock_deadline_ms: When the acquisition locks end, on the monotonic clock.

    Attributes:
        size: Number of records that iterating delivers.
        undecodable: The error of a batch that could not be decoded while iterating; the next poll raises it.
    """

    __slots__ = ("_batches", "_delivered", "_is_whole", "_records", "size", "undecodable")

    def __init__(
        self,
        partition: TopicIdPartition,
        session: SessionId,
        ranges: Sequence[AcquiredRecords],
        lock_deadline_ms: int,
    ) -> None:
        super().__init__(partition, session, ranges, lock_deadline_ms)
        self.undecodable: CorruptRecordError | None = None
        self._batches: tuple[RecordBatch, ...] = ()
        self._records: list[DeserializedRecord] | None = None
        self._delivered: bytes | None = None
        self._is_whole = False
        self.size = 0

    # -------------------------------------------------------------------------------------- records

    def __len__(self) -> int:
        return self.size

    def hand_out(self, batches: Iterable[RecordBatch]) -> None:
        """Set the batches of the records. Iterating delivers the offsets that are OPEN now."""
        self._batches = tuple(batches)
        self.size = self.marks.count(m.OPEN)
        # Acknowledging changes the marks while the application iterates. A copy tells which offsets were delivered;
        # without gaps and holes none is needed.
        self._delivered = bytes(self.marks) if self.size != len(self.marks) else None
        self._is_whole = self._delivered is None and all(map(self.covers, self._batches))

    def hand_out_deserialized(self, records: list[DeserializedRecord]) -> None:
        """Set the deserialised records. Iterating delivers them."""
        self._records = records
        self.size = len(records)

    @property
    def is_deserialized(self) -> bool:
        """True if deserialisers were applied to its records."""
        return self._records is not None

    def __iter__(self) -> Iterator[AnyRecord]:
        return self._made() if self._records is None else iter(self._records)

    def read(self, position: ReadPosition, after: int | None = None) -> Generator[AnyRecord]:
        """Iterate over the records, and store the position in `position` when the generator is closed.

        Args:
            position: Receives the position.
            after: Yield only records after this offset.
        """
        return self._made(position, after) if self._records is None else _told(self._records, position, after)

    def _made(self, position: ReadPosition | None = None, after: int | None = None) -> Generator[AnyRecord]:
        record: AnyRecord | None = None
        try:
            for batch in self._batches:
                try:
                    for raw in (
                        # The usual case, a whole delivery read from the start, needs no check of each offset.
                        batch.compiled() if self._is_whole and after is None else self._raw_records_of(batch, after)
                    ):
                        # What ShareRecord(raw, self) does, without a call for each record: a quarter of the time.
                        record = _new(ShareRecord)
                        record._raw = raw
                        record._delivery = self
                        record.offset = raw.offset
                        record.value = raw.value
                        yield record
                except foreign_errors() as error:
                    # A batch is decompressed only here, so damage that its checksum did not show turns up in the middle
                    # of a loop. Kafka's client rejects such a batch as well (ShareCompletedFetch.rejectRecordBatch),
                    # when it decodes the fetch.
                    self._reject(batch, batch.corrupt(error))
                except CorruptRecordError as error:
                    # The reader's own error, for example for a truncated record. The same reaction: reject the batch,
                    # deliver the others.
                    self._reject(batch, error)
        except GeneratorExit:  # costs nothing per record, and shows where a loop was left
            if position is not None:
                position.stopped_at(record)
            return
        if position is not None:
            position.is_over = True

    def _raw_records_of(self, batch: RecordBatch, after: int | None) -> Iterable[DecodedRecord]:
        raws: Iterable[DecodedRecord] = batch.compiled()
        if after is not None and batch.header.base_offset <= after:
            raws = (raw for raw in raws if raw.offset > after)
        if self._delivered is not None or not self.covers(batch):
            raws = filter(self._is_delivered, raws)
        return raws

    def _is_delivered(self, raw: DecodedRecord) -> bool:
        position = raw.offset - self.first_offset
        # Whole batches come from the broker, also if only a part of one was acquired. The other records belong to other
        # members.
        if not 0 <= position < len(self.marks):
            return False
        return self._delivered is None or self._delivered[position] == m.OPEN

    def _reject(self, batch: RecordBatch, error: CorruptRecordError) -> None:
        """Reject an unreadable batch and continue with the next one. The next poll raises the error."""
        self.mark_batch(batch, AcknowledgeType.REJECT)
        self.undecodable = self.undecodable or error

    # -------------------------------------------------------------------------------------- columns

    def blocks(self) -> Iterator[Sequence[RecordBatch]]:
        """Return the batches in groups of some thousand records, by their headers.

        There are none if the records were deserialised.
        """
        block: list[RecordBatch] = []
        count = 0
        for batch in self._batches if self._records is None else ():
            block.append(batch)
            count += batch.header.record_count
            if count >= BLOCK_RECORDS:
                yield block
                block, count = [], 0
        if block:
            yield block

    def columns(self, batches: Sequence[RecordBatch], wanted: frozenset[str] = FIELDS) -> RecordColumns:
        """Return the records of these batches as columns, with keys and values as bytes.

        If a batch is unreadable, none of its records is returned. It is rejected, and the next poll raises the error,
        as with iteration.

        Args:
            batches: One of the `blocks`.
            wanted: Which of `kafka_groups.share.delivery.columns.FIELDS` are read.
        """
        columns = RecordColumns(wanted)
        for batch in batches:
            try:
                self._add_batch(columns, batch)
            except foreign_errors() as error:
                self._reject(batch, batch.corrupt(error))
            except CorruptRecordError as error:
                self._reject(batch, error)
        return columns

    def deserialized_columns(self, wanted: frozenset[str] = FIELDS) -> RecordColumns:
        """Return deserialised records as columns, with keys and values as the original bytes."""
        columns = RecordColumns(wanted)
        columns.add([record._raw for record in self._records or ()], None)
        return columns

    def deserialized_timestamp_types(self) -> list[int | None]:
        """Return the timestamp types of deserialised records."""
        return [record.timestamp_type for record in self._records or ()]

    def _add_batch(self, block: RecordColumns, batch: RecordBatch) -> None:
        header, whole = batch.header, self.delivers_all_of(batch)
        raws: Iterable[DecodedRecord] = batch.compiled()
        dense = range(header.base_offset, header.next_offset) if whole and header.is_dense else None
        block.add(raws if whole else filter(self._is_delivered, raws), dense)

    # -------------------------------------------------------------------------------------- batches

    def delivers_all_of(self, batch: RecordBatch) -> bool:
        """Return True if every offset of the batch was delivered."""
        if not self.covers(batch):
            return False
        start, end = self._positions(batch.header.base_offset, batch.header.last_offset)
        return self._delivered is None or self._delivered.count(m.OPEN, start, end) == end - start

    def covers(self, batch: RecordBatch) -> bool:
        """Return True if all offsets of the batch lie between the first and the last acquired one."""
        return self.first_offset <= batch.header.base_offset and batch.header.last_offset <= self.last_offset

    def holds_any(self, batch: RecordBatch) -> bool:
        """Return True if any offset of the batch was acquired. Between acquired ranges, whole batches may not be."""
        start, end = self._positions(batch.header.base_offset, batch.header.last_offset)
        return self.marks.count(m.NOT_ACQUIRED, start, end) < end - start

    def mark_batch(self, batch: RecordBatch, kind: AcknowledgeType) -> None:
        """Acknowledge the offsets of a batch that are still open."""
        self.mark_open(batch.header.base_offset, batch.header.last_offset, kind)

    # ------------------------------------------------------------------------------ acknowledgement

    def acknowledge_range(
        self, first_offset: int, last_offset: int, kind: AcknowledgeType, due_ms: int | None = None
    ) -> int:
        """Acknowledge every record of a range that is in hand. Return their number.

        Offsets that were never delivered (a corrupt or truncated batch) keep their acknowledgement. With `due_ms`, a
        release is delayed until then.
        """
        start, end = self._positions(first_offset, last_offset)
        if self._delivered is None:
            count = self._acknowledge_positions(start, end, kind)
        else:
            # Gaps and rejected batches keep their acknowledgement: the application never saw their records.
            runs = m.runs_of(self._delivered[start:end], m.OPEN)
            count = sum(self._acknowledge_positions(start + first, start + last + 1, kind) for first, last in runs)
        if due_ms is not None:
            self.release_at(first_offset, last_offset, due_ms)
        return count

    def _acknowledge_positions(self, start: int, end: int, kind: AcknowledgeType) -> int:
        before = self.marks[start:end]
        m.replace(self.marks, _CHANGEABLE, kind, start, end)
        return len(before) - sum(before.count(mark) for mark in NOT_CHANGEABLE)

    # ------------------------------------------------------------------------------------- splitting

    def split_after(self, offset: int) -> Self | None:
        """Cut off the part after an offset as a separate delivery. Return None if nothing was acquired there."""
        position = offset - self.first_offset + 1
        ranges = [
            AcquiredRecords(
                first_offset=max(r.first_offset, offset + 1), last_offset=r.last_offset, delivery_count=r.delivery_count
            )
            for r in self._ranges
            if r.last_offset > offset
        ]
        if not ranges:
            return None
        rest = type(self)(self.topic_partition, self.session, ranges, self.lock_deadline_ms)
        rest.marks = self.marks[rest.first_offset - self.first_offset :]
        del self.marks[position:]
        self._ranges = tuple(
            evolve(r, last_offset=min(r.last_offset, offset)) for r in self._ranges if r.first_offset <= offset
        )
        return rest

    def take_back(self, first_offset: int) -> Self:
        """Cut off the open records from an offset on, and return them as a separate delivery."""
        start, end = self._positions(first_offset, self.last_offset)
        runs = m.runs_of(self.marks[start:end], m.OPEN)
        rest = self.redelivery((start + first, start + last) for first, last in runs)
        rest.renewable = self.renewable
        m.replace(self.marks, _OPEN, m.NOT_ACQUIRED, start, end)
        return rest

    def redelivery(self, runs: Iterable[tuple[int, int]]) -> Self:
        """Return the records at these positions as a new delivery, for renewed records."""
        again = type(self)(self.topic_partition, self.session, self._ranges, self.lock_deadline_ms)
        again.marks = bytearray([m.NOT_ACQUIRED]) * len(self.marks)
        again.was_handed_over = True
        for start, last in runs:
            again.marks[start : last + 1] = bytes([m.OPEN]) * (last + 1 - start)
        if self._records is not None:
            wanted = [r for r in self._records if again.marks[r.offset - self.first_offset] == m.OPEN]
            again.hand_out_deserialized([r.for_delivery(again) for r in wanted])
        else:
            again.hand_out(self._batches)
        return again


def _told(records: Iterable[DeserializedRecord], position: ReadPosition, after: int | None) -> Generator[AnyRecord]:
    record: AnyRecord | None = None
    try:
        for record in records:
            if after is None or record.offset > after:
                yield record
    except GeneratorExit:
        position.stopped_at(record)
        return
    position.is_over = True
