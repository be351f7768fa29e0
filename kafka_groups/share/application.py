"""Application-side state of a share consumer: the records in hand and their acknowledgements.

All methods are local and return at once. Only the inbox connects them with the event loop's thread.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import filterfalse
from operator import attrgetter
from typing import TypeVar

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.call_guard import CallGuard
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import (
    IllegalStateError,
    WakeupError,
)
from kafka_groups.net.clock import Clock
from kafka_groups.share.archive_watch import ArchiveCallback
from kafka_groups.share.arguments import (
    check_kind,
    check_renewal_target,
    checked_records,
    checked_release_after,
    not_a_record,
)
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.commits import Acknowledged, CommitTicket, PendingAcknowledgement
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.inbox import Inbox
from kafka_groups.share.delivery.loops import Loops
from kafka_groups.share.delivery.records import AnyRecord, ShareRecord, delivery_of
from kafka_groups.share.delivery.share_records import AnyRecords, ShareRecords
from kafka_groups.share.intake import Intake
from kafka_groups.types import AcknowledgeType, TopicPartition

__all__ = ["AcknowledgementCallback", "Application"]

_RELEASE_TOGETHER_MS = 100
"""Delayed releases that are due within the same tenth of a second are sent together."""

T = TypeVar("T")

AcknowledgementCallback = Callable[[Acknowledged], object]
"""Receives the results of acknowledgements, one partition at a time, during poll, commit or close."""


class ConsumerGuard(CallGuard):
    """Guards the calls of a consumer.

    Args:
        is_explicit: Whether the application acknowledges each record itself.

    Attributes:
        is_explicit: Whether the application acknowledges each record itself.
        refuses: Whether no record can be acknowledged now: in implicit mode, in a callback, after close.
    """

    def __init__(self, *, is_explicit: bool) -> None:
        super().__init__("share consumer")
        self.is_explicit = is_explicit
        self.refuses = not is_explicit
        self._in_callback = False

    def check_usable(self) -> None:
        """Raise when the consumer cannot be used now.

        Raises:
            ClosedError: The consumer was closed.
            IllegalStateError: Called from the acknowledgement callback.
        """
        super().check_usable()
        if self._in_callback:
            raise IllegalStateError("only wakeup() may be called from the acknowledgement callback")

    def mark_closed(self) -> None:
        """Close the application's side. Every later call raises `ClosedError`."""
        super().mark_closed()
        self.refuses = True

    def _enter_callback(self) -> None:
        self._in_callback = self.refuses = True
        self.is_usable = False

    def _leave_callback(self) -> None:
        self._in_callback, self.is_usable = False, not self.is_closed
        self.refuses = self.is_closed or not self.is_explicit


