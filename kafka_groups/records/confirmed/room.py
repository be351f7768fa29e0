"""The writes of one owner that have no outcome yet, and the outcomes that it has not heard of."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kafka_groups.errors import IllegalStateError, KafkaGroupsError
from kafka_groups.errors.texts import counted
from kafka_groups.records.batches.building import ProducerBatch
from kafka_groups.records.confirmed.writes import WritableRecord, WriteOutcome

__all__ = [
    "OnHeld",
    "OnOutcomes",
    "Origin",
    "PendingRecords",
    "PendingWrite",
    "RecordWriting",
    "WriterRoom",
    "is_over",
    "note_batch",
]

MOST_RECORDS: Final = 1_000
MOST_BYTES: Final = 64 * 1024 * 1024

OnOutcomes = Callable[[Sequence[WriteOutcome]], None]
"""Receives outcomes. It must not raise."""
OnHeld = Callable[[str, KafkaGroupsError | None], None]
"""Receives a topic whose records wait, and why; None as error: they do not wait any more. It must not raise."""


class PendingWrite:
    """A write without an outcome.

    Args:
        room: The room.
        token: The token.
        records: Its records.

    Attributes:
        count: The number of its records.
        size_bytes: Their bytes.
        left: How many of them are not confirmed.
        batches: The batches that its records were added to. After a division, the parts of a batch are not here.
        is_over: Whether there is an outcome, or it was withdrawn. Records that were not sent are dropped then.
    """

    __slots__ = ("batches", "count", "is_over", "left", "room", "size_bytes", "token")

    def __init__(self, room: "WriterRoom", token: object, records: Sequence[WritableRecord]) -> None:
        self.room = room
        self.token = token
        self.count = self.left = count = len(records)
        self.size_bytes = _size_of(records[0]) if count == 1 else sum(map(_size_of, records))
        self.batches: list[ProducerBatch] = []
        self.is_over = False

    @property
    def was_sent(self) -> bool:
        """True if a record of it was handed over to be sent."""
        return any(batch.was_sent for batch in self.batches)


class PendingRecords:
    """Several records that have one outcome as long as all is well, and can be divided into writes otherwise.

    Args:
        room: The room.
        token: The token.
        records: The records.

    Attributes:
        count: The number of records.
        size_bytes: Their bytes.
        left: How many of them are not confirmed, before a division.
        batches: The batches that records were added to.
        is_over: Whether there is an outcome, or it was withdrawn.
        parts: After a division, the write of each record.
    """

    __slots__ = (
        "_confirmed", "_refusals", "batches", "count", "is_over", "left", "parts", "room", "size_bytes", "token",
    )  # fmt: skip

    def __init__(self, room: "WriterRoom", token: object, records: Sequence[WritableRecord]) -> None:
        self.room = room
        self.token = token
        self.count = self.left = len(records)
        self.size_bytes = sum(map(_size_of, records))
        self.batches: dict[ProducerBatch, None] = {}
        self.is_over = False
        self.parts: Sequence[PendingWrite] = ()
        self._confirmed = bytearray(self.count)
        self._refusals: dict[int, tuple[KafkaGroupsError, bool]] = {}

    @property
    def was_sent(self) -> bool:
        """True if any record was handed over to be sent."""
        return any(batch.was_sent for batch in self.batches)

    def confirm(self, position: int) -> None:
        """Note that a record is confirmed."""
        # The record of a batch has either this as its origin or a part of it, and each of them counts its own.
        write: PendingWrite | PendingRecords = self.parts[position] if self.parts else self
        self._confirmed[position] = 1
        write.left -= 1
        if not write.left and not write.is_over:
            write.room.confirm(write)

    def refuse(self, position: int, error: KafkaGroupsError, *, may_be_written: bool) -> PendingWrite | None:
        """Note that a record is refused. Returns its own write after a division, which is to be refused then."""
        if self.parts:
            return self.parts[position]
        if not self.is_over:
            is_first = not self._refusals
            self._refusals[position] = (error, may_be_written)
            if is_first:
                self.room.refuse_one(self, error)
        return None

    def divide(self, parts: Sequence[PendingWrite]) -> Sequence[PendingWrite]:
        """Continue with these writes, whose records are together those of this one, in order. Returns them."""
        self.parts = [part for part in parts for _ in range(part.count)]
        for position, part in enumerate(self.parts):
            part.left -= self._confirmed[position]
        for batch in self.batches:
            for _, origin in batch.origins:
                if isinstance(origin, tuple) and origin[0] is self:
                    self.parts[origin[1]].batches.append(batch)
        return parts

    def refusals_of(self, part: PendingWrite) -> Sequence[tuple[KafkaGroupsError, bool]]:
        """Return the errors with which records of a part were refused, and whether these may be in a log."""
        return [refusal for position, refusal in self._refusals.items() if self.parts[position] is part]


Origin = PendingWrite | tuple[PendingRecords, int]
"""The origin of a record: its own write, or several records with its position among them."""


def note_batch(origin: Origin, batch: ProducerBatch) -> None:
    """Note the batch of a record."""
    if isinstance(origin, PendingWrite):
        origin.batches.append(batch)
        return
    pending, position = origin
    pending.batches[batch] = None
    if pending.parts:
        pending.parts[position].batches.append(batch)


def is_over(origin: object) -> bool:
    """Return whether the write of a record has an outcome, or was withdrawn."""
    if isinstance(origin, tuple):
        pending, position = origin
        return (pending.parts[position] if pending.parts else pending).is_over is True
    return isinstance(origin, PendingWrite) and origin.is_over


class RecordWriting(Protocol):
    """Takes the records of rooms."""

    def check_open(self) -> None:
        """Raise `ClosedError` if the writer is closed."""

    def add(self, records: Sequence[WritableRecord], write: PendingWrite) -> None:
        """Take the records of a write."""

    def add_each(self, records: Sequence[WritableRecord], pending: PendingRecords) -> None:
        """Take records of one topic that have outcomes of their own."""

    def drop_ended(self) -> None:
        """Drop the records of writes that have ended, as far as they were not sent, with the next requests."""

    def note_news(self, room: "WriterRoom") -> None:
        """Have a room deliver what it has to tell, soon."""


class WriterRoom:
    """The room of one owner, such as a handler. It limits nobody: an owner looks at `has_room` before it writes.

    Args:
        owner: The owner's name.
        took: Receives outcomes.
        held: Receives topics whose records wait.
        writing: Takes the records.
    """

    def __init__(self, owner: str, took: OnOutcomes, held: OnHeld, writing: RecordWriting) -> None:
        self._owner = owner
        self._took = took
        self._held = held
        self._writing = writing
        self._writes: dict[int, PendingWrite | PendingRecords] = {}
        self._bytes = 0
        self._confirmed: list[object] = []
        self._refused: list[WriteOutcome] = []
        self._holds: dict[str, KafkaGroupsError | None] = {}
        self.unconfirmed = 0

    def __repr__(self) -> str:
        return f"<WriterRoom of {self._owner}: {counted(self.unconfirmed, 'record')} unconfirmed>"

    @property
    def has_room(self) -> bool:
        """True while fewer than 1,000 records and 64 MB of the owner are unconfirmed."""
        return self.unconfirmed < MOST_RECORDS and self._bytes < MOST_BYTES

    def write(self, records: Sequence[WritableRecord], token: object) -> None:
        """Write records. Their outcome comes once: when all of them are confirmed, or as soon as one is refused.

        It does not block. Errors of brokers are outcomes. Records of one topic and partition are written in order.

        Args:
            records: The records.
            token: Names the write in its outcome. The object itself counts: another one that is equal is another token.

        Raises:
            ClosedError: The writer is closed.
            IllegalStateError: A write with this token has no outcome yet.
        """
        self._begin(write := PendingWrite(self, token, records))
        if records:
            self._writing.add(records, write)
        else:
            self.confirm(write)

    def write_each(self, records: Sequence[WritableRecord], token: object) -> None:
        """Write records of one topic for which one outcome is enough, as long as all is well.

        The outcome comes when all of them are confirmed. If one is refused, there is an outcome with its error, which
        says nothing about the others: `divide` the write then.

        Args:
            records: The records, at least one.
            token: As for `write`.

        Raises:
            ClosedError: The writer is closed.
            IllegalStateError: A write with this token has no outcome yet.
        """
        self._begin(pending := PendingRecords(self, token, records))
        self._writing.add_each(records, pending)

    def _begin(self, write: PendingWrite | PendingRecords) -> None:
        self._writing.check_open()
        if id(write.token) in self._writes:
            raise IllegalStateError(f"A write with the token {write.token!r} has no outcome yet.")
        self._writes[id(write.token)] = write
        self.unconfirmed += write.count
        self._bytes += write.size_bytes

    def divide(self, token: object, parts: Sequence[tuple[object, Sequence[WritableRecord]]]) -> bool:
        """Continue a write of `write_each` as several writes, each with a token and an outcome of its own.

        Args:
            token: The token of the write.
            parts: The token of each part, and its records: together they are those of the write, in order.

        Returns:
            False if all its records are confirmed already: the outcome of the undivided write says so.
        """
        pending = self._writes.get(id(token))
        if not isinstance(pending, PendingRecords):
            return False
        self._leave(pending)
        for write in pending.divide([PendingWrite(self, *part) for part in parts]):
            self._begin(write)
            refusals = pending.refusals_of(write)
            if refusals:
                error, may_be_written = refusals[0]
                self.refuse(write, error, may_be_written=may_be_written or write.was_sent or write.left < write.count)
            elif not write.left:
                self.confirm(write)
        return True

    def withdraw(self, token: object) -> bool:
        """Drop a write if nothing of it was sent. Returns whether it was dropped: then there is no outcome.

        False: a record of it was sent, so its outcome has come or will come.
        """
        write = self._writes.get(id(token))
        if write is None or write.was_sent or write.left < write.count:
            return False
        self._end(write)
        self._writing.drop_ended()
        return True

    # ---------------------------------------------------------------------------------------- outcomes

    def confirm(self, write: PendingWrite | PendingRecords) -> None:
        """Note that all records of a write are confirmed."""
        self._end(write)
        self._confirmed.append(write.token)
        self._writing.note_news(self)

    def refuse(self, write: PendingWrite | PendingRecords, error: KafkaGroupsError, *, may_be_written: bool) -> None:
        """Note that a record of a write was refused. Those that were not sent are dropped."""
        self._end(write)
        self._refused.append(WriteOutcome((write.token,), error, may_be_written))
        self._writing.note_news(self)
        if write.count > 1:
            self._writing.drop_ended()

    def refuse_one(self, pending: PendingRecords, error: KafkaGroupsError) -> None:
        """Note that one of several records was refused. The others go on."""
        self._refused.append(WriteOutcome((pending.token,), error))
        self._writing.note_news(self)

    def fail(self, error: KafkaGroupsError) -> None:
        """Refuse all writes, as nothing can be written any more."""
        for write in tuple(self._writes.values()):
            self.refuse(write, error, may_be_written=write.was_sent or write.left < write.count)

    def hold(self, topic: str, error: KafkaGroupsError | None) -> None:
        """Note that records of a topic wait, or None: that they do not wait any more."""
        self._holds[topic] = error
        self._writing.note_news(self)

    def deliver(self) -> None:
        """Tell the owner what is new."""
        outcomes = [WriteOutcome(self._confirmed)] if self._confirmed else []
        outcomes += self._refused
        holds = self._holds
        self._confirmed, self._refused, self._holds = [], [], {}
        for topic, error in holds.items():
            self._held(topic, error)
        if outcomes:
            self._took(outcomes)

    def _end(self, write: PendingWrite | PendingRecords) -> None:
        write.is_over = True
        self._leave(write)

    def _leave(self, write: PendingWrite | PendingRecords) -> None:
        del self._writes[id(write.token)]
        self.unconfirmed -= write.count
        self._bytes -= write.size_bytes


def _size_of(record: WritableRecord) -> int:
    key, value, headers = record.key, record.value, record.headers
    size = (len(key) if key else 0) + (len(value) if value else 0)
    return size + sum(len(name) + len(each or b"") for name, each in headers) if headers else size
