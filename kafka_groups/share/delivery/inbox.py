"""Connects the event loop and the application: deliveries in one direction, acknowledgements in the other.

The two sides may be different threads. Every step is one operation on a `deque` or one assignment, which the
interpreter makes atomic, so that handing over a delivery needs no lock.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from attrs import define, field

from kafka_groups.client.events import Area, Events
from kafka_groups.client.windows import Windows
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import counted
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.commits import Acknowledged, PendingAcknowledgement
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.delivery import SessionId
from kafka_groups.share.delivery.returned import LEAST_DELIVERY_LIMIT, ArchivedRecords, ReturnedRecords, returned_of

__all__ = ["DEFAULT_DELIVERY_LIMIT", "CompletedFetch", "Inbox", "PollSensors"]

DEFAULT_DELIVERY_LIMIT = 5
"""Kafka's default of `group.share.delivery.count.limit`, used while the group's value is unknown."""

DEFAULT_RECORD_LOCKS = 2000
"""Kafka's default of `group.share.partition.max.record.locks`, used while the group's value is unknown."""

_UNRELEASED = (m.ACCEPT, m.REJECT, m.RENEW)
_FORGET_PACE_IN = 8
"""After this many faster deliveries, the greater part of a slow one is forgotten."""


@define(eq=False)
class CompletedFetch:
    """A delivery that waits for the application.

    Attributes:
        acquired: What was acquired.
        blob: Its record batches; None if the records are decoded already: renewed ones, or the rest of a poll.
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
        events: Events for the log, from both sides.
        on_session_ended: Called on the loop's side with a share session that has ended, and with it all its locks.
        on_ready: Called on the loop's side when a waiting application must look at the inbox.
        is_waiting: Whether the application waits in a poll.
        waits_until_ms: Until when it waits; None for no limit.
        last_poll_ms: When the application last called poll; None before.
        in_hand: Deliveries that the application holds and has not acknowledged and sent in full.
        will_be_read: Whether the loop reads this without being woken: with the response that each leader owes, or when
            the application takes the next one.
        is_paused: Whether the application wants nothing until its next poll.
        fetches_ahead: Whether the application wants the next batch to be fetched while it works.
        fetch_limit: The most records that one fetch may acquire, exactly; None for what is configured.
        shares_limit: Whether a limit may be divided among the leaders, which are then asked at the same time. A leader
            without records is asked for a short time if the limit is too small for that.
        set_aside: Deliveries that the application decoded but did not get yet, because an error must be raised first.
        processing_since_ms: When the application took what it works on; None while it is in a poll.
        processing_ms: How long it took for the delivery before; None before the first.
        pace_ms: How long it takes for a record; a slow delivery counts at once, and is forgotten slowly.
        setbacks: Number of times that a lock was lost, or records were released or rejected.
        after_setback: Whether that happened with the last delivery.
        records_handed_over: How many records the application has been given.
        bytes_handed_over: Bytes of the batches that they came in.
        polls: Metrics of the polls.
        returned: Records that went back to the broker and were delivered before, until the group's limit is known.
        archived: Those of them that the broker archives, until the callback receives them.
        records_archived: How many records went back with their last delivery.
        records_held: Number of records with a delayed release.
        delayed: Delayed releases: the records, and the times by position.
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
        self.on_session_ended: Callable[[SessionId], None] | None = None
        self.is_waiting = False
        self.waits_until_ms: int | None = None
        self.will_be_read = False
        self.is_paused = False
        self.fetches_ahead = True
        self.fetch_limit: int | None = None
        self.shares_limit = False
        self.last_poll_ms: int | None = None
        self.processing_since_ms: int | None = None
        self.processing_ms: int | None = None
        self.pace_ms = 0.0
        self.setbacks = 0
        self.after_setback = False
        self.records_handed_over = 0
        self.bytes_handed_over = 0
        self.polls = PollSensors()
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
        """True if the application waits and no records are available."""
        return self.is_waiting and not self.ready

    def was_delivered_more_than(self, times: int) -> bool:
        """Return True if a waiting record, or one in hand, has a higher delivery count than this.

        It may have crashed earlier consumers, and may crash this one next. Prefetched records would then be redelivered
        too, and get closer to their delivery limit without having been processed.
        """
        held = (*self.in_hand, *(fetched.acquired for fetched in list(self.ready)))
        return any(delivery.max_delivery_count > times for delivery in held)

    @property
    def has_urgent_acknowledgements(self) -> bool:
        """True if urgent acknowledgements are waiting for the loop."""
        return any(pending.is_urgent for pending in list(self.outbox))

    @property
    def records_waiting(self) -> int:
        """Number of fetched records that the application has not taken yet."""
        return sum(fetched.acquired.open_count for fetched in list(self.ready))

    def held_of(self, node_id: int) -> int:
        """Return how many records of a leader are locked for this consumer, in hand or waiting."""
        waiting = (fetched.acquired for fetched in list(self.ready))
        # All that is locked for this consumer, wherever it is on its way to the application.
        held = (*self.in_hand, *self.set_aside, *waiting)
        return sum(delivery.open_count for delivery in held if delivery.session.node_id == node_id)

    def record_ms(self, now_ms: int) -> float:
        """Return the time for a record in ms: the pace of the application, or of the current delivery if slower."""
        if self.processing_since_ms is None:
            return self.pace_ms
        return max(self.pace_ms, (now_ms - self.processing_since_ms) / max(1, self._in_process))

    def unclaimed(self, node_id: int) -> int:
        """Return how many responses of a leader arrived while the application was busy, and are still untouched."""
        # A response counts until the application takes its first part. Then the next fetch may go, while the rest of
        # the response still waits for later polls.
        self._answers = [(node, first) for node, first in self._answers if first.is_untouched]
        return sum(node == node_id for node, _ in self._answers)

    def deliver(self, node_id: int, fetched: list[CompletedFetch]) -> None:
        """Put a response with records into the inbox."""
        # A response that comes while the application waits is taken at once and does not count as prefetched.
        if not self.is_waiting:
            fetched[0].is_untouched = True
            self._answers.append((node_id, fetched[0]))
        self.ready.extend(fetched)
        self.notify()

    def notify(self) -> None:
        """Wake a waiting application, because there is a delivery, a result or an error."""
        if self.on_ready is not None:
            self.on_ready()

    def withdraw(self, fetched: CompletedFetch) -> bool:
        """Take a delivery back. Return False if the application has taken it already."""
        try:
            self.ready.remove(fetched)
        except ValueError:
            # The application has popped it between the loop's look and this call. It is in hand now, and its locks are
            # watched there.
            return False
        fetched.is_untouched = False
        self.returns(fetched.acquired)
        # Nobody will poll these records any more, and so the error behind them would never be raised.
        if fetched.error is not None:
            self.events.warn(Area.RECORDS, f"unread {fetched.acquired.topic_partition}", str(fetched.error))
        return True

    # ------------------------------------------------------------------------ the application's side

    def take(self, now_ms: int) -> CompletedFetch | None:
        """Return the next delivery that still has its locks, or None."""
        while self.ready:
            fetched = self.ready.popleft()
            if fetched.is_untouched:
                fetched.is_untouched = False
                self.will_be_read = False  # the loop may fetch the next one
            # Kafka's client returns buffered records whatever their locks are. Here a record without a lock is dropped:
            # another member may be processing it already, and its acknowledgement would fail with INVALID_RECORD_STATE.
            if fetched.acquired.lock_deadline_ms > now_ms:
                self.bytes_handed_over += len(fetched.blob or b"")
                return fetched
            self.expired(fetched.acquired)
        return None

    def expired(self, delivery: DeliveredRecords) -> None:
        """Count records whose locks expired before the application got them."""
        self.returns(delivery)
        self.lost(delivery, "their lock or share session ended before a poll took them")

    def returns(self, delivery: DeliveredRecords, kinds: Sequence[int] = (m.OPEN,)) -> None:
        """Note the records with these marks that return to the broker, which may archive them."""
        returned = returned_of(delivery, kinds)
        if returned is not None:
            self.returned.append(returned)

    def came_back(self, pending: PendingAcknowledgement) -> None:
        """Note the records that went back to the broker because their acknowledgement failed or came after the lock.

        Those that were released count as returned already, since the application released them.
        """
        # A renewal in place has no marks: the application has not decided about these records, and still holds them.
        returned = None if pending.marks is None else returned_of(pending.delivery, _UNRELEASED, pending.marks)
        if returned is not None:
            self.returned.append(returned)

    def put_back(self, rest: Sequence[CompletedFetch]) -> None:
        """Put the rest of a delivery back for the next poll."""
        self.ready.extendleft(reversed(rest))

    def handed_over(self, deliveries: Iterable[DeliveredRecords], now_ms: int) -> None:
        """Note that the application starts to process these records. It gets some of them for the second time."""
        in_process = 0
        for delivery in deliveries:
            in_process += delivery.size
            # What a loop left and what was renewed comes a second time, with the same delivery count, and is counted
            # once.
            self.records_handed_over += 0 if delivery.was_handed_over else delivery.size
            delivery.was_handed_over = True
        self.processing_since_ms, self._in_process = now_ms, in_process

    def lost(self, delivery: DeliveredRecords, why: str) -> None:
        """Count locks that were lost before their records were acknowledged or released."""
        records = delivery.open_count
        if records:
            # Records that were acknowledged and sent lost nothing: only open ones will be delivered again.
            self.had_setback()
            text = (
                f"Lost the locks of {counted(records, 'record')} of {delivery.topic_partition} (offsets"
                f" {delivery.first_offset} to {delivery.last_offset}): {why}. {_next_of(delivery)}"
            )
            self.events.warn(Area.RECORDS, f"lost locks {delivery.topic_partition}", text)

    def session_ended(self, session: SessionId) -> None:
        """Report that a share session has ended: the locks of its records are lost."""
        if self.on_session_ended is not None:
            self.on_session_ended(session)

    def had_setback(self) -> None:
        """Note a setback: fetch no more than needed until a delivery goes well."""
        self.setbacks += 1
        self.after_setback = self._had_setback = True

    def polled(self, now_ms: int) -> None:
        """Note that the application polls again."""
        self.last_poll_ms = now_ms
        self.polls.begun(now_ms, self.records_handed_over, self.bytes_handed_over)
        self.is_paused = False
        if self.processing_since_ms is not None:
            self.processing_ms = now_ms - self.processing_since_ms
            self.processing_since_ms = None
            record_ms = self.processing_ms / max(1, self._in_process)
            # A slower delivery counts at once and in full, since too large fetches cost locks. A faster one moves the
            # pace by an eighth, since one quick batch says little.
            self.pace_ms = max(record_ms, self.pace_ms + (record_ms - self.pace_ms) / _FORGET_PACE_IN)
            # Only a poll that ends a delivery decides whether it went well, so an empty poll does not forget a setback.
            self.after_setback, self._had_setback = self._had_setback, False


