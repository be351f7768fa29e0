"""What becomes of records whose processing fails, and how those are treated that failed before.

A record fails for one of two reasons. It is bad itself: it makes `process` raise, or the whole worker die. Or it was
beside one that is, or the sink was away. The delivery count does not tell which, so records that were delivered often
are processed one at a time, each acknowledged before the next: then only the bad ones come nearer to their limit.
"""

from collections.abc import Sequence

from attrs import frozen

from kafka_groups.types import AcknowledgeType

__all__ = ["ON_ERROR", "DeliveryPolicy", "FailureRun", "OnError"]

OnError = str
"""One of `ON_ERROR`."""

ON_ERROR = ("release", "per_record", "reject")
"""What may become of a batch that failed: all given back and the error raised; each record on its own; all rejected."""

_FIRST_WAIT_MS = 100
_LONGEST_WAIT_MS = 5_000


@frozen
class DeliveryPolicy:
    """What a delivery count calls for, given after how many deliveries the broker gives a record up.

    Attributes:
        limit: The group's `share.delivery.count.limit`.
    """

    limit: int

    @property
    def isolate_from(self) -> int:
        """From this delivery on a record is processed on its own.

        Not from the second, as a worker that is killed leaves a whole batch of good records behind, which would cost
        a call of `process` each.
        """
        return max(2, self.limit - 2)

    @property
    def copy_from(self) -> int:
        """From this delivery on a record is copied to the dead-letter topic before it is processed.

        The last delivery alone would be too late: it may end without anybody having looked at the record, in a worker
        that is killed by another record or by the cluster, and the broker then archives it.
        """
        return max(2, self.limit - 1)

    def verdict(self, on_error: OnError, delivery_count: int) -> AcknowledgeType:
        """What becomes of a record that failed on its own.

        On the last delivery to give back and to reject come to the same, and rejecting says so.
        """
        if on_error == "reject" or delivery_count >= self.limit:
            return AcknowledgeType.REJECT
        return AcknowledgeType.RELEASE

    def isolated_order(self, rows: Sequence[int], max_delivery_count: int) -> list[int]:
        """In which order records are processed on their own, given in ascending order.

        Where one of them kills the worker, those after it have not had their turn, and next time neither if the order
        were the same. So every other delivery goes backwards.
        """
        is_backwards = (max_delivery_count - self.isolate_from) % 2 == 1
        return list(reversed(rows)) if is_backwards else list(rows)

    def wait_ms(self, max_delivery_count: int) -> int:
        """How long to wait before records that were delivered often are processed: a crash loop is slowed down."""
        if max_delivery_count < self.isolate_from:
            return 0
        doublings = min(max_delivery_count - self.isolate_from, 10)
        return int(min(_FIRST_WAIT_MS * 2**doublings, _LONGEST_WAIT_MS))


class FailureRun:
    """Notices that all records fail, one after the other: then it is not the records.

    Args:
        longest: After so many failures from the start the rest is not tried.
    """

    def __init__(self, longest: int = 3) -> None:
        self._longest = longest
        self._failures = 0
        self._any_succeeded = False

    def ended(self, *, succeeded: bool) -> None:
        """A record was processed, or failed."""
        self._any_succeeded = self._any_succeeded or succeeded
        self._failures += not succeeded

    @property
    def is_hopeless(self) -> bool:
        """Whether the rest is not worth trying now."""
        return not self._any_succeeded and self._failures >= self._longest
