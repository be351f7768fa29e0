"""Handling of polled records in a worker: process them, hold those that fail, and try again.

A failure does not show whether the records are bad or the sink is down. The next success does: if other records
succeed, the sink works, and records that fail again are bad. Until then the worker holds the records, renews their
locks and calls `process` again, less and less often (`outages.py`). Releasing them would cost each a delivery at every
try.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

from attrs import define, frozen

from kafka_groups.net.clock import Clock
from kafka_groups.share.delivery.batch import deliveries_of
from kafka_groups.share.workers.acknowledging import Tally
from kafka_groups.share.workers.rules.outages import Outage
from kafka_groups.share.workers.rules.policy import DeliveryPolicy
from kafka_groups.spark.failures.failure_options import FailureOption
from kafka_groups.spark.records.batch import ShareBatch
from kafka_groups.spark.workers.returned import ProcessResultError, check_result
from kafka_groups.spark.workers.settling import Settler

__all__ = ["Handling", "Pausing", "PollHandler", "Proof"]

_LOG = logging.getLogger(__name__)
_TELLING_FAILURES = 3
"""After this many failures in a row, the sink is considered down."""
_FEW_ROWS = 64
_MOST_POLLS_HELD = 20
_TRIES_BEFORE_SAMPLES = 3
_SAMPLE_STRIDE = 7_919
_TRIES_BEFORE_PROOF = 5


@define
class Proof:
    """A portion that has succeeded: processing one of its records again shows whether the sink works.

    Attributes:
        good: The portion; None if there was none.
    """

    good: ShareBatch | None = None


class Pausing(Protocol):
    """Waits between two tries."""

    def __call__(self, wait_ms: int, *, may_poll: bool, held: int = 0) -> ShareBatch | None:
        """Wait with that many records in hand; with `may_poll`, return other records as soon as some come."""
        ...


@frozen(kw_only=True)
class Handling:
    """Settings and state for handling records.

    Attributes:
        process: The user's function.
        on_error: What to do with records that still fail after the retries.
        policy: The rules for delivery counts.
        is_patient: Whether failing records are held; if not, they are released at once, unless that would be final.
        pause: Waits between two tries.
        outage: The state of the sink; it outlives the task.
        proof: The processing that has succeeded; it outlives the task, too.
        is_ending: Returns whether the run must end; then records that may be redelivered are released.
    """

    process: Callable[[ShareBatch], object]
    on_error: FailureOption
    policy: DeliveryPolicy
    is_patient: bool
    pause: Pausing
    outage: Outage
    proof: Proof
    is_ending: Callable[[], bool] = lambda: False


class PollHandler:
    """Handles the records of one poll after another.

    Args:
        handling: The settings and state for handling records.
        settler: Accepts, releases and rejects.
        tally: The figures.
        clock: Time.
    """

    def __init__(self, handling: Handling, settler: Settler, tally: Tally, clock: Clock) -> None:
        self._how = handling
        self._settler = settler
        self._tally = tally
        self._clock = clock
        self._polls: list[ShareBatch] = []
        self._waiting: deque[ShareBatch] = deque()
        self._suspects: list[ShareBatch] = []
        self._has_given_up = False

    def handle(self, batch: ShareBatch) -> bool:
        """Process and acknowledge a poll and the records polled during it; False if records still failed at the end."""
        self._has_given_up = False
        try:
            self._take_on(batch)
            while self._waiting or self._suspects:
                self._go_on()
        except ProcessResultError as error:
            self._tally.note_error(error, failed=True)
            self._release_all()
        finally:
            for held in self._polls:
                held.end()
            self._polls.clear()
            self._waiting.clear()
            self._suspects.clear()
        return not self._has_given_up

    def _take_on(self, batch: ShareBatch) -> list[ShareBatch]:
        """Take the records of a poll, and return the portions in which they are processed."""
        self._polls.append(batch)
        often = batch.max_delivery_count
        self._tally.max_delivery_count = max(self._tally.max_delivery_count, often)
        self._settler.prepare(batch)
        portions = [batch]
        if often > 1:
            portions = [batch.part(rows) for rows in self._how.policy.portions(batch.delivery_counts.tolist())]
            wait_ms = self._how.policy.wait_ms(often)
            if wait_ms:
                self._how.pause(wait_ms, may_poll=False)
        self._waiting.extend(portions)
        return portions

    def _go_on(self) -> None:
        if self._suspects and (not self._waiting or len(self._suspects) >= _TELLING_FAILURES):
            self._wait_for_the_sink()
        else:
            self._try(self._waiting.popleft())

    def _try(self, portion: ShareBatch) -> None:
        if self._succeeds(portion):
            self._succeeded(portion)
        elif not self._splits(portion):
            self._suspects.append(portion)

    # --------------------------------------------------------------------------------- after a success

    def _succeeded(self, portion: ShareBatch) -> None:
        """Accept a portion. It shows that the sink works, so records that fail again are bad."""
        self._settler.accept(portion)
        self._how.proof.good = portion
        self._sink_works()

    def _sink_works(self) -> None:
        """Try the suspects once more, as something else has just succeeded: what fails again is bad."""
        self._how.outage.succeeded()
        suspects, self._suspects = self._suspects, []
        for suspect in suspects:
            if self._succeeds(suspect):
                self._settler.accept(suspect)
            elif self._may_split(suspect):
                self._split(suspect)
            else:
                self._is_bad(suspect)
        self._how.outage.succeeded()  # whatever failed is bad

    def _is_bad(self, portion: ShareBatch) -> None:
        self._settler.give_up(portion)
        self._tally.failed = self._tally.failed or self._how.on_error == "release"

    def _splits(self, portion: ShareBatch) -> bool:
        """Return whether a record of a failing portion succeeds alone; if so, halve the rest to find the bad ones."""
        if not self._may_split(portion):
            return False
        for row in dict.fromkeys((0, len(portion) // 2, len(portion) - 1)):
            single = portion.part([row])
            if self._succeeds(single):
                self._split(_without(portion, row))
                self._succeeded(single)
                return True
        return False

    def _may_split(self, portion: ShareBatch) -> bool:
        """Return whether to look for the bad records in a portion: always if it was delivered before."""
        return len(portion) > 1 and (self._how.on_error == "per_record" or portion.max_delivery_count > 1)

    def _split(self, portion: ShareBatch) -> None:
        half = (len(portion) + 1) // 2
        halves = (range(half), range(half, len(portion)))
        self._waiting.extendleft(portion.part(rows) for rows in reversed(halves) if len(rows))

    # --------------------------------------------------------------------------------- after failures

    def _wait_for_the_sink(self) -> None:
        now_ms, outage = self._clock.now_ms(), self._how.outage
        if self._succeeds_with_a_good_record():
            return
        if self._is_out_of_time(now_ms):
            self._give_up_all(now_ms)
            return
        if outage.failures >= _TRIES_BEFORE_SAMPLES and self._succeeds_with_a_sample():
            return
        outage.failed(now_ms)
        self._say()
        other = self._how.pause(self._wait_ms(now_ms), may_poll=self._may_poll(), held=self._held_rows)
        if other is None:
            self._waiting.extendleft(reversed(self._suspects))
            self._suspects = []
        else:  # which succeeds if it is the records, and not the sink
            first, *_ = self._take_on(other)
            self._waiting.remove(first)
            self._try(first)

    def _wait_ms(self, now_ms: int) -> int:
        until_ms = min([now_ms + self._how.outage.remaining_ms(now_ms), *self._fixed_deadlines_ms()])
        return max(1, until_ms - now_ms)

    @property
    def _held_rows(self) -> int:
        return sum(map(len, (*self._suspects, *self._waiting)))

    def _succeeds_with_a_sample(self) -> bool:
        """Return whether one record of a failing portion succeeds on its own, which shows that the sink works."""
        portion = next((suspect for suspect in self._suspects if len(suspect) > 1), None)
        if portion is None:
            return False
        row = self._how.outage.failures * _SAMPLE_STRIDE % len(portion)
        single = portion.part([row])
        if not self._succeeds(single):
            return False
        self._suspects[self._suspects.index(portion)] = _without(portion, row)
        self._succeeded(single)
        return True

    def _succeeds_with_a_good_record(self) -> bool:
        """Return whether a record that has succeeded before succeeds again, after some tries of those that fail.

        It may then be in the sink twice. Without it, a bad record that is left over would be held until others come.
        """
        is_tried = not self._how.is_patient or self._how.outage.failures >= _TRIES_BEFORE_PROOF
        good = self._how.proof.good
        if good is None or not is_tried or not self._succeeds(good.again(1)):
            return False
        self._sink_works()
        return True

    def _may_poll(self) -> bool:
        """Return whether to poll other records to see if they fail too. Only a few are held while the sink is down."""
        held = sum(map(len, self._polls))
        return len(self._polls) < 2 or (held < _FEW_ROWS and len(self._polls) < _MOST_POLLS_HELD)

    def _is_out_of_time(self, now_ms: int) -> bool:
        """Return whether to stop retrying: a lock that cannot be renewed has expired, or records need not be held."""
        if any(deadline_ms <= now_ms for deadline_ms in self._fixed_deadlines_ms()):
            return True
        portions = (*self._suspects, *self._waiting)
        is_to_end = not self._how.is_patient or self._how.is_ending()
        return is_to_end and any(self._may_come_again(portion) for portion in portions)

    def _fixed_deadlines_ms(self) -> list[int]:
        return [d.lock_deadline_ms for poll in self._polls for d in deliveries_of(poll.records) if not d.renewable]

    def _may_come_again(self, portion: ShareBatch) -> bool:
        return self._how.outage.may_spend(portion.max_delivery_count, self._how.policy.limit)

    def _say(self) -> None:
        failures = self._how.outage.failures
        if failures & (failures - 1) == 0:  # less and less often
            _LOG.warning(
                "process raised; %d records are held and tried again every %.1f s at most until something succeeds: %s",
                self._held_rows,
                self._how.outage.waits.longest_ms / 1000,
                self._tally.last_error,
            )

    def _give_up_all(self, now_ms: int) -> None:
        """Release what may be redelivered. Records on their last delivery stay in hand for as long as they can."""
        self._has_given_up = True
        self._tally.failed = self._tally.failed or self._how.on_error != "per_record"
        are_lost = any(deadline_ms <= now_ms for deadline_ms in self._fixed_deadlines_ms())
        portions = (*self._suspects, *self._waiting)
        self._suspects = []
        self._waiting.clear()
        for portion in portions:
            if are_lost or self._may_come_again(portion):
                self._settler.give_up(portion, is_bad=False)
            else:
                self._suspects.append(portion)

    def _release_all(self) -> None:
        self._has_given_up = True
        for poll in self._polls:
            self._settler.release(poll)

    # ----------------------------------------------------------------------------------- the function

    def _succeeds(self, portion: ShareBatch) -> bool:
        started_ms = self._clock.now_ms()
        try:
            check_result(self._how.process(portion))
        except ProcessResultError:
            raise
        except Exception as error:  # whatever it is, the result tells of it
            portion.reopen()
            self._tally.note_error(error, failed=False)
            self._how.outage.suspect(self._clock.now_ms())
            return False
        finally:
            self._tally.process_ms += self._clock.now_ms() - started_ms
        return True


def _without(portion: ShareBatch, row: int) -> ShareBatch:
    return portion.part([other for other in range(len(portion)) if other != row])
