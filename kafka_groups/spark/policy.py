"""How records are treated whose processing failed before, and what happens to those that fail for good.

A record fails for one of two reasons. It is bad itself: it makes `process` raise, or the whole worker die. Or it was
next to one that is, or the sink was away. The delivery count does not tell which. So records that were delivered before
are processed in small portions, each acknowledged before the next: then only the bad ones come nearer to their limit.
"""

from collections.abc import Sequence

from attrs import frozen

from kafka_groups.types import AcknowledgeType

__all__ = ["ON_ERROR", "DeliveryPolicy", "OnError", "wait_after_failures_ms"]

OnError = str
"""One of `ON_ERROR`."""

ON_ERROR = ("release", "per_record", "reject")
"""What happens to records that still fail after the retries: released and the run raises; released; or rejected."""

_PORTION_ROWS = 64
_FIRST_WAIT_MS = 100
_LONGEST_WAIT_MS = 5_000
_LONGEST_BACKOFF_MS = 300_000
_BACKOFF_FACTOR = 6


def wait_after_failures_ms(failures: int, backoff_ms: int) -> int:
    """How long to wait before anything is acquired again after failures in a row: longer each time, 5 minutes at most.

    Args:
        failures: How many runs of a query, or blocks of a drain, failed in a row.
        backoff_ms: The wait after two of them; the wait after one is a sixth of it.
    """
    if failures == 0:
        return 0
    return int(min(_LONGEST_BACKOFF_MS, backoff_ms * _BACKOFF_FACTOR ** (failures - 2)))


@frozen
class DeliveryPolicy:
    """What a delivery count calls for, given after how many deliveries the broker gives a record up.

    Attributes:
        limit: The group's `share.delivery.count.limit`.
    """

    limit: int

    @property
    def singles_from(self) -> int:
        """From this delivery on each record is processed on its own; two deliveries are needed for that."""
        return max(2, self.limit - 1)

    def portions(self, counts: Sequence[int]) -> list[list[int]]:
        """The rows of a poll in the portions and the order in which they are processed.

        New records go first and together. Where one of the others kills the worker, those after it have not had their
        turn, and next time neither if the order were the same. So every other delivery goes backwards.

        Args:
            counts: The delivery count of each row.
        """
        rows = range(len(counts))
        fresh = [row for row in rows if counts[row] <= 1]
        portions = [fresh] if fresh else []
        again = [row for row in rows if 1 < counts[row] < self.singles_from]
        last = [row for row in rows if counts[row] > 1 and counts[row] >= self.singles_from]
        for alike, size in ((again, _PORTION_ROWS), (last, 1)):
            cut = [alike[start : start + size] for start in range(0, len(alike), size)]
            is_backwards = bool(alike) and max(counts[row] for row in alike) % 2 == 1
            portions += reversed(cut) if is_backwards else cut
        return portions

    @property
    def copy_from(self) -> int:
        """From this delivery on a record is copied to the dead-letter topic before it is processed.

        The last delivery alone would be too late: it may end without anybody having looked at the record, in a worker
        that is killed by another record or by the cluster, and the broker then archives it.
        """
        return max(2, self.limit - 1)

    def verdict(self, on_error: OnError, delivery_count: int) -> AcknowledgeType:
        """What to do with a record that failed on its own.

        On the last delivery to give back and to reject come to the same, and rejecting says so.
        """
        if on_error == "reject" or delivery_count >= self.limit:
            return AcknowledgeType.REJECT
        return AcknowledgeType.RELEASE

    def wait_ms(self, max_delivery_count: int) -> int:
        """How long to wait before records that were delivered often are processed: a crash loop is slowed down.

        Not on the last delivery: a worker that is stopped while it waits would lose them.
        """
        if not self.singles_from <= max_delivery_count < self.limit:
            return 0
        doublings = min(max_delivery_count - self.singles_from, 10)
        return int(min(_FIRST_WAIT_MS * 2**doublings, _LONGEST_WAIT_MS))
