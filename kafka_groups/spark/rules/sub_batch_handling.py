"""Handling of polls in sub-batches, one step at a time, by a driver that does the I/O."""

from typing import Generic

from kafka_groups.errors import IllegalStateError
from kafka_groups.share.workers.rules.failures.outages import Outage
from kafka_groups.spark.rules.flow import Proof, SubBatchFlow, SubBatchRules
from kafka_groups.spark.rules.sub_batch import (
    AcknowledgeSubBatch,
    AwaitConfirmation,
    P,
    RunOutcome,
    RunSubBatch,
    SubBatchesDone,
    SubBatchStep,
    SubBatchSteps,
    WaitBetweenTries,
    WriteSubBatchDeadLetters,
)

__all__ = ["SubBatchHandling"]


class SubBatchHandling(Generic[P]):
    """Decides what to do with the records of one poll after another, for a driver that does one step at a time.

    The driver calls `arrived` with a poll, then `next` and the report of the step's outcome in turns, until the step is
    `SubBatchesDone`. `drop` ends the handling early.

    Args:
        rules: The rules.
        outage: The state of the sink.
        proof: The processing that has succeeded.
    """

    def __init__(self, rules: SubBatchRules, outage: Outage, proof: Proof[P]) -> None:
        self._flow: SubBatchFlow[P] = SubBatchFlow(rules, outage, proof)
        self._steps: SubBatchSteps[P, None] | None = None
        self._open: SubBatchStep[P] | None = None
        self._report: object = None

    def __repr__(self) -> str:
        return f"<SubBatchHandling {self._flow.held_rows} records wait, open step {self._open!r}>"

    def arrived(self, poll: P) -> None:
        """Take the records of a poll.

        Raises:
            IllegalStateError: The records of the last poll are not settled yet.
        """
        if self._steps is not None:
            raise IllegalStateError(f"{self!r} has not ended: do its steps until SubBatchesDone, or call drop()")
        self._steps = self._flow.handled(poll)

    def next(self, now_ms: int, *, is_ending: bool = False) -> SubBatchStep[P]:
        """Return the next step.

        Args:
            now_ms: The time.
            is_ending: Whether the run must end; then records that may be redelivered are released.

        Raises:
            IllegalStateError: The outcome of the last step was not reported.
        """
        if self._open is not None:
            raise IllegalStateError(f"report the outcome of {self._open!r} before you ask for the next step")
        if self._steps is None:
            return SubBatchesDone(self._flow.has_given_up)
        self._flow.now_ms, self._flow.is_ending = now_ms, is_ending
        # The rules are a generator that waits for the report of its last step, and goes on to the next one.
        report, self._report = self._report, None
        try:
            self._open = self._steps.send(report)
        except StopIteration:
            self._steps = None
            return SubBatchesDone(self._flow.has_given_up)
        return self._open

    def ran(self, outcome: RunOutcome) -> None:
        """Report how processing a sub-batch ended."""
        self._note(RunSubBatch, outcome)

    def copied(self, *, is_confirmed: bool) -> None:
        """Report whether the copies are durable."""
        self._note(WriteSubBatchDeadLetters, is_confirmed)

    def settled(self) -> None:
        """Report that the acknowledgements of a sub-batch were sent."""
        self._note(AcknowledgeSubBatch, None)

    def confirmed(self) -> None:
        """Report that no acknowledgement is under way any more."""
        self._note(AwaitConfirmation, None)

    def waited(self, other: P | None) -> None:
        """Report that a wait is over.

        Args:
            other: Records that were polled during the wait, or None. Allowed only if the step wants records.
        """
        self._note(WaitBetweenTries, other)

    def drop(self) -> None:
        """End the handling without settling what is in hand, because the driver cannot continue."""
        # Closing the generator runs its `finally`, which ends all polls, so that `process` can no longer decide about
        # them.
        if self._steps is not None:
            self._steps.close()
        self._steps = self._open = self._report = None

    def _note(self, kind: type, report: object) -> None:
        if not isinstance(self._open, kind):
            raise IllegalStateError(f"{self!r} has no open {kind.__name__}: report the outcome of its open step, once")
        self._open, self._report = None, report
