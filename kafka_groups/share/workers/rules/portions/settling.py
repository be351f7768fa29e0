"""Settle a portion of records: accept, release or reject them, and copy records that would be gone."""

from collections.abc import Sequence
from typing import Generic

from attrs import frozen

from kafka_groups.share.workers.rules.dead_letters import FAILED, LAST_DELIVERIES, REJECTED
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.portions.portion import (
    AwaitConfirmation,
    CopyPortion,
    P,
    PortionEnd,
    PortionSteps,
    SettlePortion,
)
from kafka_groups.types import AcknowledgeType

__all__ = ["PortionSettling"]


@frozen(kw_only=True)
class PortionSettling(Generic[P]):
    """Decides about portions. Its methods are generators of the steps that copy and acknowledge.

    Attributes:
        policy: The rules for delivery counts.
        rejects: Whether bad records are rejected even if they could be redelivered.
        copies: Whether records that are rejected, or may not be redelivered, are copied.
    """

    policy: DeliveryPolicy
    rejects: bool
    copies: bool

    def prepare(self, poll: P) -> PortionSteps[P, None]:
        """Copy the records of a poll that may not be redelivered, and wait for earlier acknowledgements if need be."""
        if _may_end_the_process(poll):
            yield AwaitConfirmation()
        if poll.max_delivery_count >= self.policy.copy_from:
            counts = poll.counts_by_row()
            near = [row for row, count in enumerate(counts) if count >= self.policy.copy_from]
            yield from self._is_copied(poll, near, LAST_DELIVERIES)

    def accept(self, portion: P) -> PortionSteps[P, None]:
        """Accept the records that the program did not decide about, after copying those that it rejected."""
        rejected = portion.rejected_rows()
        if rejected and not (yield from self._is_copied(portion, rejected, REJECTED)):
            portion.decide(AcknowledgeType.RELEASE, rejected)
        portion.accept_open()
        yield from _sent(portion, PortionEnd.PROCESSED)

    def give_up(self, portion: P, end: PortionEnd) -> PortionSteps[P, None]:
        """Settle records that fail; decisions of the program about them are ignored.

        Args:
            portion: The records.
            end: BAD or GIVEN_UP; records that are given up and may be redelivered are released.
        """
        rejects = self.rejects and end is PortionEnd.BAD
        verdicts = [self.policy.verdict(count, rejects=rejects) for count in portion.counts_by_row()]
        portion.decide(AcknowledgeType.RELEASE)
        lost = [row for row, verdict in enumerate(verdicts) if verdict is AcknowledgeType.REJECT]
        if lost and (yield from self._is_copied(portion, lost, FAILED)):
            portion.decide(AcknowledgeType.REJECT, lost)
        yield from _sent(portion, end)

    def release(self, portion: P) -> PortionSteps[P, None]:
        """Release the records although it is unknown whether they were processed."""
        portion.decide(AcknowledgeType.RELEASE)
        yield from _sent(portion, PortionEnd.UNKNOWN)

    def _is_copied(self, portion: P, rows: Sequence[int], reason: str) -> PortionSteps[P, bool]:
        """Copy records. Returns whether that is confirmed; True without a dead-letter topic."""
        if not self.copies:
            return True
        is_confirmed: bool = yield CopyPortion(portion.part(rows), reason)
        return is_confirmed


def _sent(portion: P, end: PortionEnd) -> PortionSteps[P, None]:
    yield SettlePortion(portion, end)
    if _may_end_the_process(portion):
        yield AwaitConfirmation()


def _may_end_the_process(portion: P) -> bool:
    """Return whether a record was delivered before; if it kills this worker, no acknowledgement is under way."""
    return portion.max_delivery_count > 1
