"""Sub-batches of records that are processed and acknowledged together, and the steps that the rules ask of a driver."""

import enum
from collections.abc import Generator, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

from attrs import frozen

from kafka_groups.types import AcknowledgeType

__all__ = [
    "AcknowledgeSubBatch",
    "AwaitConfirmation",
    "P",
    "RunOutcome",
    "RunSubBatch",
    "SubBatch",
    "SubBatchEnd",
    "SubBatchStep",
    "SubBatchSteps",
    "SubBatchesDone",
    "WaitBetweenTries",
    "WriteSubBatchDeadLetters",
]


class SubBatch(Protocol):
    """Records in hand. Rows are positions in the sub-batch, in ascending order."""

    def __len__(self) -> int: ...

    @property
    def max_delivery_count(self) -> int:
        """The highest delivery count; 0 if there are no records."""
        ...

    @property
    def fixed_deadline_ms(self) -> int | None:
        """The time when the first lock of its poll expires that cannot be renewed; None if all can be renewed."""
        ...

    def counts_by_row(self) -> Sequence[int]:
        """Return the delivery count of each row, including this delivery."""
        ...

    def rejected_rows(self) -> Sequence[int]:
        """Return the rows that the program rejected."""
        ...

    def part(self, rows: Sequence[int]) -> Self:
        """Return some of the records; decisions about them are decisions about records of this sub-batch."""
        ...

    def again(self, most: int) -> Self:
        """Return the first records, at most this many, to be processed once more after they were settled."""
        ...

    def accept_open(self) -> None:
        """Accept the records about which nothing was decided."""
        ...

    def decide(self, kind: AcknowledgeType, rows: Sequence[int] | None = None) -> None:
        """Release or reject records, whatever was decided about them before; None means all."""
        ...

    def reopen(self) -> None:
        """Undo what was decided and not sent yet."""
        ...

    def end(self) -> None:
        """Make the decisions about its whole poll final."""
        ...


P = TypeVar("P", bound=SubBatch)
"""The driver's type of sub-batches."""

T = TypeVar("T")


class RunOutcome(enum.Enum):
    """The outcome of processing a sub-batch. With UNKNOWN, nobody knows whether the records are stored."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


class SubBatchEnd(enum.Enum):
    """The reason for settling a sub-batch.

    Attributes:
        PROCESSED: It succeeded.
        BAD: It failed while others succeeded.
        GIVEN_UP: It failed, nothing shows that the sink works, and it need not or cannot be held any longer.
        UNKNOWN: A run had an unknown outcome, so everything in hand is released.
    """

    PROCESSED = "processed"
    BAD = "bad"
    GIVEN_UP = "given up"
    UNKNOWN = "unknown"


@frozen(eq=False)
class RunSubBatch(Generic[P]):
    """Process a sub-batch, and report the outcome with `ran`."""

    sub_batch: P


@frozen(eq=False)
class WriteSubBatchDeadLetters(Generic[P]):
    """Copy the records of a sub-batch to the dead-letter topic, and report with `copied` whether that is confirmed.

    Attributes:
        sub_batch: The records.
        reason: The reason to write into the headers.
    """

    sub_batch: P
    reason: str


@frozen(eq=False)
class AcknowledgeSubBatch(Generic[P]):
    """Send what was decided about a sub-batch without waiting, and report with `settled`.

    Attributes:
        sub_batch: The records.
        end: Why they are settled.
    """

    sub_batch: P
    end: SubBatchEnd


@frozen
class AwaitConfirmation:
    """Wait until the brokers have confirmed or refused all acknowledgements, and report with `confirmed`."""


@frozen(kw_only=True)
class WaitBetweenTries:
    """Wait with the records in hand, and report with `waited`. Locks are renewed during the wait.

    Attributes:
        wait_ms: How long to wait once earlier acknowledgements are confirmed.
        wants_records: Whether to poll, and to end the wait as soon as other records have arrived.
        held: How many failing records are held; 0 if none has failed.
        failures: How many tries have failed in a row; 0 if none has.
    """

    wait_ms: int
    wants_records: bool = False
    held: int = 0
    failures: int = 0


@frozen
class SubBatchesDone:
    """All records in hand are settled.

    Attributes:
        has_given_up: Whether some were released although nothing shows that they are bad.
    """

    has_given_up: bool


SubBatchStep = (
    RunSubBatch[P]
    | WriteSubBatchDeadLetters[P]
    | AcknowledgeSubBatch[P]
    | AwaitConfirmation
    | WaitBetweenTries
    | SubBatchesDone
)
"""The next thing that the driver does."""

SubBatchSteps = Generator[SubBatchStep[P], Any, T]
"""Steps in a row; each `yield` returns what the driver reports."""