def _next_of(delivery: DeliveredRecords) -> str:
    if delivery.max_delivery_count < LEAST_DELIVERY_LIMIT:
        return "They will be delivered again."
    return "They will be delivered again, unless this was their last delivery (share.delivery.count.limit)."


@define
class PollSensors:
    """Metrics of polls, written by the application's thread.

    Attributes:
        between: Milliseconds from one poll to the next.
        idle: Which part of that time the poll waited, from 0 to 1.
        consumed: Bytes of the batches that the application got, counted by records.
    """

    between: Windows = field(factory=Windows)
    idle: Windows = field(factory=Windows)
    consumed: Windows = field(factory=Windows)
    _begun_ms: int | None = None
    _waited_ms: int = 0
    _records_before: int = 0
    _bytes_before: int = 0

    def begun(self, now_ms: int, records_total: int, bytes_total: int) -> None:
        """Note that a poll begins, and store the metrics of the one before."""
        if self._begun_ms is not None:
            between_ms = now_ms - self._begun_ms
            self.between.record(between_ms, now_ms)
            self.idle.record(self._waited_ms / between_ms if between_ms > 0 else 0.0, now_ms)
        if records_total != self._records_before:
            self.consumed.record(bytes_total - self._bytes_before, now_ms, records_total - self._records_before)
            self._records_before, self._bytes_before = records_total, bytes_total
        self._begun_ms, self._waited_ms = now_ms, 0

    def waited(self, now_ms: int) -> None:
        """Note that a poll that had to wait ends."""
        if self._begun_ms is not None:
            self._waited_ms = now_ms - self._begun_ms
