"""Limits for suspect records: when a record counts as suspect, and how many are delivered at once."""

from attrs import frozen

__all__ = ["DeliveryLimits"]


@frozen
class DeliveryLimits:
    """The rules that follow from a group's `share.delivery.count.limit`.

    If a record crashes its consumer, all records that were delivered with it need another delivery. Kafka (since 4.2)
    therefore delivers suspect records in smaller and smaller parts of their batch, and a record on its last attempt
    alone.
    """

    delivery_count_limit: int

    @property
    def suspect_from(self) -> int:
        """The delivery count at which a record becomes suspect."""
        # Half of the limit, rounded up, and at least 2 (SharePartition.throttleRecordsDeliveryLimit).
        return max(2, -(-self.delivery_count_limit // 2))

    def is_exhausted(self, delivery_count: int) -> bool:
        """Return whether a record with this delivery count is not delivered again."""
        # Not only equal: the limit may have been lowered while the record was delivered (InFlightState.tryUpdateState).
        return delivery_count >= self.delivery_count_limit

    def is_last_attempt(self, delivery_count: int) -> bool:
        """Return whether the next delivery is the last one and must be alone. With a limit of 2 it need not be."""
        # With a limit of 2 every redelivered record would have to go alone, so Kafka leaves that limit out. Kafka also
        # compares for equality (SharePartition.acquireSubsetBatchRecords). Here a record beyond a lowered limit, which
        # has one attempt left (KIP-1240), goes alone, too.
        return self.delivery_count_limit > 2 and delivery_count >= self.delivery_count_limit - 1

    def is_suspect(self, delivery_count: int) -> bool:
        """Return whether the next delivery contains only a part of the batch."""
        return delivery_count >= self.suspect_from or self.is_last_attempt(delivery_count)

    def most_at_once(self, batch_size: int, delivery_count: int) -> int:
        """Return the number of records of a suspect batch to deliver at once: half, then half of that, and so on."""
        # Kafka stops after such a record in SharePartition.acquireSubsetBatchRecords.
        if self.is_last_attempt(delivery_count):
            return 1
        return max(1, batch_size >> (delivery_count - self.suspect_from + 1))
