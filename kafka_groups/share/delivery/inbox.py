"""Between the event loop and the application: deliveries one way, acknowledgements the other.

The two sides may be different threads. Every step is one operation on a `deque` or one assignment, which the
interpreter makes atomic, so that handing over a delivery needs no lock.
"""

from collections import deque
from collections.abc import Callable, Sequence

from attrs import define, field

from kafka_groups.client.events import Area, Events, counted
from kafka_groups.client.windows import Windows
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.commits import Acknowledged, PendingAcknowledgement
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.returned import LEAST_DELIVERY_LIMIT, ArchivedRecords, ReturnedRecords, returned_of

__all__ = ["DEFAULT_DELIVERY_LIMIT", "CompletedFetch", "Inbox", "PollFigures"]

DEFAULT_DELIVERY_LIMIT = 5
"""Kafka's `group.share.delivery.count.limit`, taken while the group's own is not known."""

DEFAULT_RECORD_LOCKS = 2000
"""Kafka's `group.share.partition.max.record.locks`, taken while the group's own is not known."""

_UNRELEASED = (m.ACCEPT, m.REJECT, m.RENEW)
_FORGET_PACE_IN = 8
"""After so many quicker deliveries the greater part of a slow one is forgotten."""


@define(eq=False)
class CompletedFetch:
    """A delivery that waits for the application.

    Attributes:
        acquired: What was acquired.
        blob: Its record batches; None if the records are there already: renewed ones, and what was left over by a poll.
        error: What to raise after its records, or None.
        is_untouched: Whether it begins a response that came while the application was busy, which has not taken it yet.
    """

    acquired: DeliveredRecords
    blob: bytes | None
    error: KafkaGroupsError | None = None
    is_untouched: bool = False


