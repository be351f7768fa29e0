"""Renews locks: of deliveries that wait for the application, and of those in hand (KIP-1222)."""

from collections.abc import Callable, Iterator

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.requests import NEVER_MS
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import KafkaGroupsError, RenewalUnsupportedError
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.commits import PendingAcknowledgement
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.fetching.fetch_sensors import ShareMetrics
from kafka_groups.share.delivery.fetching.leader import Leader
from kafka_groups.share.delivery.inbox import CompletedFetch, Inbox

__all__ = ["NO_RENEWAL", "Renewer"]

NO_RENEWAL = (
    "The broker cannot renew acquisition locks: it supports version 1 of ShareFetch and ShareAcknowledge, but RENEW"
    " needs version 2. Upgrade the broker to Kafka 4.2 or newer (KIP-1222), or finish work before the lock expires."
)

Fail = Callable[[PendingAcknowledgement, KafkaGroupsError], None]


class Renewer:
    """Decides when to renew which locks.

    A lock is renewed when half of it has passed. A waiting delivery that cannot be renewed is released, so that the
    application never receives a record without a lock.

    Args:
        config: The consumer's configuration.
        errors: Receives the error for the application if `auto_renew` is not possible.
        inbox: The deliveries.
        metrics: Counts released records.
    """

    def __init__(
        self, config: ShareConsumerConfig, errors: BackgroundErrors, inbox: Inbox, metrics: ShareMetrics
    ) -> None:
        self._config = config
        self._errors = errors
        self._inbox = inbox
        self._metrics = metrics

    def admit(self, leader: Leader, pending: PendingAcknowledgement, fail: Fail) -> None:
        """Add an acknowledgement to the leader's next request, unless the leader does not support its type."""
        # There are three cases with an old leader. Without RENEW everything is sent. A renewal in place fails as a
        # whole. Of the application's acknowledgements only those with RENEW fail, and the rest is sent.
        if leader.can_renew or not pending.renews:
            leader.pending.append(pending)
            return
        if not pending.is_renewal_in_place:
            pending, rest = pending.split_renewals()
            if rest is not None:
                leader.pending.append(rest)
                # The commit that waits now has one result more: that of the rest, beside the failed renewals.
                if rest.ticket is not None:
                    rest.ticket.expect(1)
        fail(pending, RenewalUnsupportedError(NO_RENEWAL))

    def renew(self, leader: Leader, lock_timeout_ms: int | None, now_ms: int) -> int:
        """Add due renewals to the leader's pending acknowledgements. Return the time until the next one."""
        # Before the first fetch response the duration is unknown, but there are no locks to renew either.
        if lock_timeout_ms is None:
            return NEVER_MS
        wait_ms = NEVER_MS
        for delivery, fetched in self._candidates(leader):
            # Half of the lock is left for the renewal: a request in flight may hold it up, and it may have to be sent
            # again.
            due_ms = delivery.lock_deadline_ms - lock_timeout_ms // 2
            # There are four cases: not due yet; due, and the leader can renew; due and waiting in the inbox, so that it
            # can go back unseen; due and in the application's hands, which has to finish before the lock expires.
            if due_ms > now_ms:
                wait_ms = min(wait_ms, due_ms - now_ms)
            elif leader.can_renew:
                self._renew(leader, delivery)
            elif fetched is not None:
                self._give_back(leader, fetched)
            else:
                self._refuse(delivery)
        return wait_ms

    def _candidates(self, leader: Leader) -> Iterator[tuple[DeliveredRecords, CompletedFetch | None]]:
        session = leader.session.id
        # Waiting records are renewed in any case: the application cannot do it, and has not seen them yet. In Kafka's
        # client the locks of buffered records simply run on.
        for fetched in list(self._inbox.ready):
            if _renewable(fetched.acquired, session):
                yield fetched.acquired, fetched
        # Records set aside behind an error wait like those in the inbox. Records in hand are the application's own
        # matter unless it asked for `auto_renew`: one that hangs should lose them.
        held = self._inbox.in_hand if self._config.auto_renew else ()
        for delivery in (*self._inbox.set_aside, *held):
            if _renewable(delivery, session):
                yield delivery, None

    def give_back(self, leader: Leader) -> None:
        """Release waiting records, because the application paused or has not polled for too long."""
        for fetched in list(self._inbox.ready):
            if fetched.acquired.session == leader.session.id:
                self._give_back(leader, fetched)

    def _renew(self, leader: Leader, delivery: DeliveredRecords) -> None:
        batches = delivery.renewal_batches()
        if batches:  # else the application acknowledged the rest this moment
            delivery.renewing = True
            leader.pending.append(PendingAcknowledgement(delivery, batches, None, delivery.lock_deadline_ms))

    def _give_back(self, leader: Leader, fetched: CompletedFetch) -> None:
        if not self._inbox.withdraw(fetched):
            return  # the application has just taken it
        # Only open records are released. What decoding has decided before, such as gaps and rejected batches, goes as
        # it is.
        delivery = fetched.acquired
        m.replace(delivery.marks, bytes([m.OPEN]), m.RELEASE)
        taken = delivery.take_acknowledged()
        batches = m.encode_batches(taken, delivery.first_offset)
        self._metrics.prefetched_released_total += 1
        leader.pending.append(PendingAcknowledgement(delivery, batches, None, delivery.lock_deadline_ms))

    def _refuse(self, delivery: DeliveredRecords) -> None:
        # One error for each delivery: it is not looked at again. An application without `auto_renew` gets no error,
        # because it never asked for renewals, and its records set aside are dropped when their lock expires.
        delivery.renewable = False
        if self._config.auto_renew:
            self._errors.report(RenewalUnsupportedError(NO_RENEWAL))
            self._inbox.notify()


def _renewable(delivery: DeliveredRecords, session: object) -> bool:
    return delivery.session == session and delivery.renewable and not delivery.renewing and delivery.has_open
