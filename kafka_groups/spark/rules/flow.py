"""The flow of records in sub-batches: process them, hold those that fail, and try again.

A failure does not show whether the records are bad or the sink is down. The next success does: if other records
succeed, the sink works, and records that fail again are bad. Until then the records are held, their locks are renewed,
and they are processed again, less and less often (`Outage`). Releasing them would cost each a delivery at every
try.
"""

from collections import deque
from collections.abc import Iterable
from typing import Generic

from attrs import define, frozen

from kafka_groups.share.workers.rules.failures.outages import Outage
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.spark.rules.sub_batch import (
    P,
    RunOutcome,
    RunSubBatch,
    SubBatchEnd,
    SubBatchSteps,
    WaitBetweenTries,
)
from kafka_groups.spark.rules.sub_batch_acknowledging import SubBatchAcknowledging

__all__ = ["Proof", "SubBatchFlow", "SubBatchRules"]

_TELLING_FAILURES = 3
"""After this many failures in a row, the sink is considered down."""
# More polls show whether it is the records or the sink. But all of what is held has to be released if the task ends.
_FEW_ROWS = 64
_MOST_POLLS_HELD = 20
_TRIES_BEFORE_SAMPLES = 3
# A prime, so that one try after another takes other rows, from all over a sub-batch of any size.
_SAMPLE_STRIDE = 7_919
_TRIES_BEFORE_PROOF = 5


@define
class Proof(Generic[P]):
    """A sub-batch that has succeeded: processing one of its records again shows whether the sink works.

    Attributes:
        good: The sub-batch; None if there was none.
    """

    good: P | None = None


@frozen(kw_only=True)
class SubBatchRules:
    """The rules that do not change while sub-batches are handled.

    Attributes:
        policy: The rules for delivery counts.
        is_patient: Whether failing records are held; if not, they are released at once, unless that would be final.
        rejects: Whether bad records are rejected even if they could be redelivered.
        bisects: Whether a sub-batch that fails is always cut to find the bad records; if not, only a redelivered one.
        copies: Whether there is a dead-letter topic.
    """

    policy: DeliveryPolicy
    is_patient: bool
    rejects: bool = False
    bisects: bool = False
    copies: bool = False


class _UnknownOutcomeError(Exception):
    """A sub-batch was processed with an unknown outcome, which ends the handling of everything in hand."""