class Inbox:
    """The hand-over between a fetch manager and the application that it fetches for.

    Attributes:
        events: Lines for the log, of both sides.
        on_ready: Called on the loop's side when something came for an application that waits.
        is_waiting: Whether the application waits in a poll.
        waits_until_ms: Until when it waits; None for as long as it takes.
        last_poll_ms: When the application last called poll; None before.
        in_hand: Deliveries that the application holds and has not acknowledged and sent in full.
        will_be_read: Whether the loop reads this without being woken: with the response that each leader owes, or when
            the application takes the next one.
        is_paused: Whether the application wants nothing until its next poll.
        fetches_ahead: Whether the application wants the next batch to be fetched while it works.
        fetch_limit: The most records that one fetch may acquire, exactly; None for what is configured.
        set_aside: Deliveries that the application decoded but did not get yet, because an error must be raised first.
        processing_since_ms: When the application took what it works on; None while it is in a poll.
        processing_ms: How long it took for the delivery before; None before the first.
        pace_ms: How long it takes for a record; a slow delivery counts at once, and is forgotten slowly.
        setbacks: How often a lock was lost, or records were released or rejected.
        after_setback: Whether that happened with the last delivery.
        records_handed_over: How many records the application has been given.
        bytes_handed_over: Bytes of the batches that they came in.
        polls: Figures of the polls.
        returned: Records that went back to the broker and were delivered before, until the group's limit is known.
        archived: Those of them that the broker archives, until the application is told.
        records_archived: How many records went back with their last delivery.
        records_held: How many it wants released later that are held now.
        delayed: What it wants released later: the records, and when by position.
        record_locks: How many records of a partition the group may have in flight; Kafka's default until it is known.
    """

    def __init__(self, events: Events | None = None) -> None:
        self.ready: deque[CompletedFetch] = deque()
        self.outbox: deque[PendingAcknowledgement] = deque()
        self.results: deque[Acknowledged] = deque()
        self.events = Events() if events is None else events
        self.in_hand: tuple[DeliveredRecords, ...] = ()
        self.set_aside: tuple[DeliveredRecords, ...] = ()
        self.on_ready: Callable[[], None] | None = None
        self.is_waiting = False
        self.waits_until_ms: int | None = None
        self.will_be_read = False
        self.is_paused = False
        self.fetches_ahead = True
        self.fetch_limit: int | None = None
        self.last_poll_ms: int | None = None
        self.processing_since_ms: int | None = None
        self.processing_ms: int | None = None
        self.pace_ms = 0.0
        self.setbacks = 0
        self.after_setback = False
        self.records_handed_over = 0
        self.bytes_handed_over = 0
        self.polls = PollFigures()
        self.returned: deque[ReturnedRecords] = deque()
        self.archived: deque[ArchivedRecords] = deque()
        self.records_archived = 0
        self.records_held = 0
        self.delayed: deque[tuple[DeliveredRecords, dict[int, int]]] = deque()
        self.record_locks = DEFAULT_RECORD_LOCKS
        self._in_process = 0
        self._had_setback = False
        self._answers: list[tuple[int, CompletedFetch]] = []

    # ------------------------------------------------------------------------------- the loop's side

    @property
    def needs_records(self) -> bool:
        """Whether the application waits and there is nothing for it."""
        return self.is_waiting and not self.ready

    def was_delivered_more_than(self, times: int) -> bool:
        """Whether a record that waits or is in hand was delivered more often than that.

        It may be what ended the consumers before, and this one next: prefetched records would share its
        result, and come nearer to their delivery limit without having been looked at.
        """
        held = (*self.in_hand, *(fetched.acquired for fetched in list(self.ready)))
        return any(delivery.max_delivery_count > times for delivery in held)

    @property
    def has_urgent_acknowledgements(self) -> bool:
        """Whether acknowledgements that must go at once wait for the loop."""
        return any(pending.is_urgent for pending in list(self.outbox))

    @property
    def records_waiting(self) -> int:
        """How many fetched records the application has still to take."""
        return sum(fetched.acquired.open_count for fetched in list(self.ready))

    def held_of(self, node_id: int) -> int:
        """How many records of a leader are locked for this consumer, in hand or waiting."""
        waiting = (fetched.acquired for fetched in list(self.ready))
        held = (*self.in_hand, *self.set_aside, *waiting)
        return sum(delivery.open_count for delivery in held if delivery.session.node_id == node_id)

    def record_ms(self, now_ms: int) -> float:
        """How long the application takes for a record: by its pace, or by what it works on now if that is slower."""
        if self.processing_since_ms is None:
            return self.pace_ms
        return max(self.pace_ms, (now_ms - self.processing_since_ms) / max(1, self._in_process))

    def unclaimed(self, node_id: int) -> int:
        """How many responses of a leader came while the application was busy, and were not touched since."""
        self._answers = [(node, first) for node, first in self._answers if first.is_untouched]
        return sum(node == node_id for node, _ in self._answers)

    def deliver(self, node_id: int, fetched: list[CompletedFetch]) -> None:
        """A response with records came."""
        if not self.is_waiting:
            fetched[0].is_untouched = True
            self._answers.append((node_id, fetched[0]))
        self.ready.extend(fetched)
        self.notify()

    def notify(self) -> None:
        """Something changed that a waiting application wants to see: a delivery, a result, an error."""
        if self.on_ready is not None:
            self.on_ready()

    def withdraw(self, fetched: CompletedFetch) -> bool:
        """Take a delivery back; False when the application was faster."""
        try:
            self.ready.remove(fetched)
        except ValueError:
            return False
        fetched.is_untouched = False
        self.returns(fetched.acquired)
        if fetched.error is not None:
            self.events.warn(Area.RECORDS, f"unread {fetched.acquired.topic_partition}", str(fetched.error))
        return True

    # ------------------------------------------------------------------------ the application's side

    def take(self, now_ms: int) -> CompletedFetch | None:
        """The next delivery that has not lost its locks; None when there is none."""
        while self.ready:
            fetched = self.ready.popleft()
            if fetched.is_untouched:
                fetched.is_untouched = False
                self.will_be_read = False  # the loop may fetch the next one
            if fetched.acquired.lock_deadline_ms > now_ms:
                self.bytes_handed_over += len(fetched.blob or b"")
                return fetched
            self.expired(fetched.acquired)
        return None

    def expired(self, delivery: DeliveredRecords) -> None:
        """The locks of records ran out before the application got them."""
        self.returns(delivery)
        self.lost(delivery, "their lock or share session ended before a poll took them")

    def returns(self, delivery: DeliveredRecords, kinds: Sequence[int] = (m.OPEN,)) -> None:
        """Note the records with these marks that go back to the broker, which may archive them."""
        returned = returned_of(delivery, kinds)
        if returned is not None:
            self.returned.append(returned)

    def came_back(self, pending: PendingAcknowledgement) -> None:
        """Note the records that went back to the broker because their acknowledgement failed or came after the lock.

        Those that were released count as returned already, since the application released them.
        """
        returned = None if pending.marks is None else returned_of(pending.delivery, _UNRELEASED, pending.marks)
        if returned is not None:
            self.returned.append(returned)

    def put_back(self, rest: Sequence[CompletedFetch]) -> None:
        """What a poll leaves for the next one."""
        self.ready.extendleft(reversed(rest))

    def handed_over(self, records: int, now_ms: int) -> None:
        """The application begins to work on that many records."""
        self.processing_since_ms, self._in_process = now_ms, records

    def lost(self, delivery: DeliveredRecords, why: str) -> None:
        """The locks of records were lost that were neither acknowledged nor given back."""
        records = delivery.open_count
        if records:
            self.had_setback()
            text = (
                f"Lost the locks of {counted(records, 'record')} of {delivery.topic_partition} (offsets"
                f" {delivery.first_offset} to {delivery.last_offset}): {why}. {_next_of(delivery)}"
            )
            self.events.warn(Area.RECORDS, f"lost locks {delivery.topic_partition}", text)

    def had_setback(self) -> None:
        """Something went wrong with what was delivered: fetch no more than needed until a delivery goes well."""
        self.setbacks += 1
        self.after_setback = self._had_setback = True

    def polled(self, now_ms: int) -> None:
        """The application came back for more."""
        self.last_poll_ms = now_ms
        self.polls.begun(now_ms, self.records_handed_over, self.bytes_handed_over)
        self.is_paused = False
        if self.processing_since_ms is not None:
            self.processing_ms = now_ms - self.processing_since_ms
            self.processing_since_ms = None
            record_ms = self.processing_ms / max(1, self._in_process)
            self.pace_ms = max(record_ms, self.pace_ms + (record_ms - self.pace_ms) / _FORGET_PACE_IN)
            self.after_setback, self._had_setback = self._had_setback, False


