"""Between the event loop and the application: deliveries one way, acknowledgements the other.

The two sides may be different threads. Every step is one operation on a `deque` or one assignment, which the
interpreter makes atomic, so that handing over a delivery needs no lock.
"""

from collections import deque
from collections.abc import Callable

from attrs import frozen

from kafka_groups.client.events import Area, Events, counted
from kafka_groups.share.delivery.acquired import AcquiredRecords
from kafka_groups.share.delivery.commits import Acknowledged, PendingAcknowledgement
from kafka_groups.share.delivery.poll_figures import PollFigures

__all__ = ["DEFAULT_DELIVERY_LIMIT", "Fetched", "Inbox"]

DEFAULT_DELIVERY_LIMIT = 5
"""Kafka's `group.share.delivery.count.limit`, taken while the group's own is not known."""

_OFTEN = 2
"""What was delivered more often than this may be the reason why the consumers before did not finish."""


@frozen(eq=False)
class Fetched:
    """A delivery that is not decoded yet.

    Attributes:
        acquired: What was acquired.
        blob: Its record batches; None for a redelivery, whose records are there already.
    """

    acquired: AcquiredRecords
    blob: bytes | None


class Inbox:
    """The hand-over between a fetch manager and the application that it fetches for.

    Attributes:
        events: Lines for the log, of both sides.
        on_ready: Called on the loop's side when something came for an application that waits.
        is_waiting: Whether the application waits in a poll.
        waits_until_ms: Until when it waits; None for as long as it takes.
        last_poll_ms: When the application last called poll; None before.
        in_hand: Deliveries that the application holds and has not acknowledged and sent in full.
        is_attended: Whether each leader has a request under way, so that its answer makes the loop look here anyway.
        is_paused: Whether the application wants nothing until its next poll.
        fetches_ahead: Whether the application wants the next batch to be fetched while it works.
        fetch_limit: The most records that one fetch may acquire, exactly; None for what is configured.
        set_aside: Deliveries that the application decoded but did not get yet, because an error must be raised first.
        processing_since_ms: When the application took what it works on; None while it is in a poll.
        processing_ms: How long it took for the delivery before; None before the first.
        records_handed_over: How many records the application has been given.
        bytes_handed_over: Bytes of the batches that they came in.
        polls: Figures of the polls.
        records_archived: How many records it released with their last delivery.
        records_held: How many it wants released later that are held now.
        delayed: What it wants released later: the records, and when by position.
        delivery_limit: How many deliveries the group allows; Kafka's default until it is known.
        knows_delivery_limit: Whether the brokers told it.
    """

    def __init__(self, events: Events | None = None) -> None:
        self.ready: deque[Fetched] = deque()
        self.outbox: deque[PendingAcknowledgement] = deque()
        self.fates: deque[Acknowledged] = deque()
        self.events = Events() if events is None else events
        self.in_hand: tuple[AcquiredRecords, ...] = ()
        self.set_aside: tuple[AcquiredRecords, ...] = ()
        self.on_ready: Callable[[], None] | None = None
        self.is_waiting = False
        self.waits_until_ms: int | None = None
        self.is_attended = False
        self.is_paused = False
        self.fetches_ahead = True
        self.fetch_limit: int | None = None
        self.last_poll_ms: int | None = None
        self.processing_since_ms: int | None = None
        self.processing_ms: int | None = None
        self.records_handed_over = 0
        self.bytes_handed_over = 0
        self.polls = PollFigures()
        self.records_archived = 0
        self.records_held = 0
        self.delayed: deque[tuple[AcquiredRecords, dict[int, int]]] = deque()
        self.delivery_limit = DEFAULT_DELIVERY_LIMIT
        self.knows_delivery_limit = False
        self._unclaimed: dict[int, int] = {}

    # ------------------------------------------------------------------------------- the loop's side

    @property
    def is_hungry(self) -> bool:
        """Whether the application waits and there is nothing for it."""
        return self.is_waiting and not self.ready

    @property
    def is_suspicious(self) -> bool:
        """Whether a record that waits or is in hand was delivered often before.

        It may be what ended the consumers before, and this one next: prefetched records would share its
        fate, and come nearer to its delivery limit without having been looked at.
        """
        held = (*self.in_hand, *(fetched.acquired for fetched in list(self.ready)))
        return any(delivery.max_delivery_count > _OFTEN for delivery in held)

    def unclaimed(self, node_id: int) -> int:
        """How many responses of a leader came since the application last took what was there."""
        return self._unclaimed.get(node_id, 0)

    def deliver(self, node_id: int, fetched: list[Fetched]) -> None:
        """A response with records came."""
        if not self.is_waiting:
            self._unclaimed[node_id] = self._unclaimed.get(node_id, 0) + 1
        self.ready.extend(fetched)
        self.notify()

    def notify(self) -> None:
        """Something changed that a waiting application wants to see: a delivery, a fate, an error."""
        if self.on_ready is not None:
            self.on_ready()

    def withdraw(self, fetched: Fetched) -> bool:
        """Take a delivery back; False when the application was faster."""
        try:
            self.ready.remove(fetched)
        except ValueError:
            return False
        return True

    # ------------------------------------------------------------------------ the application's side

    def take(self, now_ms: int) -> list[Fetched]:
        """All waiting deliveries, without those that have lost their locks."""
        taken: list[Fetched] = []
        while self.ready:
            fetched = self.ready.popleft()
            if fetched.acquired.lock_deadline_ms > now_ms:
                taken.append(fetched)
                self.bytes_handed_over += len(fetched.blob or b"")
            else:
                self.lost(fetched.acquired, "they waited for a poll for longer than the acquisition lock")
        self._unclaimed = {}
        if taken:
            self.processing_since_ms = now_ms
        return taken

    def lost(self, delivery: AcquiredRecords, why: str) -> None:
        """The locks of records were lost that were neither acknowledged nor given back."""
        records = delivery.open_count
        if records:
            text = (
                f"Lost the locks of {counted(records, 'record')} of {delivery.topic_partition} (offsets"
                f" {delivery.first_offset} to {delivery.last_offset}): {why}. They will be delivered again."
            )
            self.events.warn(Area.RECORDS, f"lost locks {delivery.topic_partition}", text)

    def polled(self, now_ms: int) -> None:
        """The application came back for more."""
        self.last_poll_ms = now_ms
        self.polls.begun(now_ms, self.records_handed_over, self.bytes_handed_over)
        self.is_paused = False
        if self.processing_since_ms is not None:
            self.processing_ms = now_ms - self.processing_since_ms
            self.processing_since_ms = None
