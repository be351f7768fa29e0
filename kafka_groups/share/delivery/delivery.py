"""The offsets that one fetch response acquired of one partition: session, ranges, locks, and their acknowledgements."""

from collections import Counter
from collections.abc import Sequence
from typing import Self
from uuid import UUID

from attrs import frozen

from kafka_groups.errors import IllegalStateError
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.share.delivery import marks as m
from kafka_groups.types import AcknowledgeType, TopicIdPartition

__all__ = ["NOT_CHANGEABLE", "Delivery", "SessionId"]

_OPEN = bytes([m.OPEN])


@frozen
class SessionId:
    """The share session that acquired records. When it ends, the consumer no longer holds them.

    Attributes:
        node_id: The leader.
        generation: Counts the sessions of this consumer with that leader.
    """

    node_id: int
    generation: int


class Delivery:
    """Acquired offsets of one partition, with a mark for each of them.

    Args:
        partition: The partition, its topic's name included.
        session: The share session that holds the locks.
        ranges: The acquired offsets, with the delivery counts.
        lock_deadline_ms: When the acquisition locks end, on the monotonic clock.

    Attributes:
        first_offset: The first offset that was acquired.
        marks: The mark of each offset from the first to the last.
        max_delivery_count: The highest of the delivery counts.
        renewing: Whether a renewal of the locks is in flight.
        renewable: Whether locks can be renewed; False after the broker refused a renewal.
        is_held: Whether it has a delayed release.
        was_handed_over: Whether the application got these records before, or could have.
    """

    __slots__ = (
        "_due_ms",
        "_marks_sent",
        "_ranges",
        "first_offset",
        "is_held",
        "lock_deadline_ms",
        "marks",
        "max_delivery_count",
        "renewable",
        "renewing",
        "session",
        "topic_partition",
        "was_handed_over",
    )

    def __init__(
        self,
        partition: TopicIdPartition,
        session: SessionId,
        ranges: Sequence[AcquiredRecords],
        lock_deadline_ms: int,
    ) -> None:
        self.topic_partition = partition
        self.session = session
        self.lock_deadline_ms = lock_deadline_ms
        self.renewing = False
        self.renewable = True
        self.was_handed_over = False
        self.is_held = False
        # KIP-932, "Ordering": the records of one response come in ascending order. A broker that does not keep to it
        # would break the lookups by position, so the ranges are sorted.
        self._ranges = tuple(sorted(ranges, key=lambda acquired: acquired.first_offset))
        self.first_offset = self._ranges[0].first_offset
        self.max_delivery_count = max(acquired.delivery_count for acquired in self._ranges)
        self.marks = m.marks_of(self._ranges)
        self._marks_sent = bytes(self.marks)
        self._due_ms: dict[int, int] | None = None

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

    def __repr__(self) -> str:
        offsets = f"{self.first_offset}-{self.last_offset}"
        return f"<{type(self).__name__} {self.topic_partition} {offsets} open {self.open_count}>"

    def __contains__(self, offset: object) -> bool:
        return isinstance(offset, int) and self.first_offset <= offset <= self.last_offset

    @property
    def ranges(self) -> tuple[AcquiredRecords, ...]:
        """The acquired ranges in ascending order, with the delivery counts."""
        return self._ranges

    def delivery_count(self, offset: int) -> int:
        """Return the number of deliveries of the record at this offset, including this one."""
        # Records of one response may have different counts if some were delivered before (ShareFetch, AcquiredRecords).
        if len(self._ranges) == 1:
            return self._ranges[0].delivery_count
        return next(r.delivery_count for r in self._ranges if r.first_offset <= offset <= r.last_offset)

    # ------------------------------------------------------------------------------ acknowledgement

    def mark_open(self, first_offset: int, last_offset: int, kind: AcknowledgeType) -> None:
        """Acknowledge the open offsets of a range, and leave others as they are."""
        start, end = self._positions(first_offset, last_offset)
        m.replace(self.marks, _OPEN, kind, start, end)

    def acknowledge(self, offset: int, kind: AcknowledgeType) -> None:
        """Acknowledge one record, or change its type if it was not sent yet.

        Raises:
            IllegalStateError: The application does not hold the record, or no longer.
        """
        position = offset - self.first_offset
        marks = self.marks
        # Three kinds of offsets cannot be acknowledged: those outside of the delivery, those that were sent, and those
        # that the application never got (gaps and holes). Kafka's client raises IllegalStateException for the same
        # (ShareInFlightBatch.acknowledge). Until they are sent, a later call replaces the type.
        if not 0 <= position < len(marks) or marks[position] in NOT_CHANGEABLE:
            raise IllegalStateError(
                f"the record {self.topic_partition}@{offset} cannot be acknowledged: it is not in flight, was"
                " acknowledged and committed before, was sent with RENEW, was released by unsubscribe(), or is a copy."
                " Acknowledge the record that poll() returned, once, before you unsubscribe; after a renewal,"
                " acknowledge the record that a later poll() returns."
            )
        marks[position] = kind

    def release_at(self, first_offset: int, last_offset: int, due_ms: int) -> None:
        """Hold the records of a range until a time at which they will be released."""
        start, end = self._positions(first_offset, last_offset)
        self._due_ms = {} if self._due_ms is None else self._due_ms
        for position in range(start, end):
            # Offsets with another type were acknowledged differently by the same call or are not in hand.
            if self.marks[position] == m.RELEASE:
                self.marks[position] = m.HELD
                self._due_ms[position] = due_ms

    def take_held(self) -> tuple[Self, dict[int, int]] | None:
        """Remove the records to release later.

        Return them as a separate delivery without records, with the times by position.
        """
        if self._due_ms is None:
            return None
        # A later acknowledgement of a record replaces its delayed release: its mark is not HELD any more.
        due_ms = {position: due for position, due in self._due_ms.items() if self.marks[position] == m.HELD}
        self._due_ms = None
        if not due_ms:
            return None
        held = type(self)(self.topic_partition, self.session, self._ranges, self.lock_deadline_ms)
        # The records leave the hand of the application as a delivery of their own, with the same session and locks.
        held.renewable, held.is_held = self.renewable, True
        held.marks = self.marks.translate(_HELD_AS_OPEN)
        m.replace(self.marks, bytes([m.HELD]), m.NOT_ACQUIRED)
        return held, due_ms

    def reopen_range(self, first_offset: int, last_offset: int) -> None:
        """Make the records of a range open again, if their acknowledgements were not sent."""
        start, end = self._positions(first_offset, last_offset)
        m.replace(self.marks, _DECIDED_MARKS, m.OPEN, start, end)

    @property
    def open_count(self) -> int:
        """Number of acquired records that are not acknowledged."""
        return self.marks.count(m.OPEN)

    def open_before(self, offset: int) -> int:
        """Return the number of offsets before this one that are not acknowledged."""
        return self.marks.count(m.OPEN, 0, max(0, offset - self.first_offset))

    @property
    def has_holes(self) -> bool:
        """True if some offsets between the first and the last acquired one were not acquired."""
        return len(self._ranges) > 1 and m.NOT_ACQUIRED in self.marks

    @property
    def has_open(self) -> bool:
        """True if an acquired record is not acknowledged."""
        return m.OPEN in self.marks

    def acknowledgements(self) -> Counter[AcknowledgeType]:
        """Return the number of acknowledged records that were not sent yet, by type."""
        counts = Counter({kind: count for kind in _DECIDED if (count := self.marks.count(kind))})
        held = self.marks.count(m.HELD)
        return counts + Counter({AcknowledgeType.RELEASE: held}) if held else counts

    @property
    def is_done(self) -> bool:
        """True if all records were acknowledged and sent."""
        return self.marks.count(m.SENT) + self.marks.count(m.NOT_ACQUIRED) == len(self.marks)

    @property
    def is_as_sent(self) -> bool:
        """True if nothing changed since acknowledgements were last taken. This is cheap, because every poll asks it."""
        return self.marks == self._marks_sent

    @property
    def is_accepted(self) -> bool:
        """True if all offsets are accepted and none was sent, as almost always when acknowledgements are taken."""
        return self.marks.count(m.ACCEPT) == len(self.marks)

    def accept_open(self) -> None:
        """Accept all open records (implicit acknowledgement)."""
        self.marks[:] = self.marks.translate(_OPEN_AS_ACCEPT)

    def let_go(self) -> None:
        """Take all records out of hand: this is a copy, or the application has unsubscribed."""
        # SENT also means "not in hand any more": a later acknowledgement is refused instead of being dropped silently.
        m.replace(self.marks, _OPEN, m.SENT)

    def let_go_range(self, first_offset: int, last_offset: int) -> None:
        """Take the open records of a range out of hand, so that their locks are not renewed for this delivery."""
        start, end = self._positions(first_offset, last_offset)
        m.replace(self.marks, _OPEN, m.SENT, start, end)

    def take_acknowledged(self) -> bytes:
        """Return the marks, and count the acknowledgements in them as sent."""
        taken = bytes(self.marks)
        self._marks_sent = taken.translate(_ACKNOWLEDGED_AS_SENT)
        self.marks[:] = self._marks_sent
        return taken

    def renewal_batches(self, offset: int | None = None) -> tuple[AcknowledgementBatch, ...]:
        """Return the batches that renew the locks of all open records, or of one of them."""
        if offset is None:
            return m.encode_batches(self.marks.translate(_OPEN_AS_RENEW), self.first_offset)
        position = offset - self.first_offset
        marks = bytearray([m.NOT_ACQUIRED]) * len(self.marks)
        marks[position] = m.RENEW if self.marks[position] == m.OPEN else m.NOT_ACQUIRED
        return m.encode_batches(marks, self.first_offset)

    def _positions(self, first_offset: int, last_offset: int) -> tuple[int, int]:
        start = max(0, first_offset - self.first_offset)
        return start, max(start, min(len(self.marks), last_offset - self.first_offset + 1))


NOT_CHANGEABLE = bytes([m.GAP, m.SENT, m.NOT_ACQUIRED])
_DECIDED = (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT, AcknowledgeType.RENEW)
_DECIDED_MARKS = bytes([m.ACCEPT, m.RELEASE, m.REJECT])
_ACKNOWLEDGED_AS_SENT = bytes(m.SENT if mark <= m.RENEW else mark for mark in range(256))
_HELD_AS_OPEN = bytes(m.OPEN if mark == m.HELD else m.NOT_ACQUIRED for mark in range(256))
_OPEN_AS_ACCEPT = bytes(m.ACCEPT if mark == m.OPEN else mark for mark in range(256))
_OPEN_AS_RENEW = bytes(m.RENEW if mark == m.OPEN else m.NOT_ACQUIRED for mark in range(256))
