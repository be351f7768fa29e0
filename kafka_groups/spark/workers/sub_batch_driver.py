"""Does the steps of `SubBatchHandling` in a task: calls `process`, copies, acknowledges, waits and keeps figures."""

import logging
from collections.abc import Callable
from typing import Protocol

from attrs import field, frozen

from kafka_groups.errors import DeliveryFailedError
from kafka_groups.errors.texts import counted
from kafka_groups.net.clock import Clock
from kafka_groups.share.workers.rules.failures.outages import Outage
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.spark.acknowledger import Acknowledger, Tally
from kafka_groups.spark.dead_letters import DeadLetters
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.spark.rules.flow import Proof, SubBatchRules
from kafka_groups.spark.rules.sub_batch import (
    AcknowledgeSubBatch,
    AwaitConfirmation,
    RunOutcome,
    RunSubBatch,
    SubBatchEnd,
    SubBatchesDone,
    SubBatchStep,
    WaitBetweenTries,
    WriteSubBatchDeadLetters,
)
from kafka_groups.spark.rules.sub_batch_handling import SubBatchHandling
from kafka_groups.spark.workers.returned import ProcessResultError, check_result
from kafka_groups.spark.workers.worker_options import PER_RECORD, REJECT_ALL, RELEASE_AND_RAISE, FailureOption

__all__ = ["Pausing", "SubBatchDriver", "SubBatchWork"]

_LOG = logging.getLogger(__name__)


class Pausing(Protocol):
    """Waits between two tries."""

    def __call__(self, wait_ms: int, *, may_poll: bool, held: int = 0) -> ShareBatch | None:
        """Wait with records in hand; with `may_poll`, return other records as soon as some come."""
        ...


@frozen(kw_only=True)
class SubBatchWork:
    """The work of a task: its function, its options, and the state that outlives it.

    Attributes:
        process: The user's function.
        on_error: What to do with records that still fail after the retries.
        policy: The rules for delivery counts.
        is_patient: Whether failing records are held; if not, they are released at once, unless that would be final.
        dead_letters: The producer of copies for the dead-letter topic, or None.
        pause: Waits between two tries.
        outage: The state of the sink; it outlives the task.
        proof: The processing that has succeeded; it outlives the task, too.
        is_ending: Returns whether the run must end; then records that may be redelivered are released.
    """

    process: Callable[[ShareBatch], object]
    on_error: FailureOption
    policy: DeliveryPolicy
    is_patient: bool
    dead_letters: DeadLetters | None
    pause: Pausing
    outage: Outage
    proof: Proof[ShareBatch] = field(factory=Proof)
    is_ending: Callable[[], bool] = lambda: False

    def handling(self) -> SubBatchHandling[ShareBatch]:
        """Return the rules that decide about the records."""
        rules = SubBatchRules(
            policy=self.policy,
            is_patient=self.is_patient,
            rejects=self.on_error == REJECT_ALL,
            bisects=self.on_error == PER_RECORD,
            copies=self.dead_letters is not None,
        )
        return SubBatchHandling(rules, self.outage, self.proof)


class SubBatchDriver:
    """Handles the records of one poll after another.

    Args:
        work: What to do with the records.
        acknowledger: Sends the acknowledgements.
        tally: The figures.
        clock: Time.
    """

    def __init__(self, work: SubBatchWork, acknowledger: Acknowledger, tally: Tally, clock: Clock) -> None:
        self._work = work
        self._handling = work.handling()
        self._acknowledger = acknowledger
        self._tally = tally
        self._clock = clock

    def handle(self, batch: ShareBatch) -> bool:
        """Process and acknowledge a poll and the records polled during it; False if records still failed at the end."""
        self._note_deliveries(batch)
        self._handling.arrived(batch)
        try:
            while not isinstance(step := self._next(), SubBatchesDone):
                self._do(step)
        finally:
            self._handling.drop()
        return not step.has_given_up

    def _next(self) -> SubBatchStep[ShareBatch]:
        return self._handling.next(self._clock.now_ms(), is_ending=self._work.is_ending())

    def _do(self, step: SubBatchStep[ShareBatch]) -> None:
        match step:
            case RunSubBatch(sub_batch):
                self._handling.ran(self._processed(sub_batch))
            case WriteSubBatchDeadLetters(sub_batch, reason):
                self._handling.copied(is_confirmed=self._is_copied(sub_batch, reason))
            case AcknowledgeSubBatch(sub_batch, end):
                self._settle(sub_batch, end)
                self._handling.settled()
            case AwaitConfirmation():
                self._acknowledger.finish()
                self._handling.confirmed()
            case WaitBetweenTries():
                self._handling.waited(self._wait(step))

    def _processed(self, sub_batch: ShareBatch) -> RunOutcome:
        started_ms = self._clock.now_ms()
        try:
            check_result(self._work.process(sub_batch))
        except ProcessResultError as error:
            # This comes first because it is not an error of `process`, which has returned: nobody knows whether the
            # records are stored.
            self._tally.note_error(error, failed=True)
            return RunOutcome.UNKNOWN
        except Exception as error:  # any error: the result reports it
            self._tally.note_error(error, failed=False)
            return RunOutcome.FAILED
        finally:
            self._tally.process_ms += self._clock.now_ms() - started_ms
        return RunOutcome.SUCCEEDED

    def _is_copied(self, sub_batch: ShareBatch, reason: str) -> bool:
        if self._work.dead_letters is None:
            return True
        try:
            self._tally.dead_lettered += self._work.dead_letters.copy(list(sub_batch), reason)
        except DeliveryFailedError as error:
            # The run raises at its end, so that somebody notices. Until then, the rules decide about the records
            # without a copy.
            self._tally.note_error(error, failed=True)
            return False
        return True

    def _settle(self, sub_batch: ShareBatch, end: SubBatchEnd) -> None:
        # What is settled counts as a failure of the run only if the user wants that. With `release`, bad records end
        # it. Records that were given up because time was over end it too, except with `per_record`, which is meant to
        # go on.
        is_bad = end is SubBatchEnd.BAD and self._work.on_error == RELEASE_AND_RAISE
        is_unfinished = end is SubBatchEnd.GIVEN_UP and self._work.on_error != PER_RECORD
        self._tally.failed = self._tally.failed or is_bad or is_unfinished
        self._acknowledger.send(sub_batch.records)

    def _wait(self, step: WaitBetweenTries) -> ShareBatch | None:
        if step.failures:
            self._say(step)
        other = self._work.pause(step.wait_ms, may_poll=step.wants_records, held=step.held)
        if other is not None:
            self._note_deliveries(other)
        return other

    def _say(self, step: WaitBetweenTries) -> None:
        if step.failures & (step.failures - 1) == 0:  # less and less often
            _LOG.warning(
                "process raised; the worker holds %s and tries them again, at least every %.1f s, until something"
                " succeeds: %s",
                counted(step.held, "record"),
                self._work.outage.waits.longest_ms / 1000,
                self._tally.last_error,
            )

    def _note_deliveries(self, batch: ShareBatch) -> None:
        self._tally.max_delivery_count = max(self._tally.max_delivery_count, batch.max_delivery_count)
