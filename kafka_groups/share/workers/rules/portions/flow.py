"""The flow of records in portions: process them, hold those that fail, and try again.

A failure does not show whether the records are bad or the sink is down. The next success does: if other records
succeed, the sink works, and records that fail again are bad. Until then the records are held, their locks are renewed,
and they are processed again, less and less often (`outages.py`). Releasing them would cost each a delivery at every
try.
"""

from collections import deque
from collections.abc import Iterable
from typing import Generic

from attrs import define, frozen

from kafka_groups.share.workers.rules.failures.outages import Outage
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.share.workers.rules.portions.portion import (
    P,
    PortionEnd,
    PortionSteps,
    RunOutcome,
    RunPortion,
    WaitBetweenTries,
)
from kafka_groups.share.workers.rules.portions.settling import PortionSettling

__all__ = ["PortionFlow", "PortionRules", "Proof"]

_TELLING_FAILURES = 3
"""After this many failures in a row, the sink is considered down."""
_FEW_ROWS = 64
_MOST_POLLS_HELD = 20
_TRIES_BEFORE_SAMPLES = 3
_SAMPLE_STRIDE = 7_919
_TRIES_BEFORE_PROOF = 5


@define
class Proof(Generic[P]):
    """A portion that has succeeded: processing one of its records again shows whether the sink works.

    Attributes:
        good: The portion; None if there was none.
    """

    good: P | None = None


@frozen(kw_only=True)
class PortionRules:
    """The rules that do not change while portions are handled.

    Attributes:
        policy: The rules for delivery counts.
        is_patient: Whether failing records are held; if not, they are released at once, unless that would be final.
        rejects: Whether bad records are rejected even if they could be redelivered.
        bisects: Whether a portion that fails is always cut to find the bad records; if not, only a redelivered one.
        copies: Whether there is a dead-letter topic.
    """

    policy: DeliveryPolicy
    is_patient: bool
    rejects: bool = False
    bisects: bool = False
    copies: bool = False


class _UnknownOutcomeError(Exception):
    """A portion was processed with an unknown outcome, which ends the handling of everything in hand."""