class SubBatchFlow(Generic[P]):
    """Decides what to do with a poll and with the records that are polled until it is settled, step by step.

    Args:
        rules: The rules.
        outage: The state of the sink.
        proof: The processing that has succeeded.

    Attributes:
        now_ms: The time, set before each step.
        is_ending: Whether the run must end, set before each step; then records that may be redelivered are released.
        has_given_up: Whether records of this poll were released although nothing shows that they are bad.
    """

    def __init__(self, rules: SubBatchRules, outage: Outage, proof: Proof[P]) -> None:
        self.now_ms = 0
        self.is_ending = False
        self.has_given_up = False
        self._rules = rules
        self._settling: SubBatchAcknowledging[P] = SubBatchAcknowledging(
            policy=rules.policy, rejects=rules.rejects, copies=rules.copies
        )
        self._outage = outage
        self._proof = proof
        self._polls: list[P] = []
        self._waiting: deque[P] = deque()
        self._suspects: list[P] = []

    def handled(self, poll: P) -> SubBatchSteps[P, None]:
        """Process and acknowledge a poll and the records that are polled during it."""
        self.has_given_up = False
        try:
            yield from self._taken_on(poll)
            while self._waiting or self._suspects:
                yield from self._went_on()
        except _UnknownOutcomeError:
            # `process` returned unfinished work, which is a mistake in the program. Accepting the records could lose
            # them, and processing them again would return the same. The run ends with an error, and another process
            # gets all that is in hand.
            yield from self._release_all()
        finally:
            for held in self._polls:
                held.end()
            self._polls.clear()
            self._waiting.clear()
            self._suspects.clear()

    def _taken_on(self, poll: P) -> SubBatchSteps[P, P]:
        """Take the records of a poll, and return the first sub-batch in which they are processed."""
        self._polls.append(poll)
        often = poll.max_delivery_count
        yield from self._settling.prepare(poll)
        sub_batches = [poll]
        # New records are processed together, which is fast. Redelivered ones go in small sub-batches, because one of
        # them may have killed the worker that had them before.
        if often > 1:
            sub_batches = [poll.part(rows) for rows in self._rules.policy.sub_batches(poll.counts_by_row())]
            wait_ms = self._rules.policy.wait_ms(often)
            # A crash loop would otherwise use up the remaining deliveries within seconds.
            if wait_ms:
                yield WaitBetweenTries(wait_ms=wait_ms)
        self._waiting.extend(sub_batches)
        return sub_batches[0]

    def _went_on(self) -> SubBatchSteps[P, None]:
        # There are two cases. As long as there are other sub-batches, one of them is tried first: if it succeeds, the
        # sink works. With none left, or after three failures in a row, trying more would only call `process` in vain.
        if self._suspects and (not self._waiting or len(self._suspects) >= _TELLING_FAILURES):
            yield from self._waited_for_the_sink()
        else:
            yield from self._tried(self._waiting.popleft())

    def _tried(self, sub_batch: P) -> SubBatchSteps[P, None]:
        if (yield from self._succeeds(sub_batch)):
            yield from self._succeeded(sub_batch)
        elif not (yield from self._is_split(sub_batch)):
            self._suspects.append(sub_batch)

    def _succeeds(self, sub_batch: P) -> SubBatchSteps[P, bool]:
        outcome: RunOutcome = yield RunSubBatch(sub_batch)
        if outcome is RunOutcome.UNKNOWN:
            raise _UnknownOutcomeError
        # `process` may have rejected records before it raised. The exception may mean that it was wrong about them.
        if outcome is RunOutcome.FAILED:
            sub_batch.reopen()
            self._outage.suspect(self.now_ms)
            return False
        return True

    def _release_all(self) -> SubBatchSteps[P, None]:
        self.has_given_up = True
        for poll in self._polls:
            yield from self._settling.release(poll)

    # --------------------------------------------------------------------------------- after a success

    def _succeeded(self, sub_batch: P) -> SubBatchSteps[P, None]:
        """Accept a sub-batch. It shows that the sink works, so records that fail again are bad."""
        yield from self._settling.accept(sub_batch)
        # Kept beyond the task: with nothing but bad records in hand, a later one needs something that is known to be
        # good.
        self._proof.good = sub_batch
        yield from self._sink_works()

    def _sink_works(self) -> SubBatchSteps[P, None]:
        """Try the suspects once more, as something else has just succeeded: what fails again is bad."""
        # Something has just succeeded, so the sink works, and what fails now is bad. If the sink goes down at this very
        # moment, good records are judged with the bad ones. They lose a delivery, or are rejected after their copy.
        self._outage.succeeded()
        suspects, self._suspects = self._suspects, []
        for suspect in suspects:
            if (yield from self._succeeds(suspect)):
                yield from self._settling.accept(suspect)
            # It has failed again, and holds more than one record: some of them may be good.
            elif self._may_split(suspect):
                self._split(suspect)
            else:
                yield from self._settling.give_up(suspect, SubBatchEnd.BAD)
        self._outage.succeeded()  # whatever failed is bad

    def _is_split(self, sub_batch: P) -> SubBatchSteps[P, bool]:
        """Return whether a record of a failing sub-batch succeeds alone; if so, halve the rest to find the bad ones."""
        if not self._may_split(sub_batch):
            return False
        # Three single records are enough to tell bad records from an outage, as long as bad ones are rare. If all three
        # fail, the sub-batch is not cut: during an outage, that would call `process` for each half in vain.
        for row in dict.fromkeys((0, len(sub_batch) // 2, len(sub_batch) - 1)):
            single = sub_batch.part([row])
            if (yield from self._succeeds(single)):
                self._split(_without(sub_batch, row))
                yield from self._succeeded(single)
                return True
        return False

    def _may_split(self, sub_batch: P) -> bool:
        """Return whether to look for the bad records in a sub-batch: always if it was delivered before."""
        # A new sub-batch is cut only if the user wants the bad records found. A redelivered one has failed before,
        # perhaps in a worker that it killed, and its good records are closer to their limit.
        return len(sub_batch) > 1 and (self._rules.bisects or sub_batch.max_delivery_count > 1)

    def _split(self, sub_batch: P) -> None:
        half = (len(sub_batch) + 1) // 2
        halves = (range(half), range(half, len(sub_batch)))
        self._waiting.extendleft(sub_batch.part(rows) for rows in reversed(halves) if len(rows))

    # --------------------------------------------------------------------------------- after failures

    def _waited_for_the_sink(self) -> SubBatchSteps[P, None]:
        now_ms = self.now_ms
        # The cheapest proof comes first: a record that has succeeded before. If it succeeds, what fails is bad.
        if (yield from self._succeeds_with_a_good_record()):
            return
        # Only records whose locks are lost, or that need not be held, are given up. All others wait, for as long as it
        # takes.
        if self._is_out_of_time(now_ms):
            yield from self._give_up_all(now_ms)
            return
        # A whole sub-batch may fail because of a single bad record. After some tries, single records of it are tried as
        # well.
        if self._outage.failures >= _TRIES_BEFORE_SAMPLES and (yield from self._succeeds_with_a_sample()):
            return
        self._outage.failed(now_ms)
        other: P | None = yield self._wait(now_ms)
        # Nobody else's records have come, so all that failed is tried again, in the same order.
        if other is None:
            self._waiting.extendleft(reversed(self._suspects))
            self._suspects = []
        else:  # which succeeds if it is the records, and not the sink
            first = yield from self._taken_on(other)
            self._waiting.remove(first)
            yield from self._tried(first)

    def _wait(self, now_ms: int) -> WaitBetweenTries:
        # Locks that cannot be renewed end the wait: their records have to be released or tried before.
        until_ms = min([now_ms + self._outage.remaining_ms(now_ms), *self._fixed_deadlines_ms()])
        return WaitBetweenTries(
            wait_ms=max(1, until_ms - now_ms),
            wants_records=self._may_poll(),
            held=self.held_rows,
            failures=self._outage.failures,
        )

    @property
    def held_rows(self) -> int:
        """The number of records that are not settled."""
        return sum(map(len, (*self._suspects, *self._waiting)))

    def _succeeds_with_a_sample(self) -> SubBatchSteps[P, bool]:
        """Return whether one record of a failing sub-batch succeeds on its own, which shows that the sink works."""
        sub_batch = next((suspect for suspect in self._suspects if len(suspect) > 1), None)
        if sub_batch is None:
            return False
        row = self._outage.failures * _SAMPLE_STRIDE % len(sub_batch)
        single = sub_batch.part([row])
        if not (yield from self._succeeds(single)):
            return False
        self._suspects[self._suspects.index(sub_batch)] = _without(sub_batch, row)
        yield from self._succeeded(single)
        return True

    def _succeeds_with_a_good_record(self) -> SubBatchSteps[P, bool]:
        """Return whether a record that has succeeded before succeeds again, after some tries of those that fail.

        It may then be in the sink twice. Without it, a bad record that is left over would be held until others come.
        """
        is_tried = not self._rules.is_patient or self._outage.failures >= _TRIES_BEFORE_PROOF
        good = self._proof.good
        # A patient worker first tries what fails some more times, because the good record may be twice in the sink
        # then.
        if good is None or not is_tried or not (yield from self._succeeds(good.again(1))):
            return False
        yield from self._sink_works()
        return True

    def _may_poll(self) -> bool:
        """Return whether to poll other records to see if they fail too. Only a few are held while the sink is down."""
        held = sum(map(len, self._polls))
        # The second poll is always worth it: if its records succeed, the sink works. After that, only a few records are
        # held.
        return len(self._polls) < 2 or (held < _FEW_ROWS and len(self._polls) < _MOST_POLLS_HELD)

    def _is_out_of_time(self, now_ms: int) -> bool:
        """Return whether to stop retrying: a lock that cannot be renewed has expired, or records need not be held."""
        # Without patience, or when the run must end, whatever may be redelivered is released. Records on their last
        # delivery alone are no reason to end.
        is_to_end = not self._rules.is_patient or self.is_ending
        return self._are_lost(now_ms) or (is_to_end and any(map(self._may_come_again, self._failing())))

    def _are_lost(self, now_ms: int) -> bool:
        return any(deadline_ms <= now_ms for deadline_ms in self._fixed_deadlines_ms())

    def _fixed_deadlines_ms(self) -> list[int]:
        deadlines_ms = (poll.fixed_deadline_ms for poll in self._polls)
        return [deadline_ms for deadline_ms in deadlines_ms if deadline_ms is not None]

    def _failing(self) -> Iterable[P]:
        return (*self._suspects, *self._waiting)

    def _may_come_again(self, sub_batch: P) -> bool:
        return self._outage.may_spend(sub_batch.max_delivery_count, self._rules.policy.limit)

    def _give_up_all(self, now_ms: int) -> SubBatchSteps[P, None]:
        """Release what may be redelivered. Records on their last delivery stay in hand for as long as they can."""
        self.has_given_up = True
        are_lost, sub_batches = self._are_lost(now_ms), self._failing()
        self._suspects = []
        self._waiting.clear()
        for sub_batch in sub_batches:
            # There are two cases. What may be redelivered is released. A record on its last delivery would be archived,
            # so it is held on, even past the end of the task's time, unless its lock is lost anyway.
            if are_lost or self._may_come_again(sub_batch):
                yield from self._settling.give_up(sub_batch, SubBatchEnd.GIVEN_UP)
            else:
                self._suspects.append(sub_batch)


def _without(sub_batch: P, row: int) -> P:
    return sub_batch.part([other for other in range(len(sub_batch)) if other != row])
