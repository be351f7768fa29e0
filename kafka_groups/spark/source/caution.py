"""Careful handling of redelivered records, so that a query in a crash loop does not use up their deliveries.

When a query fails, all records that its source holds are redelivered, including the good ones. A broker archives a
record whose deliveries are used up (KIP-932, `share.delivery.count.limit`). So after failed runs the source waits
before it acquires anything. It acquires records that were delivered often in small numbers, so that a run that fails
or is stopped costs only these a delivery. They go to Spark in small batches, apart from other records.
"""

from attrs import frozen

from kafka_groups.spark.policy import DeliveryPolicy, wait_after_failures_ms

__all__ = ["Caution"]

_ROWS_FACTOR = 16


@frozen
class Caution:
    """How redelivered records are handled.

    Attributes:
        delivery_limit: Deliveries after which the broker archives a record.
        backoff_ms: How long a run holds back records at the threshold; longer with each further delivery. 0 holds
            nothing back.
    """

    delivery_limit: int
    backoff_ms: int

    @property
    def threshold(self) -> int:
        """The first delivery that needs care."""
        return max(2, self.delivery_limit - 2)

    def is_risky(self, delivery_count: int) -> bool:
        """Whether a record with this delivery count needs care."""
        return delivery_count >= self.threshold

    def is_copied(self, delivery_count: int) -> bool:
        """Whether a record with this delivery count is copied to the dead-letter topic first."""
        return delivery_count >= DeliveryPolicy(self.delivery_limit).copy_from

    def rows_at_once(self, delivery_count: int) -> int:
        """Return how many records with this count go into one batch: 1 on the last delivery, 16 or 256 before."""
        return int(_ROWS_FACTOR ** max(0, self.delivery_limit - delivery_count))

    def rows_acquired(self, delivery_count: int, failures: int) -> int | None:
        """Return how many records to acquire at a time, so that few are held if the query fails; None for no limit.

        Args:
            delivery_count: The highest count of the records acquired last; 0 if none were.
            failures: How many runs in a row ended without finishing a batch.
        """
        if delivery_count == 0:
            return 1
        counts = [count for count in (delivery_count, failures + 1) if self.is_risky(count)]
        return self.rows_at_once(max(counts)) if counts else None

    def wait_before_ms(self, failures: int) -> int:
        """Return how long a run waits before it acquires anything, if earlier runs failed.

        Args:
            failures: How many runs in a row ended without finishing a batch.
        """
        return wait_after_failures_ms(failures, self.backoff_ms)

    def held_back_ms(self, delivery_count: int) -> int:
        """Return how long records with this count wait after the run first saw one.

        They do not wait on their last delivery: a query that is stopped while they wait would lose them.
        """
        if not self.is_risky(delivery_count) or delivery_count >= self.delivery_limit:
            return 0
        return wait_after_failures_ms(delivery_count - self.threshold + 2, self.backoff_ms)