class Application(ConsumerGuard):
    """State and rules of the application's side. The two facades only add the waiting.

    Args:
        config: The consumer's configuration.
        inbox: The hand-over from and to the event loop.
        errors: Errors of requests in the background.
        clock: Time.

    Attributes:
        subscription: The topics that it is subscribed to.
        callback: Receives the results of acknowledgements, or None.
        archive_callback: Receives records that a release archives, or None.
    """

    def __init__(self, config: ShareConsumerConfig, inbox: Inbox, errors: BackgroundErrors, clock: Clock) -> None:
        super().__init__(is_explicit=config.acknowledgement_mode == "explicit")
        self._config = config
        self._inbox = inbox
        self._errors = errors
        self._clock = clock
        self._in_hand: list[DeliveredRecords] = []
        self._intake = Intake(config, inbox)
        self._loops = Loops()
        self._commits: list[CommitTicket] = []
        self._woken = False
        self.subscription: frozenset[str] = frozenset()
        self.callback: AcknowledgementCallback | None = None
        self.archive_callback: ArchiveCallback | None = None

    def wake(self) -> None:
        """Make the poll that is waiting, or else the next poll or commit, raise `WakeupError`."""
        self._woken = True
        self._inbox.notify()

    # ---------------------------------------------------------------------------------------- poll

    def begin_poll(self, *, holding: bool = False) -> int:
        """Prepare a poll: end the loop before it, raise pending errors, and send acknowledgements.

        Args:
            holding: Whether records of earlier polls may stay in hand without being acknowledged (explicit mode).

        Returns:
            The time at which the poll began.

        Raises:
            KafkaGroupsError: An error of a request in the background, or of the last delivery.
            IllegalStateError: Not subscribed; or a record of the last poll was not acknowledged (explicit mode).
            WakeupError: `wakeup` was called.
        """
        now_ms = self._clock.now_ms()
        self._inbox.polled(now_ms)
        # The loop before has ended, or its body polls. What it moved past is settled now, and the rest waits for this
        # poll.
        if self._loops.reading is not None:
            self.end_loop()
        for delivery in self._in_hand:
            if delivery.undecodable is not None:
                self._report_undecodable()
        self.raise_waiting()
        # KIP-932, "Client programming interface", would return unacknowledged records again. Kafka raises since 4.1
        # (ShareConsumerImpl.ensureInFlightAcknowledgedIfExplicitAcknowledgement). `holding` is this client's own: a
        # worker polls for more while it still processes records.
        if self.is_explicit and not holding and any(delivery.has_open for delivery in self._in_hand):
            raise IllegalStateError("all records must be acknowledged before the next poll in explicit mode")
        # In implicit mode a poll accepts what the one before returned
        # (ShareConsumerImpl.acknowledgeBatchIfImplicitAcknowledgement).
        self.send_acknowledged(now_ms=now_ms, accepts_open=not self.is_explicit)
        if not self.subscription:
            # After the acknowledgements, in the order of ShareConsumerImpl.poll. They are sent even if the consumer is
            # not subscribed any more.
            raise IllegalStateError("the consumer is not subscribed to any topic: call subscribe() first")
        return now_ms

    def raise_waiting(self) -> None:
        """Raise pending errors, and pass pending results to the callback.

        Raises:
            KafkaGroupsError: An error of a request in the background.
            WakeupError: `wakeup` was called.
        """
        self.run_callback()
        if self._woken:
            # One wakeup ends one wait, as in Kafka's client (WakeupTrigger.maybeTriggerWakeup).
            self._woken = False
            raise WakeupError("wakeup() was called")
        if self._errors.waiting or self._errors.fatal is not None:
            self._errors.raise_first()

    def take(self, now_ms: int | None = None) -> AnyRecords:
        """Return the decoded records that are available, or an empty batch.

        Args:
            now_ms: The time, if the poll has only just begun; None: it has waited since.

        Raises:
            KafkaGroupsError: An error stands before the next records: a corrupt batch, or a record that cannot be
                deserialised.
        """
        now_ms = self._clock.now_ms() if now_ms is None else now_ms
        if self._loops.rest:
            self._loops.forget_rest()
        try:
            deliveries = self._intake.take(self._in_hand, now_ms)
        finally:
            self._intake.publish(self._in_hand)
        if deliveries:
            # Now the application works on them: its pace is measured from here.
            self._inbox.handed_over(deliveries, now_ms)
        else:
            self.send_acknowledged(now_ms=now_ms)  # only gaps, which the application never sees
        return ShareRecords(deliveries)

    def _report_undecodable(self) -> None:
        for delivery in self._in_hand:
            if delivery.undecodable is not None:
                self._errors.report(delivery.undecodable)
                delivery.undecodable = None

    # -------------------------------------------------------------------------------------- iterating

    def read(self, loop: object, records: AnyRecords) -> Iterator[Iterator[AnyRecord]]:
        """Let a loop iterate over a batch. Afterwards, records it has not moved past go to the next loop or poll."""
        return self._loops.begin(loop, records._deliveries)

    def resume(self, loop: object) -> Iterator[Iterator[AnyRecord]] | None:
        """The remaining records for a loop whose body used the consumer; None if the loop must poll."""
        # A poll in the body of the loop may have taken the rest, or a commit may have dropped it with its locks.
        rest = [part for part in self._loops.rest_of(loop) if part in self._intake.set_aside]
        if not rest:
            return None
        taken = self._intake.take_these(rest, self._in_hand, self._clock.now_ms())
        self._intake.publish(self._in_hand)
        return self._loops.resume(loop, taken)

    def end_loop(self) -> None:
        """End a loop.

        Settle the records that it moved past, and put those that it never reached before all waiting records.
        """
        rest = self._loops.end(is_explicit=self.is_explicit)
        if rest:
            self._in_hand = [part for part in self._in_hand if part not in rest]
            self._intake.put_first(rest)
            self._intake.publish(self._in_hand)

    def run_callback(self) -> None:
        """Pass new results of acknowledgements to the callback."""
        # Without a callback nobody wants the results, and keeping them would need more and more memory.
        if self.callback is None:
            self._inbox.results.clear()
        elif self._inbox.results:
            self._tell_all(self._inbox.results, self.callback)
        if self.archive_callback is None:
            self._inbox.archived.clear()
        elif self._inbox.archived:
            self._tell_all(self._inbox.archived, self.archive_callback)

    def _tell_all(self, news: deque[T], callback: Callable[[T], object]) -> None:
        while news:
            told = news.popleft()
            # KIP-932, "Acknowledgement commit callback": a callback may call nothing but wakeup. An exception that it
            # raises goes through poll or commit to the caller, and the remaining results come with the next call.
            self._enter_callback()
            try:
                callback(told)
            finally:
                self._leave_callback()

    # ----------------------------------------------------------------------------- acknowledgement

    def acknowledge(self, record: AnyRecord, kind: AcknowledgeType, release_after: float | None = None) -> None:
        """Acknowledge one record."""
        due_ms = self._due_ms(kind, release_after)
        if not isinstance(record, ShareRecord):
            raise not_a_record(record)
        self._check_subscribed()
        delivery = delivery_of(record)
        delivery.acknowledge(record.offset, kind)
        if due_ms is not None:
            delivery.release_at(record.offset, record.offset, due_ms)

    def _due_ms(self, kind: AcknowledgeType, release_after: float | None) -> int | None:
        """Return when to release, or None to release with the next request."""
        self._check_kind(kind)
        # A delay of 0 is an ordinary release.
        if not (seconds := checked_release_after(kind, release_after)):
            return None
        due_ms = self._clock.now_ms() + seconds * 1000
        # Rounded up, since a record must not be released earlier than the application asked for.
        return math.ceil(due_ms / _RELEASE_TOGETHER_MS) * _RELEASE_TOGETHER_MS

    def acknowledge_offset(
        self, partition: TopicPartition, offset: int, kind: AcknowledgeType, release_after: float | None = None
    ) -> None:
        """Acknowledge the record at an offset."""
        due_ms = self._due_ms(kind, release_after)
        self._check_subscribed()
        for delivery in self._deliveries_of(partition):
            if offset in delivery:
                delivery.acknowledge(offset, kind)
                if due_ms is not None:
                    delivery.release_at(offset, offset, due_ms)
                return
        raise IllegalStateError(f"the record {partition}@{offset} cannot be acknowledged: it is not in flight")

    def _deliveries_of(self, partition: TopicPartition) -> list[DeliveredRecords]:
        return [d for d in self._in_hand if (d.topic, d.partition) == (partition.topic, partition.partition)]

    def acknowledge_range(
        self,
        partition: TopicPartition,
        offsets: tuple[int, int],
        kind: AcknowledgeType,
        release_after: float | None = None,
    ) -> int:
        """Acknowledge all records in hand from the first to the last offset. Return their number."""
        due_ms = self._due_ms(kind, release_after)
        self._check_subscribed()
        return sum(delivery.acknowledge_range(*offsets, kind, due_ms) for delivery in self._deliveries_of(partition))

    def acknowledge_all(
        self, records: Iterable[AnyRecord], kind: AcknowledgeType, release_after: float | None = None
    ) -> int:
        """Acknowledge all records of a batch, or of a part of one, that are still in hand. Return their number."""
        due_ms = self._due_ms(kind, release_after)
        parts = list(_parts(records))  # before the first is acknowledged, so that nothing is if one is not a record
        self._check_subscribed()
        return sum(delivery.acknowledge_range(first, last, kind, due_ms) for delivery, first, last in parts)

    def _check_kind(self, kind: object) -> None:
        self.check_usable()
        check_kind(kind)
        if not self.is_explicit:
            # As in Kafka since 4.1, the mode is configured (share.acknowledgement.mode) and not found out by the first
            # call of acknowledge, as in KIP-932, "Client programming interface".
            raise IllegalStateError(
                "implicit acknowledgement is in use: set acknowledgement_mode='explicit' to acknowledge records"
            )
        # Applications do not know which offsets have no record. Kafka's public AcknowledgeType has no GAP for that
        # reason.
        if kind == AcknowledgeType.GAP:
            raise IllegalStateError("GAP is for offsets without a record; ACCEPT, RELEASE, REJECT or RENEW a record")

    def _check_subscribed(self) -> None:
        if not self.subscription:
            raise IllegalStateError(
                "nothing can be acknowledged: the consumer is not subscribed, and unsubscribe() released the records"
                " that were not acknowledged. Acknowledge them before you unsubscribe."
            )

    def send_acknowledged(
        self, ticket: CommitTicket | None = None, *, accepts_open: bool = False, now_ms: int | None = None
    ) -> bool:
        """Hand the acknowledgements over to the event loop. Return True if there were any.

        Args:
            ticket: The commit that waits for the results, or None.
            accepts_open: Whether all records in hand are accepted first (implicit mode).
            now_ms: The time, if the caller knows it.
        """
        if not self._in_hand:
            return False
        deadline_ms = (self._clock.now_ms() if now_ms is None else now_ms) + self._config.default_api_timeout_ms
        pending: list[PendingAcknowledgement] = []
        holds = False
        for delivery in self._in_hand:
            if delivery.undecodable is not None:
                self._report_undecodable()
            if accepts_open:
                delivery.accept_open()
            # Nothing was acknowledged since the last time. Records that stay in hand are looked at in every poll.
            if delivery.is_as_sent:
                continue
            # Only other types than ACCEPT return records to the broker, now or later.
            if not delivery.is_accepted:
                holds = self._put_back(delivery) or holds
            taken = delivery.take_acknowledged()
            batches = m.encode_batches(taken, delivery.first_offset)
            if batches:
                # If there are none, all that was decided is a delayed release, which is sent when it is due.
                pending.append(PendingAcknowledgement(delivery, batches, taken, deadline_ms, ticket))
        self._in_hand = list(filterfalse(attrgetter("is_done"), self._in_hand))
        self._inbox.in_hand = tuple(self._in_hand)
        if ticket is not None:
            ticket.expect(len(pending))  # before the loop's side can settle the first of them
        self._inbox.outbox.extend(pending)
        return bool(pending) or holds

    def _put_back(self, delivery: DeliveredRecords) -> bool:
        """Note what goes back to the broker. Return True if some of it does later: that leaves the hand now."""
        self._inbox.returns(delivery, (m.RELEASE, m.HELD))
        # The application could not process these records, so prefetching and large fetches stop until a delivery goes
        # well.
        if m.RELEASE in delivery.marks or m.REJECT in delivery.marks:
            self._inbox.had_setback()
        held = delivery.take_held()
        if held is not None:
            self._inbox.delayed.append(held)
        return held is not None

    def commit(self, ticket: CommitTicket) -> bool:
        """Begin a commit, without waiting for it. In implicit mode, accept all delivered records."""
        self.raise_waiting()
        self.end_loop()
        has_sent = self.send_acknowledged(ticket, accepts_open=not self.is_explicit)
        self._commits = [*self._unanswered(), ticket]
        # A commit that may travel with the next fetch does not wake the loop: a response will.
        if ticket.is_urgent:
            self._have_the_loop_look()
        return has_sent

    def wait_for_commits(self) -> list[CommitTicket]:
        """Return the commits that brokers have not answered yet.

        The caller waits for them, so they become urgent.
        """
        waited_for = self._unanswered()
        for ticket in waited_for:
            ticket.is_urgent = True
        self._have_the_loop_look()
        return waited_for

    def _unanswered(self) -> list[CommitTicket]:
        return [ticket for ticket in self._commits if not ticket.is_done]

    def renew(self, target: AnyRecord | AnyRecords | None, ticket: CommitTicket) -> bool:
        """Ask for new locks on records in hand that are not acknowledged yet. Return True if there are any.

        Raises:
            IllegalStateError: In implicit mode.
        """
        self._check_kind(AcknowledgeType.RENEW)
        check_renewal_target(target)
        self._check_subscribed()
        deadline_ms = self._clock.now_ms() + self._config.default_api_timeout_ms
        offset = target.offset if isinstance(target, ShareRecord) else None
        # Only open records are renewed: one that was acknowledged needs no lock any more, and the broker refuses a
        # request that names an offset twice.
        renewals = ((delivery, delivery.renewal_batches(offset)) for delivery in self._targets(target))
        pending = [PendingAcknowledgement(d, batches, None, deadline_ms, ticket) for d, batches in renewals if batches]
        ticket.expect(len(pending))  # as above, before any of them is settled
        self._inbox.outbox.extend(pending)
        self._have_the_loop_look()
        return bool(pending)

    def _targets(self, target: AnyRecord | AnyRecords | None) -> list[DeliveredRecords]:
        if target is None:
            return list(self._in_hand)
        if not isinstance(target, ShareRecord):
            return list(target._deliveries)
        delivery = target._delivery
        return [delivery] if isinstance(delivery, DeliveredRecords) else []  # a copy has no locks

    def _have_the_loop_look(self) -> None:
        """Send acknowledgements at once.

        The facade wakes the loop even if the loop would read the inbox soon by itself.
        """
        self._inbox.will_be_read = False

    def pause(self) -> None:
        """Request no records until the next poll, and release those that the application has not seen.

        Records in hand stay in hand. Acknowledgements are sent.
        """
        self._inbox.is_paused = True
        self.end_loop()
        # Decoded records that no poll returned are released by the application's side. Those still in the inbox belong
        # to the event loop, which releases them in its next turn.
        for delivery in self._intake.give_up():
            delivery.mark_open(delivery.first_offset, delivery.last_offset, AcknowledgeType.RELEASE)
            self._in_hand.append(delivery)
        self._intake.publish(self._in_hand)
        self.send_acknowledged()
        self._have_the_loop_look()

    def begin_leaving(self) -> None:
        """Send acknowledgements, also of the records that a loop moved past.

        The end of the session releases all others.
        """
        self.end_loop()
        self.send_acknowledged()
        # KIP-932, "Client programming interface": close releases what is acquired and not acknowledged, in implicit
        # mode the records of the last poll, too. A record on its last delivery is archived by that, so it is noted.
        for delivery in (*self._in_hand, *self._intake.set_aside):
            self._inbox.returns(delivery)

    def drop_all(self) -> None:
        """Drop the records in hand after unsubscribing.

        The end of the session releases those that are not acknowledged.
        """
        for delivery in self._in_hand:
            delivery.let_go()  # so that a late acknowledgement is refused, and not dropped
        self._in_hand = []
        self._intake.clear()
        for fetched in list(self._inbox.ready):
            self._inbox.withdraw(fetched)
        self._intake.publish(self._in_hand)


def _parts(records: Iterable[AnyRecord]) -> Iterator[tuple[DeliveredRecords, int, int]]:
    """Return deliveries with the first and last offset to acknowledge: all of a batch, or single records of a list."""
    if isinstance(records, ShareRecords):
        yield from ((delivery, delivery.first_offset, delivery.last_offset) for delivery in records._deliveries)
        return
    for record in checked_records(records):
        delivery = delivery_of(record)
        if isinstance(delivery, DeliveredRecords):  # else it is a copy, which has no locks
            yield delivery, record.offset, record.offset
