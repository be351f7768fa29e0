"""When a record counts as suspect, and how many of its kind are then delivered at once."""

from attrs import frozen

__all__ = ["DeliveryLimits"]


@frozen
class DeliveryLimits:
    """What follows from a group's `share.delivery.count.limit`.

    A record that makes its consumer crash takes down everything that was delivered with it. So Kafka (since 4.2)
    delivers suspect records in ever smaller parts of their batch, and a record on its last attempt alone.
    """

    delivery_count_limit: int

    @property
    def suspect_from(self) -> int:
        """Delivery count from which on a record is suspect."""
        return max(2, -(-self.delivery_count_limit // 2))

    def is_exhausted(self, delivery_count: int) -> bool:
        """Whether a record that was delivered so often is not delivered again."""
        return delivery_count >= self.delivery_count_limit

    def is_last_attempt(self, delivery_count: int) -> bool:
        """Whether the next delivery is the last one, and has to be alone; with a limit of 2 none has to."""
        return self.delivery_count_limit > 2 and delivery_count >= self.delivery_count_limit - 1

    def is_suspect(self, delivery_count: int) -> bool:
        """Whether the next delivery is of a part of the batch only."""
        return delivery_count >= self.suspect_from or self.is_last_attempt(delivery_count)

    def most_at_once(self, batch_size: int, delivery_count: int) -> int:
        """How many records of a suspect batch are delivered at once: half of it, then half of that, and so on."""
        if self.is_last_attempt(delivery_count):
            return 1
        return max(1, batch_size >> (delivery_count - self.suspect_from + 1))
