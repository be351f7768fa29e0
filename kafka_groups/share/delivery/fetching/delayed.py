"""Delayed releases: the event loop holds records and renews their locks until they are due to be released."""

from collections.abc import Iterable

from attrs import define

from kafka_groups.client.events import Area, Events
from kafka_groups.client.requests import NEVER_MS
from kafka_groups.errors.texts import counted
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.commits import PendingAcknowledgement
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.fetching.leader import Leader

__all__ = ["DelayedRelease", "DelayedReleases"]


@define(eq=False)
class DelayedRelease:
    """Records of one partition that will be released later.

    Attributes:
        delivery: The records. Those that are held are open.
        due_ms: When each is released, by its position in the delivery.
    """

    delivery: DeliveredRecords
    due_ms: dict[int, int]

    @property
    def records(self) -> int:
        """Number of records that are held."""
        return len(self.due_ms)

    def release(self, until_ms: int, deadline_ms: int) -> PendingAcknowledgement:
        """Release the records that are due at this time."""
        for position in [position for position, due_ms in self.due_ms.items() if due_ms <= until_ms]:
            self.delivery.marks[position] = m.RELEASE
            del self.due_ms[position]
        taken = self.delivery.take_acknowledged()
        return PendingAcknowledgement(
            self.delivery, m.encode_batches(taken, self.delivery.first_offset), taken, deadline_ms
        )


class DelayedReleases:
    """All records with a delayed release. Belongs to the event loop.

    A lock that is half spent is renewed. Where it cannot be, the records are released when a quarter of the lock is
    left, earlier than the application asked for.

    Args:
        events: Where warnings go.
        timeout_ms: How long a release is tried (`default.api.timeout.ms`).
    """

    def __init__(self, events: Events, timeout_ms: int) -> None:
        self._events = events
        self._timeout_ms = timeout_ms
        self._held: list[DelayedRelease] = []

    @property
    def records(self) -> int:
        """Number of records that are held."""
        return sum(held.records for held in self._held)

    def add(self, held: DelayedRelease) -> None:
        """Hold the records that the application wants to be released later."""
        self._held.append(held)

    def turn(self, leader: Leader, lock_timeout_ms: int | None, now_ms: int) -> int:
        """Add due releases and renewals to the leader's next requests. Return the time until the next ones."""
        wait_ms = NEVER_MS
        for held in self._of(leader):
            self._release(leader, held, now_ms, now_ms)
            # Some of the records may be due while others still wait: what is left keeps its lock.
            if held.due_ms:
                next_ms = self._keep(leader, held, lock_timeout_ms or NEVER_MS, now_ms)
                wait_ms = min(wait_ms, next_ms - now_ms, min(held.due_ms.values(), default=NEVER_MS) - now_ms)
        return max(wait_ms, 0)

    def give_up(self, leader: Leader, now_ms: int) -> None:
        """Release all records now, because the consumer closes or the application has stopped polling."""
        for held in self._of(leader):
            self._release(leader, held, NEVER_MS * 2, now_ms)

    def session_ended(self, leader: Leader) -> Iterable[DelayedRelease]:
        """Remove and return records of earlier sessions."""
        ended = [
            held
            for held in self._held
            if held.delivery.session.node_id == leader.node_id and held.delivery.session != leader.session.id
        ]
        self._held = [held for held in self._held if held not in ended]
        return ended

    def _of(self, leader: Leader) -> list[DelayedRelease]:
        return [held for held in self._held if held.delivery.session == leader.session.id]

    def _release(self, leader: Leader, held: DelayedRelease, until_ms: int, now_ms: int) -> None:
        # One acknowledgement has all records that are due, and those of one tenth of a second are due together.
        if held.due_ms and min(held.due_ms.values()) <= until_ms:
            leader.pending.append(held.release(until_ms, now_ms + self._timeout_ms))
        if not held.due_ms:
            self._held.remove(held)

    def _keep(self, leader: Leader, held: DelayedRelease, lock_timeout_ms: int, now_ms: int) -> int:
        """Renew locks that are half spent. Return the time of the next check."""
        delivery = held.delivery
        # A renewal is on its way; its result decides what to do next.
        if delivery.renewing:
            return NEVER_MS
        # There are two cases: the lock can be renewed, at half of its time, or it cannot (an old broker, or a group
        # with `share.renew.acknowledge.enable=false`). Then the records go back before the lock expires. A release and
        # an expired lock are the same to the broker (KIP-932, "In-flight records"), but the release reports its result
        # and comes without a warning about lost locks.
        if leader.can_renew and delivery.renewable:
            half_spent_ms = delivery.lock_deadline_ms - lock_timeout_ms // 2
            # The same rule as for prefetched records: half of the lock is left for the renewal.
            if half_spent_ms > now_ms:
                return half_spent_ms
            delivery.renewing = True
            batches = delivery.renewal_batches()
            leader.pending.append(PendingAcknowledgement(delivery, batches, None, delivery.lock_deadline_ms))
            return NEVER_MS
        latest_ms = delivery.lock_deadline_ms - lock_timeout_ms // 4
        # A quarter of the lock is left for the release, which may have to wait for a request in flight.
        if latest_ms > now_ms:
            return latest_ms
        self._release_early(leader, held, now_ms)
        return NEVER_MS

    def _release_early(self, leader: Leader, held: DelayedRelease, now_ms: int) -> None:
        early_s = (max(held.due_ms.values()) - now_ms) / 1000
        text = (
            f"Released {counted(held.records, 'record')} of {held.delivery.topic_partition} up to {early_s:.1f} s"
            " earlier than release_after asked for: their locks cannot be renewed. Renewing needs Kafka 4.2 and the"
            " group configuration share.renew.acknowledge.enable=true."
        )
        self._events.warn(Area.RECORDS, f"early release {held.delivery.topic_partition}", text)
        self._release(leader, held, NEVER_MS * 2, now_ms)
