"""Details of a handler in one process, for people who look at a running worker: too many for metrics.

They hold neither keys nor values of records, nor the texts of errors, which may contain them.
"""

from typing import Self

from attrs import evolve, frozen

__all__ = ["NO_DETAILS", "FullestWindow", "HandlerDetails", "LastFailure"]


@frozen
class FullestWindow:
    """The partition with the largest used part of its window.

    Attributes:
        topic: Its topic.
        partition: Its number.
        oldest_offset: The oldest offset that is not finished, which holds back the others.
        used: The used part of the window, from 0 to 1. It may exceed 1.
    """

    topic: str
    partition: int
    oldest_offset: int
    used: float


@frozen
class LastFailure:
    """The last attempt that failed.

    Attributes:
        error_type: The class of the error.
        topic: The topic of the record.
        partition: Its partition.
        offset: Its offset; the first of a batch that failed as a whole.
        at_ms: When the attempt had ended, in milliseconds since 1970.
    """

    error_type: str
    topic: str
    partition: int
    offset: int
    at_ms: int


@frozen
class HandlerDetails:
    """Details of a handler in one process at one moment. They can be pickled.

    Attributes:
        rate: How many records a second the brokers confirmed as accepted, rejected or moved to a retry topic, lately.
        fullest_window: The fullest window of its partitions; None if no record is in hand.
        unconfirmed_outputs: Records that were written to output topics, and that brokers have not confirmed.
        unconfirmed_writes: All records that brokers have not confirmed: outputs, retries and dead letters.
        last_failure: The last failed attempt, or None.
    """

    rate: float = 0.0
    fullest_window: FullestWindow | None = None
    unconfirmed_outputs: int = 0
    unconfirmed_writes: int = 0
    last_failure: LastFailure | None = None

    def then(self, later: Self) -> Self:
        """Return the details of a process that has replaced the one of these. The last failure stays."""
        return evolve(later, last_failure=later.last_failure or self.last_failure)


NO_DETAILS = HandlerDetails()
"""The details of a handler that has not reported any."""
