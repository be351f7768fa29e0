"""The writes of one owner that have no outcome yet, and the outcomes that it has not heard of."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kafka_groups.errors import IllegalStateError, KafkaGroupsError
from kafka_groups.errors.texts import counted
from kafka_groups.records.batches.building import ProducerBatch
from kafka_groups.records.confirmed.writes import WritableRecord, WriteOutcome

__all__ = ["OnHeld", "OnOutcomes", "PendingWrite", "RecordWriting", "WriterRoom"]

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


class RecordWriting(Protocol):
    """Takes the records of rooms."""

    def check_open(self) -> None:
        """Raise `ClosedError` if the writer is closed."""

    def add(self, records: Sequence[WritableRecord], write: PendingWrite) -> None:
        """Take the records of a write."""

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
        self._writes: dict[int, PendingWrite] = {}
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
        self._writing.check_open()
        if id(token) in self._writes:
            raise IllegalStateError(f"A write with the token {token!r} has no outcome yet.")
        write = PendingWrite(self, token, records)
        self._writes[id(token)] = write
        self.unconfirmed += write.count
        self._bytes += write.size_bytes
        if records:
            self._writing.add(records, write)
        else:
            self.confirm(write)

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

    def confirm(self, write: PendingWrite) -> None:
        """Note that all records of a write are confirmed."""
        self._end(write)
        self._confirmed.append(write.token)
        self._writing.note_news(self)

    def refuse(self, write: PendingWrite, error: KafkaGroupsError, *, may_be_written: bool) -> None:
        """Note that a record of a write was refused. Those that were not sent are dropped."""
        self._end(write)
        self._refused.append(WriteOutcome((write.token,), error, may_be_written))
        self._writing.note_news(self)
        if write.count > 1:
            self._writing.drop_ended()

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

    def _end(self, write: PendingWrite) -> None:
        write.is_over = True
        del self._writes[id(write.token)]
        self.unconfirmed -= write.count
        self._bytes -= write.size_bytes


def _size_of(record: WritableRecord) -> int:
    key, value, headers = record.key, record.value, record.headers
    size = (len(key) if key else 0) + (len(value) if value else 0)
    return size + sum(len(name) + len(each or b"") for name, each in headers) if headers else size