def _next_of(delivery: DeliveredRecords) -> str:
    if delivery.max_delivery_count < LEAST_DELIVERY_LIMIT:
        return "They will be delivered again."
    return "They will be delivered again, unless this was their last delivery (share.delivery.count.limit)."


@define
class PollFigures:
    """Written by the application's thread, a few numbers for each poll.

    Attributes:
        between: Milliseconds from one poll to the next.
        idle: Which part of that time the poll waited, from 0 to 1.
        records: Records that the application got.
        size_bytes: Bytes of the batches that they came in.
    """

    between: Windows = field(factory=Windows)
    idle: Windows = field(factory=Windows)
    records: Windows = field(factory=Windows)
    size_bytes: Windows = field(factory=Windows)
    _begun_ms: int | None = None
    _waited_ms: int = 0
    _records_before: int = 0
    _bytes_before: int = 0

    def begun(self, now_ms: int, records_total: int, bytes_total: int) -> None:
        """A poll begins; what the one before brought is known by now."""
        if self._begun_ms is not None:
            between_ms = now_ms - self._begun_ms
            self.between.record(between_ms, now_ms)
            self.idle.record(self._waited_ms / between_ms if between_ms > 0 else 0.0, now_ms)
        if records_total != self._records_before:
            self.records.record(records_total - self._records_before, now_ms)
            self.size_bytes.record(bytes_total - self._bytes_before, now_ms)
            self._records_before, self._bytes_before = records_total, bytes_total
        self._begun_ms, self._waited_ms = now_ms, 0

    def waited(self, now_ms: int) -> None:
        """A poll that had to wait ends."""
        if self._begun_ms is not None:
            self._waited_ms = now_ms - self._begun_ms
