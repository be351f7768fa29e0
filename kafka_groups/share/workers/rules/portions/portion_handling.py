"""Handling of polls in portions, one step at a time, by a driver that does the I/O."""

from typing import Generic

from kafka_groups.errors import IllegalStateError
from kafka_groups.share.workers.rules.failures.outages import Outage
from kafka_groups.share.workers.rules.portions.flow import PortionFlow, PortionRules, Proof
from kafka_groups.share.workers.rules.portions.portion import (
    AwaitConfirmation,
    CopyPortion,
    P,
    PortionsDone,
    PortionStep,
    PortionSteps,
    RunOutcome,
    RunPortion,
    SettlePortion,
    WaitBetweenTries,
)

__all__ = ["PortionHandling"]


class PortionHandling(Generic[P]):
    """Decides what to do with the records of one poll after another, for a driver that does one step at a time.

    The driver calls `arrived` with a poll, then `next` and the report of the step's outcome in turns, until the step is
    `PortionsDone`. `drop` ends the handling early.

    Args:
        rules: The rules.
        outage: The state of the sink.
        proof: The processing that has succeeded.
    """

    def __init__(self, rules: PortionRules, outage: Outage, proof: Proof[P]) -> None:
        self._flow: PortionFlow[P] = PortionFlow(rules, outage, proof)
        self._steps: PortionSteps[P, None] | None = None
        self._open: PortionStep[P] | None = None
        self._report: object = None

    def __repr__(self) -> str:
        return f"<PortionHandling {self._flow.held_rows} records wait, open step {self._open!r}>"

    def arrived(self, poll: P) -> None:
        """Take the records of a poll.

        Raises:
            IllegalStateError: The records of the last poll are not settled yet.
        """
        if self._steps is not None:
            raise IllegalStateError(f"{self!r} has not ended: do its steps until PortionsDone, or call drop()")
        self._steps = self._flow.handled(poll)

    def next(self, now_ms: int, *, is_ending: bool = False) -> PortionStep[P]:
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
            return PortionsDone(self._flow.has_given_up)
        self._flow.now_ms, self._flow.is_ending = now_ms, is_ending
        report, self._report = self._report, None
        try:
            self._open = self._steps.send(report)
        except StopIteration:
            self._steps = None
            return PortionsDone(self._flow.has_given_up)
        return self._open

    def ran(self, outcome: RunOutcome) -> None:
        """Report how processing a portion ended."""
        self._note(RunPortion, outcome)

    def copied(self, *, is_confirmed: bool) -> None:
        """Report whether the copies are durable."""
        self._note(CopyPortion, is_confirmed)

    def settled(self) -> None:
        """Report that the acknowledgements of a portion were sent."""
        self._note(SettlePortion, None)

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
        if self._steps is not None:
            self._steps.close()
        self._steps = self._open = self._report = None

    def _note(self, kind: type, report: object) -> None:
        if not isinstance(self._open, kind):
            raise IllegalStateError(f"{self!r} has no open {kind.__name__}: report the outcome of its open step, once")
        self._open, self._report = None, report
