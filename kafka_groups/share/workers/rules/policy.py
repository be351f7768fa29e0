"""Rules for redelivered records: how they are processed, and what happens to those that keep failing.

A record may fail because it is bad: it makes `process` raise or kills the worker. Or it was in one batch with a bad
record, or the sink was down. The delivery count does not show the reason. So redelivered records are processed in small
sub-batches, each acknowledged before the next. Then only the bad ones get closer to their limit.
"""

from collections.abc import Sequence

from attrs import frozen

from kafka_groups.types import AcknowledgeType

__all__ = ["DeliveryPolicy"]

_PORTION_ROWS = 64
_FIRST_WAIT_MS = 100
_LONGEST_WAIT_MS = 5_000


@frozen
class DeliveryPolicy:
    """Rules for a record with a certain delivery count, given the group's delivery limit.

    Attributes:
        limit: The group's `share.delivery.count.limit`.
    """

    limit: int

    @property
    def singles_from(self) -> int:
        """The first delivery on which each record is processed on its own; this takes two deliveries."""
        # One delivery would not be enough: on it, the order of the records decides which of them are reached before the
        # process ends, and the next one reverses the order.
        return max(2, self.limit - 1)

    def sub_batches(self, counts: Sequence[int]) -> list[list[int]]:
        """Split the rows of a poll into sub-batches, in the order in which they are processed.

        New records go first, in one sub-batch. If a redelivered record kills the worker, the records after it are not
        processed, and in the same order they would never be. So every other delivery reverses the order.

        Args:
            counts: The delivery count of each row.
        """
        rows = range(len(counts))
        fresh = [row for row in rows if counts[row] <= 1]
        sub_batches = [fresh] if fresh else []
        # Records on an early redelivery go in sub-batches, as nearly all of them are good. A sub-batch that kills its
        # process costs up to 64 records a delivery. Near the limit, each record is on its own, so that only the bad one
        # comes to its end. Brokers cut what they deliver in a similar way (SharePartition.shouldThrottleRecordsDelivery
        # in Kafka), but a process has several deliveries in hand.
        again = [row for row in rows if 1 < counts[row] < self.singles_from]
        last = [row for row in rows if counts[row] > 1 and counts[row] >= self.singles_from]
        for alike, size in ((again, _PORTION_ROWS), (last, 1)):
            cut = [alike[start : start + size] for start in range(0, len(alike), size)]
            sub_batches += reversed(cut) if self.is_backwards([counts[row] for row in alike]) else cut
        return sub_batches

    def is_backwards(self, counts: Sequence[int]) -> bool:
        """Return whether sub-batches of records with such counts are processed in reverse order; see `sub_batches`."""
        return max(counts, default=0) % 2 == 1

    @property
    def copy_from(self) -> int:
        """The first delivery on which a record is copied to the dead-letter topic before it is processed.

        The last delivery would be too late: another record or the cluster may kill the worker before it looks at the
        record, and the broker then archives it.
        """
        return max(2, self.limit - 1)

    def verdict(self, delivery_count: int, *, rejects: bool) -> AcknowledgeType:
        """Return how to acknowledge a record that failed on its own.

        On the last delivery, releasing and rejecting have the same effect, and rejecting states it.

        Args:
            delivery_count: The delivery count of the record.
            rejects: Whether to reject it even if it could be redelivered.
        """
        # A release on the last delivery archives the record: InFlightState.tryUpdateState in Kafka makes it ARCHIVED
        # instead of AVAILABLE.
        if rejects or delivery_count >= self.limit:
            return AcknowledgeType.REJECT
        return AcknowledgeType.RELEASE

    def wait_ms(self, max_delivery_count: int) -> int:
        """Return how long to wait before processing records that were delivered often, to slow down a crash loop.

        There is no wait on the last delivery: a worker that is stopped while it waits would lose the records.
        """
        if not self.singles_from <= max_delivery_count < self.limit:
            return 0
        doublings = min(max_delivery_count - self.singles_from, 10)
        return int(min(_FIRST_WAIT_MS * 2**doublings, _LONGEST_WAIT_MS))