class PortionFlow(Generic[P]):
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

    def __init__(self, rules: PortionRules, outage: Outage, proof: Proof[P]) -> None:
        self.now_ms = 0
        self.is_ending = False
        self.has_given_up = False
        self._rules = rules
        self._settling: PortionSettling[P] = PortionSettling(
            policy=rules.policy, rejects=rules.rejects, copies=rules.copies
        )
        self._outage = outage
        self._proof = proof
        self._polls: list[P] = []
        self._waiting: deque[P] = deque()
        self._suspects: list[P] = []

    def handled(self, poll: P) -> PortionSteps[P, None]:
        """Process and acknowledge a poll and the records that are polled during it."""
        self.has_given_up = False
        try:
            yield from self._taken_on(poll)
            while self._waiting or self._suspects:
                yield from self._went_on()
        except _UnknownOutcomeError:
            yield from self._release_all()
        finally:
            for held in self._polls:
                held.end()
            self._polls.clear()
            self._waiting.clear()
            self._suspects.clear()

    def _taken_on(self, poll: P) -> PortionSteps[P, P]:
        """Take the records of a poll, and return the first portion in which they are processed."""
        self._polls.append(poll)
        often = poll.max_delivery_count
        yield from self._settling.prepare(poll)
        portions = [poll]
        if often > 1:
            portions = [poll.part(rows) for rows in self._rules.policy.portions(poll.counts_by_row())]
            wait_ms = self._rules.policy.wait_ms(often)
            if wait_ms:
                yield WaitBetweenTries(wait_ms=wait_ms)
        self._waiting.extend(portions)
        return portions[0]

    def _went_on(self) -> PortionSteps[P, None]:
        if self._suspects and (not self._waiting or len(self._suspects) >= _TELLING_FAILURES):
            yield from self._waited_for_the_sink()
        else:
            yield from self._tried(self._waiting.popleft())

    def _tried(self, portion: P) -> PortionSteps[P, None]:
        if (yield from self._succeeds(portion)):
            yield from self._succeeded(portion)
        elif not (yield from self._is_split(portion)):
            self._suspects.append(portion)

    def _succeeds(self, portion: P) -> PortionSteps[P, bool]:
        outcome: RunOutcome = yield RunPortion(portion)
        if outcome is RunOutcome.UNKNOWN:
            raise _UnknownOutcomeError
        if outcome is RunOutcome.FAILED:
            portion.reopen()
            self._outage.suspect(self.now_ms)
            return False
        return True

    def _release_all(self) -> PortionSteps[P, None]:
        self.has_given_up = True
        for poll in self._polls:
            yield from self._settling.release(poll)

    # --------------------------------------------------------------------------------- after a success

    def _succeeded(self, portion: P) -> PortionSteps[P, None]:
        """Accept a portion. It shows that the sink works, so records that fail again are bad."""
        yield from self._settling.accept(portion)
        self._proof.good = portion
        yield from self._sink_works()

    def _sink_works(self) -> PortionSteps[P, None]:
        """Try the suspects once more, as something else has just succeeded: what fails again is bad."""
        self._outage.succeeded()
        suspects, self._suspects = self._suspects, []
        for suspect in suspects:
            if (yield from self._succeeds(suspect)):
                yield from self._settling.accept(suspect)
            elif self._may_split(suspect):
                self._split(suspect)
            else:
                yield from self._settling.give_up(suspect, PortionEnd.BAD)
        self._outage.succeeded()  # whatever failed is bad

    def _is_split(self, portion: P) -> PortionSteps[P, bool]:
        """Return whether a record of a failing portion succeeds alone; if so, halve the rest to find the bad ones."""
        if not self._may_split(portion):
            return False
        for row in dict.fromkeys((0, len(portion) // 2, len(portion) - 1)):
            single = portion.part([row])
            if (yield from self._succeeds(single)):
                self._split(_without(portion, row))
                yield from self._succeeded(single)
                return True
        return False

    def _may_split(self, portion: P) -> bool:
        """Return whether to look for the bad records in a portion: always if it was delivered before."""
        return len(portion) > 1 and (self._rules.bisects or portion.max_delivery_count > 1)

    def _split(self, portion: P) -> None:
        half = (len(portion) + 1) // 2
        halves = (range(half), range(half, len(portion)))
        self._waiting.extendleft(portion.part(rows) for rows in reversed(halves) if len(rows))

    # --------------------------------------------------------------------------------- after failures

    def _waited_for_the_sink(self) -> PortionSteps[P, None]:
        now_ms = self.now_ms
        if (yield from self._succeeds_with_a_good_record()):
            return
        if self._is_out_of_time(now_ms):
            yield from self._give_up_all(now_ms)
            return
        if self._outage.failures >= _TRIES_BEFORE_SAMPLES and (yield from self._succeeds_with_a_sample()):
            return
        self._outage.failed(now_ms)
        other: P | None = yield self._wait(now_ms)
        if other is None:
            self._waiting.extendleft(reversed(self._suspects))
            self._suspects = []
        else:  # which succeeds if it is the records, and not the sink
            first = yield from self._taken_on(other)
            self._waiting.remove(first)
            yield from self._tried(first)

    def _wait(self, now_ms: int) -> WaitBetweenTries:
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

    def _succeeds_with_a_sample(self) -> PortionSteps[P, bool]:
        """Return whether one record of a failing portion succeeds on its own, which shows that the sink works."""
        portion = next((suspect for suspect in self._suspects if len(suspect) > 1), None)
        if portion is None:
            return False
        row = self._outage.failures * _SAMPLE_STRIDE % len(portion)
        single = portion.part([row])
        if not (yield from self._succeeds(single)):
            return False
        self._suspects[self._suspects.index(portion)] = _without(portion, row)
        yield from self._succeeded(single)
        return True

    def _succeeds_with_a_good_record(self) -> PortionSteps[P, bool]:
        """Return whether a record that has succeeded before succeeds again, after some tries of those that fail.

        It may then be in the sink twice. Without it, a bad record that is left over would be held until others come.
        """
        is_tried = not self._rules.is_patient or self._outage.failures >= _TRIES_BEFORE_PROOF
        good = self._proof.good
        if good is None or not is_tried or not (yield from self._succeeds(good.again(1))):
            return False
        yield from self._sink_works()
        return True

    def _may_poll(self) -> bool:
        """Return whether to poll other records to see if they fail too. Only a few are held while the sink is down."""
        held = sum(map(len, self._polls))
        return len(self._polls) < 2 or (held < _FEW_ROWS and len(self._polls) < _MOST_POLLS_HELD)

    def _is_out_of_time(self, now_ms: int) -> bool:
        """Return whether to stop retrying: a lock that cannot be renewed has expired, or records need not be held."""
        is_to_end = not self._rules.is_patient or self.is_ending
        return self._are_lost(now_ms) or (is_to_end and any(map(self._may_come_again, self._failing())))

    def _are_lost(self, now_ms: int) -> bool:
        return any(deadline_ms <= now_ms for deadline_ms in self._fixed_deadlines_ms())

    def _fixed_deadlines_ms(self) -> list[int]:
        deadlines_ms = (poll.fixed_deadline_ms for poll in self._polls)
        return [deadline_ms for deadline_ms in deadlines_ms if deadline_ms is not None]

    def _failing(self) -> Iterable[P]:
        return (*self._suspects, *self._waiting)

    def _may_come_again(self, portion: P) -> bool:
        return self._outage.may_spend(portion.max_delivery_count, self._rules.policy.limit)

    def _give_up_all(self, now_ms: int) -> PortionSteps[P, None]:
        """Release what may be redelivered. Records on their last delivery stay in hand for as long as they can."""
        self.has_given_up = True
        are_lost, portions = self._are_lost(now_ms), self._failing()
        self._suspects = []
        self._waiting.clear()
        for portion in portions:
            if are_lost or self._may_come_again(portion):
                yield from self._settling.give_up(portion, PortionEnd.GIVEN_UP)
            else:
                self._suspects.append(portion)


def _without(portion: P, row: int) -> P:
    return portion.part([other for other in range(len(portion)) if other != row])
