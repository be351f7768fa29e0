"""The records that one fetch response brought for one partition, and what became of each of them."""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Self
from uuid import UUID

from attrs import frozen

from kafka_groups.errors import CorruptRecordError, IllegalStateError
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords as AcquiredRange
from kafka_groups.protocol.record_batch import Record, RecordBatch, foreign_errors
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.columns import BLOCK_RECORDS, FIELDS, RecordColumns
from kafka_groups.share.delivery.place import Place
from kafka_groups.share.delivery.records import AnyRecord, DeserializedRecord, ShareRecord
from kafka_groups.types import AcknowledgeType, TopicIdPartition

__all__ = ["AcquiredRecords", "SessionId"]

_new = object.__new__
_RENEWABLE = bytes([m.OPEN])
_CHANGEABLE = bytes([m.OPEN, m.ACCEPT, m.RELEASE, m.REJECT, m.RENEW, m.HELD])


@frozen
class SessionId:
    """The share session that records were acquired in; they are lost when it ends.

    Attributes:
        node_id: The leader.
        generation: Counts the sessions of this consumer with that leader.
    """

    node_id: int
    generation: int


class AcquiredRecords:
    """Acquired offsets of one partition with their records; sized and iterable.

    Args:
        partition: The partition, its topic's name included.
        session: The share session that holds the locks.
        ranges: What was acquired, with the delivery counts.
        lock_deadline_ms: When the acquisition locks end, on the monotonic clock.

    Attributes:
        max_delivery_count: The highest of the delivery counts.
        renewing: Whether a renewal of the locks is under way.
        renewable: Whether renewing is of any use: False once the broker refused it.
        undecodable: Why a batch could not be decoded, found out while iterating; the next poll raises it.
        is_held: Whether it is held to be released later.
        was_handed_over: Whether the application got these records before, or could have.
    """

    __slots__ = (
        "_batches",
        "_delivered",
        "_due_ms",
        "_is_whole",
        "_ranges",
        "_records",
        "_size",
        "first_offset",
        "is_held",
        "lock_deadline_ms",
        "marks",
        "max_delivery_count",
        "renewable",
        "renewing",
        "session",
        "topic_partition",
        "undecodable",
        "was_handed_over",
    )

    def __init__(
        self,
        partition: TopicIdPartition,
        session: SessionId,
        ranges: Sequence[AcquiredRange],
        lock_deadline_ms: int,
    ) -> None:
        self.topic_partition = partition
        self.session = session
        self.lock_deadline_ms = lock_deadline_ms
        self.renewing = False
        self.renewable = True
        self.undecodable: CorruptRecordError | None = None
        self.was_handed_over = False
        self.is_held = False
        self._ranges = tuple(sorted(ranges, key=lambda acquired: acquired.first_offset))
        self.first_offset = self._ranges[0].first_offset
        self.max_delivery_count = max(acquired.delivery_count for acquired in self._ranges)
        self.marks = m.marks_of(self._ranges)
        self._batches: tuple[RecordBatch, ...] = ()
        self._records: list[DeserializedRecord] | None = None
        self._delivered: bytes | None = None
        self._due_ms: dict[int, int] | None = None
        self._is_whole = False
        self._size = 0

    # ---------------------------------------------------------------------------------- description

    @property
    def topic(self) -> str:
        """Name of the topic."""
        return self.topic_partition.topic or str(self.topic_partition.topic_id)

    @property
    def topic_id(self) -> UUID:
        """Id of the topic."""
        return self.topic_partition.topic_id

    @property
    def partition(self) -> int:
        """Number of the partition."""
        return self.topic_partition.partition

    @property
    def last_offset(self) -> int:
        """The last offset that was acquired."""
        return self.first_offset + len(self.marks) - 1

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        open_offsets = self.marks.count(m.OPEN)
        return f"<AcquiredRecords {self.topic_partition} {self.first_offset}-{self.last_offset} open {open_offsets}>"

    def __contains__(self, offset: object) -> bool:
        return isinstance(offset, int) and self.first_offset <= offset <= self.last_offset

    @property
    def ranges(self) -> tuple[AcquiredRange, ...]:
        """What was acquired, in the order of the offsets, with the delivery counts."""
        return self._ranges

    def delivery_count(self, offset: int) -> int:
        """How many times the record at this offset was delivered, this time included."""
        if len(self._ranges) == 1:
            return self._ranges[0].delivery_count
        return next(r.delivery_count for r in self._ranges if r.first_offset <= offset <= r.last_offset)

    # -------------------------------------------------------------------------------------- records

    def hand_out(self, batches: Iterable[RecordBatch]) -> None:
        """These batches hold the records; what is OPEN now is what iterating delivers."""
        self._batches = tuple(batches)
        self._size = self.marks.count(m.OPEN)
        self._delivered = bytes(self.marks) if self._size != len(self.marks) else None
        self._is_whole = self._delivered is None and all(map(self.covers, self._batches))

    def hand_out_deserialized(self, records: list[DeserializedRecord]) -> None:
        """These are the records; iterating delivers them."""
        self._records = records
        self._size = len(records)

    @property
    def is_deserialized(self) -> bool:
        """Whether deserialisers went through its records."""
        return self._records is not None

    def __iter__(self) -> Iterator[AnyRecord]:
        return self._made() if self._records is None else iter(self._records)

    def read(self, place: Place, after: int | None = None) -> Generator[AnyRecord]:
        """Iterate, and tell the place when the generator is closed.

        Args:
            place: Receives the position.
            after: Yield only records after this offset.
        """
        return self._made(place, after) if self._records is None else _told(self._records, place, after)

    def _made(self, place: Place | None = None, after: int | None = None) -> Generator[AnyRecord]:
        record: AnyRecord | None = None
        try:
            for batch in self._batches:
                try:
                    for raw in (
                        batch.compiled() if self._is_whole and after is None else self._raw_records_of(batch, after)
                    ):
                        # What ShareRecord(raw, self) does, without a call for each record: a quarter of the time.
                        record = _new(ShareRecord)
                        record._raw = raw
                        record._acquired = self
                        record.offset = raw.offset
                        record.value = raw.value
                        yield record
                except foreign_errors() as error:
                    self._reject(batch, batch.corrupt(error))
                except CorruptRecordError as error:
                    self._reject(batch, error)
        except GeneratorExit:  # costs nothing for a record, and says where a loop was left
            if place is not None:
                place.stopped_at(record)
            return
        if place is not None:
            place.is_over = True

    def blocks(self) -> Iterator[Sequence[RecordBatch]]:
        """The batches in groups of some thousand records, as their headers say; none if they were deserialised."""
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
        """What iterating delivers of these batches, as columns; keys and values are the bytes on the wire.

        Of a batch that turns out to be unreadable there is no record at all; it is rejected, and the next poll raises
        the error, as with iterating.

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
        """The records that deserialisers went through, as columns of what they were on the wire."""
        columns = RecordColumns(wanted)
        columns.add([record._raw for record in self._records or ()], None)
        return columns

    def deserialized_timestamp_types(self) -> list[int | None]:
        """The timestamp types of the records that deserialisers went through."""
        return [record.timestamp_type for record in self._records or ()]

    def delivers_all_of(self, batch: RecordBatch) -> bool:
        """Whether every offset of the batch was delivered."""
        if not self.covers(batch):
            return False
        start, end = self._positions(batch.header.base_offset, batch.header.last_offset)
        return self._delivered is None or self._delivered.count(m.OPEN, start, end) == end - start

    def _add_batch(self, block: RecordColumns, batch: RecordBatch) -> None:
        header, whole = batch.header, self.delivers_all_of(batch)
        raws: Iterable[Record] = batch.compiled()
        dense = range(header.base_offset, header.next_offset) if whole and header.is_dense else None
        block.add(raws if whole else filter(self._is_delivered, raws), dense)

    def _reject(self, batch: RecordBatch, error: CorruptRecordError) -> None:
        """A batch turned out to be unreadable: reject it, continue with the next one, and let the next poll raise."""
        self.mark_batch(batch, AcknowledgeType.REJECT)
        self.undecodable = self.undecodable or error

    def _raw_records_of(self, batch: RecordBatch, after: int | None) -> Iterable[Record]:
        raws: Iterable[Record] = batch.compiled()
        if after is not None and batch.header.base_offset <= after:
            raws = (raw for raw in raws if raw.offset > after)
        if self._delivered is not None or not self.covers(batch):
            raws = filter(self._is_delivered, raws)
        return raws

    def _is_delivered(self, raw: Record) -> bool:
        position = raw.offset - self.first_offset
        if not 0 <= position < len(self.marks):
            return False
        return self._delivered is None or self._delivered[position] == m.OPEN

    def covers(self, batch: RecordBatch) -> bool:
        """Whether all offsets of the batch lie between the first and the last acquired one."""
        return self.first_offset <= batch.header.base_offset and batch.header.last_offset <= self.last_offset

    def holds_any(self, batch: RecordBatch) -> bool:
        """Whether an offset of the batch was acquired; between ranges there may be batches that were not."""
        start, end = self._positions(batch.header.base_offset, batch.header.last_offset)
        return self.marks.count(m.NOT_ACQUIRED, start, end) < end - start

    def open_before(self, offset: int) -> int:
        """How many offsets before this one were not acknowledged yet."""
        return self.marks.count(m.OPEN, 0, max(0, offset - self.first_offset))

    def mark_batch(self, batch: RecordBatch, kind: AcknowledgeType) -> None:
        """Acknowledge the offsets of a batch that are still open."""
        self.mark_open(batch.header.base_offset, batch.header.last_offset, kind)

    # ------------------------------------------------------------------------------ acknowledgement

    def mark_open(self, first_offset: int, last_offset: int, kind: AcknowledgeType) -> None:
        """Acknowledge the offsets of a range that are still open; others stay as they are."""
        start, end = self._positions(first_offset, last_offset)
        m.replace(self.marks, _RENEWABLE, kind, start, end)

    def acknowledge(self, offset: int, kind: AcknowledgeType) -> None:
        """Acknowledge one record, or change the type as long as it was not sent.

        Raises:
            IllegalStateError: The record is not in the application's hands (any more).
        """
        position = offset - self.first_offset
        marks = self.marks
        if not 0 <= position < len(marks) or marks[position] in _NOT_CHANGEABLE:
            raise IllegalStateError(
                f"the record {self.topic_partition}@{offset} cannot be acknowledged: it is not in flight, was"
                " acknowledged and committed before, or is a copy"
            )
        marks[position] = kind

    def release_at(self, first_offset: int, last_offset: int, due_ms: int) -> None:
        """Hold the records of a range that will be released later."""
        start, end = self._positions(first_offset, last_offset)
        self._due_ms = {} if self._due_ms is None else self._due_ms
        for position in range(start, end):
            if self.marks[position] == m.RELEASE:
                self.marks[position] = m.HELD
                self._due_ms[position] = due_ms

    def take_held(self) -> tuple[Self, dict[int, int]] | None:
        """The records to release later, as a separate delivery without records, with the times by position."""
        if self._due_ms is None:
            return None
        due_ms = {position: due for position, due in self._due_ms.items() if self.marks[position] == m.HELD}
        self._due_ms = None
        if not due_ms:
            return None
        held = type(self)(self.topic_partition, self.session, self._ranges, self.lock_deadline_ms)
        held.renewable, held.is_held = self.renewable, True
        held.marks = self.marks.translate(_HELD_AS_OPEN)
        m.replace(self.marks, bytes([m.HELD]), m.NOT_ACQUIRED)
        return held, due_ms

    def acknowledge_range(
        self, first_offset: int, last_offset: int, kind: AcknowledgeType, due_ms: int | None = None
    ) -> int:
        """Acknowledge every record of a range that is in the application's hands; how many those are.

        Offsets that were never delivered (a corrupt batch, bytes that were cut off) keep what was decided for them.
        With `due_ms` a release waits until then.
        """
        start, end = self._positions(first_offset, last_offset)
        if self._delivered is None:
            count = self._acknowledge_positions(start, end, kind)
        else:
            runs = m.runs_of(self._delivered[start:end], m.OPEN)
            count = sum(self._acknowledge_positions(start + first, start + last + 1, kind) for first, last in runs)
        if due_ms is not None:
            self.release_at(first_offset, last_offset, due_ms)
        return count

    def _acknowledge_positions(self, start: int, end: int, kind: AcknowledgeType) -> int:
        before = self.marks[start:end]
        m.replace(self.marks, _CHANGEABLE, kind, start, end)
        return len(before) - sum(before.count(mark) for mark in _NOT_CHANGEABLE)

    def reopen_range(self, first_offset: int, last_offset: int) -> None:
        """Take back what was decided about the records of a range and not sent: they are in hand as at first."""
        start, end = self._positions(first_offset, last_offset)
        m.replace(self.marks, _DECIDED_MARKS, m.OPEN, start, end)

    @property
    def open_count(self) -> int:
        """How many acquired records were not acknowledged yet."""
        return self.marks.count(m.OPEN)

    @property
    def has_holes(self) -> bool:
        """Whether there are offsets between the first and the last acquired one that were not acquired."""
        return len(self._ranges) > 1 and m.NOT_ACQUIRED in self.marks

    @property
    def has_open(self) -> bool:
        """Whether an acquired record was not acknowledged yet."""
        return m.OPEN in self.marks

    def acknowledgements(self) -> Counter[AcknowledgeType]:
        """How many records were acknowledged with which type and are not on their way yet."""
        counts = Counter({kind: count for kind in _DECIDED if (count := self.marks.count(kind))})
        held = self.marks.count(m.HELD)
        return counts + Counter({AcknowledgeType.RELEASE: held}) if held else counts

    @property
    def is_done(self) -> bool:
        """Whether everything was acknowledged and sent."""
        return self.marks.count(m.SENT) + self.marks.count(m.NOT_ACQUIRED) == len(self.marks)

    def accept_open(self) -> None:
        """Accept everything that was not acknowledged yet: implicit acknowledgement."""
        m.replace(self.marks, _RENEWABLE, m.ACCEPT)

    def let_go(self) -> None:
        """Have nothing in the application's hands: this is a copy."""
        m.replace(self.marks, bytes([m.OPEN]), m.SENT)

    def take_acknowledged(self) -> bytes:
        """The marks as they are now; what was acknowledged counts as sent from here on."""
        taken = bytes(self.marks)
        m.replace(self.marks, _ACKNOWLEDGED, m.SENT)
        return taken

    def renewal_batches(self) -> tuple[AcknowledgementBatch, ...]:
        """What renews the locks of all records that are still open."""
        return m.encode_batches(self.marks.translate(_OPEN_AS_RENEW), self.first_offset)

    # ------------------------------------------------------------------------------------- splitting

    def split_after(self, offset: int) -> Self | None:
        """Cut the part after an offset off as a delivery of its own; None when nothing was acquired there."""
        position = offset - self.first_offset + 1
        ranges = [
            AcquiredRange(
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
        return rest

    def take_back(self, first_offset: int) -> Self:
        """What is still open from an offset on, as a delivery of its own; it is no longer part of this one."""
        start, end = self._positions(first_offset, self.last_offset)
        runs = m.runs_of(self.marks[start:end], m.OPEN)
        rest = self.redelivery((start + first, start + last) for first, last in runs)
        rest.renewable = self.renewable
        m.replace(self.marks, _RENEWABLE, m.NOT_ACQUIRED, start, end)
        return rest

    def redelivery(self, runs: Iterable[tuple[int, int]]) -> Self:
        """The records at these positions once more, as a delivery of its own (renewed records)."""
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

    def _positions(self, first_offset: int, last_offset: int) -> tuple[int, int]:
        start = max(0, first_offset - self.first_offset)
        return start, max(start, min(len(self.marks), last_offset - self.first_offset + 1))


_NOT_CHANGEABLE = bytes([m.GAP, m.SENT, m.NOT_ACQUIRED])
_DECIDED = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW)
_DECIDED_MARKS = bytes([m.ACCEPT, m.RELEASE, m.REJECT])
_ACKNOWLEDGED = bytes([m.GAP, m.ACCEPT, m.RELEASE, m.REJECT, m.RENEW])
_HELD_AS_OPEN = bytes(m.OPEN if mark == m.HELD else m.NOT_ACQUIRED for mark in range(256))
_OPEN_AS_RENEW = bytes(m.RENEW if mark == m.OPEN else m.NOT_ACQUIRED for mark in range(256))


def _told(records: Iterable[DeserializedRecord], place: Place, after: int | None) -> Generator[AnyRecord]:
    record: AnyRecord | None = None
    try:
        for record in records:
            if after is None or record.offset > after:
                yield record
    except GeneratorExit:
        place.stopped_at(record)
        return
    place.is_over = True
