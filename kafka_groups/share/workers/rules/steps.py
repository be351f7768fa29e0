"""The steps that a driver does for the rules: run records, copy them as dead letters, settle them."""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from attrs import define, field, frozen

from kafka_groups.types import AcknowledgeType, RecordId

__all__ = ["AcknowledgeRecords", "FailedRecord", "InvokeHandler", "OpenRecord", "WorkerStep", "WriteDeadLetter"]

R = TypeVar("R")


@define(eq=False)
class OpenRecord(Generic[R]):
    """A record in hand that needs more than one quick attempt: it failed, was delivered before, or has a key to keep.

    Attributes:
        record: The record.
        place: Its partition and offset.
        delivery_count: The number of its deliveries, this one included.
        attempts: Attempts that have ended.
        halvings: Those of them that were calls with a batch, which was then halved.
        retries: Those of them that used a retry.
        due_ms: When to try it again.
        failing_since_ms: When its first attempt failed; None before.
        successes_before: The successes of its handler until then.
        error: The error of its last attempt, or None.
        is_copied: Whether its dead letter is confirmed.
        reason: Why a dead letter is due.
        is_before: Whether the dead letter is written before the record is processed, because this may be its last
            delivery.
        is_aside: Whether that happens while the record waits for another with its key, or for its earlier handler.
        failed_copies: How often writing its dead letter has failed.
        key: Its key for the order of keys; None without an order.
    """

    record: R
    place: RecordId
    delivery_count: int
    key: Hashable = None
    attempts: int = 0
    halvings: int = 0
    retries: int = 0
    due_ms: int = 0
    failing_since_ms: int | None = None
    successes_before: int = 0
    error: Exception | None = None
    is_copied: bool = False
    reason: str = ""
    is_before: bool = False
    is_aside: bool = False
    failed_copies: int = 0


@define(eq=False)
class InvokeHandler(Generic[R]):
    """Records for one slot. The slot takes them one by one with `take`, and the driver may take back the rest.

    Taking from either end is one operation on a `deque`, so the two sides may be different threads.

    Attributes:
        records: All its records, in order.
        opened: Their states, in the same order; None for fresh records, which have no state yet.
        is_probe: Whether this is a probe while the breaker is open.
        is_batch: Whether the records go to one call of a batch handler.
        lost: Places of records whose locks were lost while it ran.
    """

    records: Sequence[R]
    opened: Sequence[OpenRecord[R]] | None = None
    is_probe: bool = False
    is_batch: bool = False
    lost: set[RecordId] = field(factory=set)
    _left: deque[R] = field(factory=deque)

    def __attrs_post_init__(self) -> None:
        self._left.extend(self.records)

    @property
    def take(self) -> Callable[[], R]:
        """The function that returns the next record and raises IndexError after the last."""
        return self._left.popleft

    @property
    def unstarted(self) -> int:
        """The number of records that no slot has taken."""
        return len(self._left)

    @property
    def oldest(self) -> Sequence[R]:
        """Records among which is the oldest of each partition. Fresh ones are of one delivery, in order."""
        return self.records if self.is_batch or self.opened is not None else self.records[:1]

    def take_back(self) -> list[R]:
        """Take back the records that the slot has not started. Returns them in order."""
        taken: list[R] = []
        while self._left:
            try:
                taken.append(self._left.pop())
            except IndexError:  # the slot was faster
                break
        taken.reverse()
        self.records = self.records[: len(self.records) - len(taken)]
        if self.opened is not None:
            self.opened = self.opened[: len(self.records)]
        return taken


@frozen
class FailedRecord(Generic[R]):
    """A record whose attempt failed.

    Attributes:
        index: Its position in the run.
        error: What the handler raised.
    """

    index: int
    error: Exception


@frozen(eq=False)
class WriteDeadLetter(Generic[R]):
    """Copy a record to the dead-letter topic, and report with `copied` whether the copy is confirmed.

    Attributes:
        opened: The record, which has the reason.
    """

    opened: OpenRecord[R]


@frozen(eq=False)
class AcknowledgeRecords(Generic[R]):
    """Acknowledge records, and report with `settled` whether the broker has confirmed.

    Attributes:
        records: The records.
        kind: ACCEPT, RELEASE or REJECT.
        is_run: Whether all records are of one delivery, in the order of their offsets. Others may be of several
            partitions, and in any order.
    """

    records: Sequence[R]
    kind: AcknowledgeType
    is_run: bool = field(default=False, kw_only=True)


WorkerStep = InvokeHandler[R] | WriteDeadLetter[R] | AcknowledgeRecords[R]
