"""The steps that a driver does for the rules: run records, write others for them, settle them."""

import enum
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from attrs import define, field, frozen

from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState
from kafka_groups.types import AcknowledgeType, RecordId

if TYPE_CHECKING:
    from kafka_groups.records.confirmed.writes import RecordToWrite

__all__ = [
    "AcknowledgeRecords",
    "FailedRecord",
    "InvokeHandler",
    "OpenRecord",
    "WorkerStep",
    "WriteOutputs",
    "WritePurpose",
    "WriteRecords",
]

R = TypeVar("R")


class WritePurpose(enum.Enum):
    """The reasons to write records for a record in hand. `CONSEQUENCES` in `record_writes` says what follows."""

    DEAD_LETTER = "dead letter"
    """A copy of a record that was given up."""

    BEFORE_PROCESSING = "before processing"
    """A copy of a record on one of its last deliveries, before it runs."""

    RETRY = "retry"
    """A copy for a retry topic, of a record whose attempt failed."""

    FORWARD = "forward"
    """A copy for a retry topic, of a record that waits there already."""

    OUTPUT = "output"
    """The results of a handler."""

    @property
    def is_dead_letter(self) -> bool:
        """True for the two kinds of dead letters, of which a process writes one for each record."""
        return self is WritePurpose.DEAD_LETTER or self is WritePurpose.BEFORE_PROCESSING


@define(eq=False)
class OpenRecord(Generic[R]):
    """A record in hand that needs more than one quick attempt: it failed, was delivered before, or has a key to keep.

    Attributes:
        record: The record.
        place: Its partition and offset.
        delivery_count: The number of its deliveries, this one included.
        attempts: Attempts that have ended since it was delivered.
        halvings: Those of them that were calls with a batch, which was then halved.
        retries: Those of them that used a retry.
        due_ms: When to try it again, or to write records for it.
        retry_ms: When to try it again, while it moves to a retry topic.
        failing_since_ms: When its first attempt failed; None before.
        successes_before: The successes of its handler until then.
        error: The error of its last attempt, or None.
        is_copied: Whether its dead letter is confirmed.
        reason: Why a dead letter is due.
        purpose: Why records are written for it; None if none are.
        to_write: These records, except for dead letters, which are made when they are written.
        is_aside: Whether its dead letter is written while it waits for another with its key, or for its earlier
            handler.
        failed_writes: How often writing them has failed.
        key: Its key for the order of keys; None without an order.
        state: What its headers say of earlier attempts, if it comes from a retry topic.
        deaths: Earlier deliveries, in any topic, that are known or assumed to have ended because a process died while
            it ran the record.
    """

    record: R
    place: RecordId
    delivery_count: int
    key: Hashable = None
    attempts: int = 0
    halvings: int = 0
    retries: int = 0
    due_ms: int = 0
    retry_ms: int = 0
    failing_since_ms: int | None = None
    successes_before: int = 0
    error: Exception | None = None
    is_copied: bool = False
    reason: str = ""
    purpose: WritePurpose | None = None
    to_write: "Sequence[RecordToWrite]" = ()
    is_aside: bool = False
    failed_writes: int = 0
    state: RetryState | None = None
    deaths: int = 0

    @property
    def risk_count(self) -> int:
        """The delivery count that says how likely the record is to end its process.

        It counts deaths in earlier topics, too, where the record had deliveries of their own.
        """
        return self.delivery_count + (0 if self.state is None else self.state.deaths)

    @property
    def all_attempts(self) -> int:
        """Attempts that have ended, in all topics."""
        return self.attempts + (0 if self.state is None else self.state.attempts)

    @property
    def all_retries(self) -> int:
        """Those of them that used a retry."""
        return self.retries + (0 if self.state is None else self.state.retries)


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
class WriteRecords(Generic[R]):
    """Write records for a record in hand. Report with `RecordWrites.written` when all are confirmed, or one is refused.

    Until then, the record in hand is neither run nor acknowledged, unless its copy is written aside.

    Attributes:
        opened: The record in hand.
        purpose: Why.
        records: The records to write, in order.
    """

    opened: OpenRecord[R]
    purpose: WritePurpose
    records: "Sequence[RecordToWrite]"


@frozen(eq=False)
class WriteOutputs(Generic[R]):
    """Write the outputs of a run whose records have all succeeded, or of those of them that have outputs.

    Report with `RecordWrites.written` when all are confirmed, or as soon as one is refused. If the rules find it in
    `RecordWrites.opened` before, they want results for single records.

    Attributes:
        in_hand: The records in hand. They are fresh ones of one delivery, in order.
        outputs: The outputs of each, all for one topic.
        records: All of them, in order.
        size_bytes: Their bytes.
    """

    in_hand: Sequence[R]
    outputs: "Sequence[Sequence[RecordToWrite]]"
    records: "Sequence[RecordToWrite]"
    size_bytes: int

    @property
    def purpose(self) -> WritePurpose:
        """OUTPUT."""
        return WritePurpose.OUTPUT


@frozen(eq=False)
class AcknowledgeRecords(Generic[R]):
    """Acknowledge records, and report with `settled` whether the broker has confirmed.

    Attributes:
        records: The records.
        kind: ACCEPT, RELEASE or REJECT.
        is_run: Whether all records are of one delivery, in the order of their offsets. Others may be of several
            partitions, and in any order.
        has_moved: Whether they are accepted because they are in a retry topic now.
    """

    records: Sequence[R]
    kind: AcknowledgeType
    is_run: bool = field(default=False, kw_only=True)
    has_moved: bool = field(default=False, kw_only=True)


WorkerStep = InvokeHandler[R] | WriteRecords[R] | WriteOutputs[R] | AcknowledgeRecords[R]
