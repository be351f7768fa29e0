"""Care with records that were delivered before, so that a query in a crash loop does not use up their deliveries.

When a query fails, all records that its source holds are delivered again, the good ones too, and a broker archives
a record whose deliveries are used up. What was delivered often therefore goes to Spark late, in small batches and
apart from the rest (KIP-932, `share.delivery.count.limit`).
"""

from attrs import frozen

from kafka_groups.spark.policy import DeliveryPolicy

__all__ = ["Caution"]

_LONGEST_BACKOFF_MS = 300_000
_BACKOFF_FACTOR = 6
_ROWS_FACTOR = 16


@frozen
class Caution:
    """How records are treated that were delivered before.

    Attributes:
        delivery_limit: Deliveries after which the broker archives a record.
        backoff_ms: How long records with the lowest count that asks for care are held back in a run of the query; it
            grows with each further delivery. 0 holds nothing back.
    """

    delivery_limit: int
    backoff_ms: int

    @property
    def threshold(self) -> int:
        """The first delivery that asks for care."""
        return max(2, self.delivery_limit - 2)

    def is_risky(self, delivery_count: int) -> bool:
        """Whether a record that is delivered for this many times asks for care."""
        return delivery_count >= self.threshold

    def is_copied(self, delivery_count: int) -> bool:
        """Whether a record is copied to the dead-letter topic, before anything can happen to it."""
        return delivery_count >= DeliveryPolicy(self.delivery_limit).copy_from

    def rows_at_once(self, delivery_count: int) -> int:
        """How many records with this risky count go into one batch: one on its last delivery, or 16, or 256."""
        return int(_ROWS_FACTOR ** max(0, self.delivery_limit - delivery_count))

    def held_back_ms(self, delivery_count: int) -> int:
        """How long records with this count wait after the run first saw one."""
        if not self.is_risky(delivery_count):
            return 0
        return int(min(_LONGEST_BACKOFF_MS, self.backoff_ms * _BACKOFF_FACTOR ** (delivery_count - self.threshold)))
