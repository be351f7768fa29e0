"""Careful handling of redelivered records, so that a query in a crash loop does not use up their deliveries.

When a query fails, all records that its source holds are redelivered, including the good ones. A broker archives a
record whose deliveries are used up (KIP-932, `share.delivery.count.limit`). So after failed runs the source waits
before it acquires anything. It acquires records that were delivered often in small numbers, so that a run that fails
or is stopped costs only these a delivery. They go to Spark in small batches, apart from other records.
"""

import random

from attrs import frozen

from kafka_groups.share.workers.rules.failures.outages import Waits, may_spend
from kafka_groups.share.workers.rules.policy import DeliveryPolicy

__all__ = ["RedeliveryLimits"]

_ROWS_FACTOR = 16
_PROBE_ROWS = 2
"""The number of records that a run acquires until the sink is known to work: the first, and one to compare it with."""
_NO_JITTER = random.Random(0)
"""The waits of the source differ by nothing; see `Waits.of_deliveries`."""


@frozen
class RedeliveryLimits:
    """Rules for redelivered records: how many to acquire, and how long to wait.

    Attributes:
        delivery_limit: Deliveries after which the broker archives a record.
        backoff_ms: The longest wait of a run after failed ones, and of records that were delivered often; 0 turns
            both off.
    """

    delivery_limit: int
    backoff_ms: int

    @property
    def threshold(self) -> int:
        """The first delivery that needs care."""
        # Two deliveries before the last one, which is one before records are copied to the dead-letter topic.
        return max(2, self.delivery_limit - 2)

    def is_risky(self, delivery_count: int) -> bool:
        """Return whether a record with this delivery count needs care."""
        return delivery_count >= self.threshold

    def is_copied(self, delivery_count: int) -> bool:
        """Return whether a record with this delivery count is copied to the dead-letter topic first."""
        return delivery_count >= DeliveryPolicy(self.delivery_limit).copy_from

    def rows_at_once(self, delivery_count: int) -> int:
        """Return how many records with this count go into one batch: 1 on the last delivery, 16 or 256 before."""
        return int(_ROWS_FACTOR ** max(0, self.delivery_limit - delivery_count))

    def rows_acquired(self, delivery_count: int, failures: int) -> int | None:
        """Return how many records to acquire at a time, so that few are held if the query fails; None for no limit.

        Args:
            delivery_count: The highest count of the records acquired last; 0 if none were.
            failures: The number of consecutive runs that ended without finishing a batch.
        """
        # After failed runs, nothing shows that the sink works, so as few records as possible are in hand if this run
        # fails, too.
        if failures:
            return _PROBE_ROWS
        # Nothing has been acquired yet, so it is unknown how often the next records were delivered. One record shows
        # that.
        if delivery_count == 0:
            return 1
        return self.rows_at_once(delivery_count) if self.is_risky(delivery_count) else None

    def may_acquire(self, deliveries: int, failures: int) -> bool:
        """Return whether a run may acquire anything, although it can get records on their last delivery.

        If its batch fails, the query ends, and the broker archives them. So this run must have seen the sink work:
        what earlier runs stored shows nothing about the sink now.

        Args:
            deliveries: The highest delivery count of the records that the last run held when it failed.
            failures: The number of consecutive runs that ended without finishing a batch; 0 once this run has finished
                one.
        """
        return may_spend(deliveries + 1, self.delivery_limit, others_succeed=not failures)

    def wait_before_ms(self, failures: int) -> int:
        """Return how long a run waits before it acquires anything, if earlier runs failed.

        Args:
            failures: The number of consecutive runs that ended without finishing a batch.
        """
        return self._waits.after(failures, _NO_JITTER)

    def held_back_ms(self, delivery_count: int) -> int:
        """Return how long records with this count wait after the run first saw one.

        They do not wait on their last delivery: a query that is stopped while they wait would lose them.
        """
        if not self.is_risky(delivery_count) or delivery_count >= self.delivery_limit:
            return 0
        return self._waits.after(delivery_count - self.threshold + 1, _NO_JITTER)

    @property
    def _waits(self) -> Waits:
        return Waits.of_deliveries(self.backoff_ms)
