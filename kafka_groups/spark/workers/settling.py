"""Settle a portion of records: accept, release or reject them, and copy records that would be gone."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.share.workers.acknowledging import Acknowledger, Tally
from kafka_groups.share.workers.dead_letters import DeadLetters
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.spark.failures.failure_options import FailureOption
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.types import AcknowledgeType

__all__ = ["Settler"]


class Settler:
    """Decides, copies and acknowledges.

    Args:
        on_error: What to do with records that still fail after the retries.
        policy: The rules for delivery counts.
        dead_letters: The producer of copies for the dead-letter topic, or None.
        acknowledger: Sends the acknowledgements.
        tally: The figures.
    """

    def __init__(
        self,
        on_error: FailureOption,
        policy: DeliveryPolicy,
        dead_letters: DeadLetters | None,
        acknowledger: Acknowledger,
        tally: Tally,
    ) -> None:
        self._on_error = on_error
        self._policy = policy
        self._dead_letters = dead_letters
        self._acknowledger = acknowledger
        self._tally = tally

    @property
    def delivery_limit(self) -> int:
        """The delivery count on which a record that is released is archived."""
        return self._policy.limit

    def prepare(self, batch: ShareBatch) -> None:
        """Copy the records of a poll that may not be redelivered, and wait for earlier acknowledgements if need be."""
        if _may_end_the_process(batch):
            self._acknowledger.finish()
        if batch.max_delivery_count >= self._policy.copy_from:
            near = np.flatnonzero(batch.delivery_counts >= self._policy.copy_from)
            self._copy(list(batch.part(near)), "on one of its last deliveries")

    def accept(self, portion: ShareBatch) -> None:
        """Accept the records that `process` did not decide about, after copying those that it rejected."""
        rejected = portion.rejected()
        if rejected and not self._copy(rejected, "rejected"):
            portion.release(rejected)
        portion.accept_open()
        self._send(portion)

    def give_up(self, portion: ShareBatch, *, is_bad: bool = True) -> None:
        """Settle records that fail; decisions of `process` about them are ignored.

        Args:
            portion: The records.
            is_bad: Whether others succeeded. If not, records that may be redelivered are released.
        """
        verdict, rejects = self._policy.verdict, is_bad and self._on_error == "reject"
        kinds = np.array([verdict(int(count), rejects=rejects) for count in portion.delivery_counts.tolist()])
        portion.release()
        is_lost = kinds == AcknowledgeType.REJECT
        if is_lost.any() and self._copy(list(portion.part(np.flatnonzero(is_lost))), "failed"):
            portion.reject(is_lost)
        self._send(portion)

    def release(self, portion: ShareBatch) -> None:
        """Release the records without processing them."""
        portion.release()
        self._send(portion)

    def _send(self, portion: ShareBatch) -> None:
        self._acknowledger.send(portion.records)
        if _may_end_the_process(portion):
            self._acknowledger.finish()

    def _copy(self, records: Sequence[Any], reason: str) -> bool:
        """Copy records; True if they were copied or there is no dead-letter topic."""
        if self._dead_letters is None or not records:
            return True
        try:
            self._tally.dead_lettered += self._dead_letters.copy(records, reason)
        except DeliveryFailedError as error:
            self._tally.note_error(error, failed=True)
            return False
        return True


def _may_end_the_process(portion: ShareBatch) -> bool:
    """Return whether a record was delivered before; if it kills this worker, no acknowledgement is under way."""
    return portion.max_delivery_count > 1
