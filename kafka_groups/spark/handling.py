"""What a worker does with the records of one poll: process them, and decide what becomes of what fails."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.net.clock import Clock
from kafka_groups.share.delivery.records import AnyRecords
from kafka_groups.spark.acknowledging import Acknowledger, Tally
from kafka_groups.spark.batch import ShareBatch
from kafka_groups.spark.dead_letters import DeadLetters
from kafka_groups.spark.policy import DeliveryPolicy, FailureRun, OnError
from kafka_groups.types import AcknowledgeType

__all__ = ["Handling", "PollHandler"]


@frozen(kw_only=True)
class Handling:
    """How records are handled.

    Attributes:
        process: The user's function.
        on_error: What becomes of a batch that fails.
        policy: What delivery counts call for.
        dead_letters: Where copies go of what may not be delivered again, or None.
        wait: Waits so many seconds.
    """

    process: Callable[[ShareBatch], object]
    on_error: OnError
    policy: DeliveryPolicy
    dead_letters: DeadLetters | None
    wait: Callable[[float], object]


class PollHandler:
    """Handles the records of polls, one after the other.

    Records that were delivered often are kept from the others: the others go first, together; then each of them on
    its own, acknowledged before the next.

    Args:
        handling: How.
        acknowledger: Sends what was decided.
        tally: The figures.
        clock: Time.
    """

    def __init__(self, handling: Handling, acknowledger: Acknowledger, tally: Tally, clock: Clock) -> None:
        self._how = handling
        self._acknowledger = acknowledger
        self._tally = tally
        self._clock = clock
        self._is_fit = True
        self._has_failed = False
        self._has_succeeded = False

    def handle(self, batch: ShareBatch) -> bool:
        """Process and acknowledge a whole poll; False if all of it failed, so that the next had better wait."""
        self._has_failed = self._has_succeeded = False
        often = batch.max_delivery_count
        self._tally.max_delivery_count = max(self._tally.max_delivery_count, often)
        try:
            if often < self._how.policy.isolate_from:
                self._handle_together(batch)
            else:
                self._handle_apart(batch)
        finally:
            batch.end()
        return self._has_succeeded or not self._has_failed

    @property
    def is_fit(self) -> bool:
        """Whether the consumer is fit to go on."""
        return self._is_fit

    # ------------------------------------------------------------------------------ together and apart

    def _handle_together(self, batch: ShareBatch) -> None:
        if self._succeeds(batch):
            self._accept(batch)
        elif self._how.on_error == "per_record":
            self._handle_singly(batch, range(len(batch)))
        else:
            self._give_up(batch)

    def _handle_apart(self, batch: ShareBatch) -> None:
        policy, counts = self._how.policy, batch.delivery_counts
        self._copy(batch.part(np.flatnonzero(counts >= policy.copy_from)), "on one of its last deliveries")
        fresh = np.flatnonzero(counts < policy.isolate_from)
        if len(fresh):
            self._handle_together(batch.part(fresh))
        self._how.wait(policy.wait_ms(batch.max_delivery_count) / 1000)
        rows = np.flatnonzero(counts >= policy.isolate_from).tolist()
        self._handle_singly(batch, policy.isolated_order(rows, batch.max_delivery_count))

    def _handle_singly(self, batch: ShareBatch, rows: Sequence[int]) -> None:
        run = FailureRun()
        for position, row in enumerate(rows):
            if run.is_hopeless:
                self._give_up(batch.part(sorted(rows[position:])))
                return
            single = batch.part([row])
            succeeded = self._succeeds(single)
            run.ended(succeeded=succeeded)
            if succeeded:
                self._accept(single)
            else:
                self._give_up(single)

    # ----------------------------------------------------------------------------------- single steps

    def _succeeds(self, batch: ShareBatch) -> bool:
        started_ms = self._clock.now_ms()
        try:
            self._how.process(batch)
        except Exception as error:  # whatever it is, the result tells of it
            self._has_failed = True
            self._tally.note_error(error, failed=self._how.on_error == "release")
            return False
        finally:
            self._tally.process_ms += self._clock.now_ms() - started_ms
        return True

    def _accept(self, batch: ShareBatch) -> None:
        """Accept what the function left open; what it rejected is copied first."""
        self._has_succeeded = True
        rejected = batch.rejected()
        if rejected and not self._copy_records(rejected, "rejected"):
            batch.release(rejected)
        batch.accept_open()
        self._send(batch)

    def _give_up(self, batch: ShareBatch) -> None:
        """The function raised: nothing that it decided holds."""
        verdict = self._how.policy.verdict
        kinds = np.array([verdict(self._how.on_error, int(count)) for count in batch.delivery_counts.tolist()])
        batch.release()
        is_lost = kinds == AcknowledgeType.REJECT
        if is_lost.any() and self._copy(batch.part(np.flatnonzero(is_lost)), "failed"):
            batch.reject(is_lost)
        self._send(batch)

    def _copy(self, batch: ShareBatch, reason: str) -> bool:
        return self._copy_records(list(batch), reason) if len(batch) else True

    def _copy_records(self, records: Sequence[Any], reason: str) -> bool:
        """Whether the records are safe: copied, or there is nowhere to copy them to."""
        if self._how.dead_letters is None:
            return True
        try:
            self._tally.dead_lettered += self._how.dead_letters.copy(records, reason)
        except DeliveryFailedError as error:
            self._tally.note_error(error, failed=True)
            return False
        return True

    def _send(self, batch: ShareBatch) -> None:
        records: AnyRecords = batch.records
        self._is_fit = self._acknowledger.send(records) and self._is_fit
