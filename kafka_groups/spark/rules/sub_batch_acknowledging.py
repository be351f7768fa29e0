"""Settle a sub-batch of records: accept, release or reject them, and copy records that would be gone."""

from collections.abc import Sequence
from typing import Generic

from attrs import frozen

from kafka_groups.share.workers.rules.dead_letter_headers import FAILED, LAST_DELIVERIES, REJECTED
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.spark.rules.sub_batch import (
    AcknowledgeSubBatch,
    AwaitConfirmation,
    P,
    SubBatchEnd,
    SubBatchSteps,
    WriteSubBatchDeadLetters,
)
from kafka_groups.types import AcknowledgeType

__all__ = ["SubBatchAcknowledging"]


@frozen(kw_only=True)
class SubBatchAcknowledging(Generic[P]):
    """Decides about sub-batches. Its methods are generators of the steps that copy and acknowledge.

    Attributes:
        policy: The rules for delivery counts.
        rejects: Whether bad records are rejected even if they could be redelivered.
        copies: Whether records that are rejected, or may not be redelivered, are copied.
    """

    policy: DeliveryPolicy
    rejects: bool
    copies: bool

    def prepare(self, poll: P) -> SubBatchSteps[P, None]:
        """Copy the records of a poll that may not be redelivered, and wait for earlier acknowledgements if need be."""
        # A redelivered record may kill this process. Acknowledgements that are under way would be lost with it, and
        # good records that were processed would lose a delivery.
        if _may_end_the_process(poll):
            yield AwaitConfirmation()
        # Copies come before the first run, for the same reason. If they cannot be written, the records are processed
        # all the same: they may succeed, while releasing a record on its last delivery would archive it for certain.
        if poll.max_delivery_count >= self.policy.copy_from:
            counts = poll.counts_by_row()
            near = [row for row, count in enumerate(counts) if count >= self.policy.copy_from]
            yield from self._is_copied(poll, near, LAST_DELIVERIES)

    def accept(self, sub_batch: P) -> SubBatchSteps[P, None]:
        """Accept the records that the program did not decide about, after copying those that it rejected."""
        rejected = sub_batch.rejected_rows()
        # Without a confirmed copy, a rejected record would be gone. Released, it comes again and is copied then, unless
        # this was its last delivery.
        if rejected and not (yield from self._is_copied(sub_batch, rejected, REJECTED)):
            sub_batch.decide(AcknowledgeType.RELEASE, rejected)
        sub_batch.accept_open()
        yield from _sent(sub_batch, SubBatchEnd.PROCESSED)

    def give_up(self, sub_batch: P, end: SubBatchEnd) -> SubBatchSteps[P, None]:
        """Settle records that fail; decisions of the program about them are ignored.

        Args:
            sub_batch: The records.
            end: BAD or GIVEN_UP; records that are given up and may be redelivered are released.
        """
        # Only records that failed while others succeeded are known to be bad. What is given up for lack of time is
        # released.
        rejects = self.rejects and end is SubBatchEnd.BAD
        verdicts = [self.policy.verdict(count, rejects=rejects) for count in sub_batch.counts_by_row()]
        # Everything is released first. What is to be rejected is so only after its copy is confirmed.
        sub_batch.decide(AcknowledgeType.RELEASE)
        lost = [row for row, verdict in enumerate(verdicts) if verdict is AcknowledgeType.REJECT]
        if lost and (yield from self._is_copied(sub_batch, lost, FAILED)):
            sub_batch.decide(AcknowledgeType.REJECT, lost)
        yield from _sent(sub_batch, end)

    def release(self, sub_batch: P) -> SubBatchSteps[P, None]:
        """Release the records although it is unknown whether they were processed."""
        sub_batch.decide(AcknowledgeType.RELEASE)
        yield from _sent(sub_batch, SubBatchEnd.UNKNOWN)

    def _is_copied(self, sub_batch: P, rows: Sequence[int], reason: str) -> SubBatchSteps[P, bool]:
        """Copy records. Returns whether that is confirmed; True without a dead-letter topic."""
        if not self.copies:
            return True
        is_confirmed: bool = yield WriteSubBatchDeadLetters(sub_batch.part(rows), reason)
        return is_confirmed


def _sent(sub_batch: P, end: SubBatchEnd) -> SubBatchSteps[P, None]:
    yield AcknowledgeSubBatch(sub_batch, end)
    if _may_end_the_process(sub_batch):
        yield AwaitConfirmation()


def _may_end_the_process(sub_batch: P) -> bool:
    """Return whether a record was delivered before; if it kills this worker, no acknowledgement is under way."""
    return sub_batch.max_delivery_count > 1
