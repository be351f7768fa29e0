"""What a worker does with the records of a poll: process them, hold what fails, and try again.

A failure does not show whether the records are bad or the sink is down. The next success does: if other records
succeed, the sink works, and records that fail again are bad. Until then the worker holds the records, renews their
locks and calls `process` again, less and less often. Releasing them would cost each a delivery at every try.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

from attrs import frozen

from kafka_groups.client.backoff import Backoff
from kafka_groups.net.clock import Clock
from kafka_groups.share.delivery.batch import deliveries_of
from kafka_groups.spark.acknowledging import Tally
from kafka_groups.spark.batch import ShareBatch
from kafka_groups.spark.policy import DeliveryPolicy, OnError
from kafka_groups.spark.returned import ProcessResultError, check_result
from kafka_groups.spark.settling import Settler

__all__ = ["Handling", "Pausing", "PollHandler"]

_LOG = logging.getLogger(__name__)
_TELLING_FAILURES = 3
"""After this many failures in a row, the sink is considered down."""
_FEW_ROWS = 64
_MOST_POLLS_HELD = 20
_TRIES_BEFORE_SAMPLES = 3
_SAMPLE_STRIDE = 7_919
_TRIES_OF_A_LAST_RECORD = 5
_SHARE_OF_A_LONE_RECORD = 5
"""A redelivered record that arrives alone is held for a fifth of the time, because it is probably bad."""


class Pausing(Protocol):
    """Waits between two tries."""

    def __call__(self, wait_ms: int, *, may_poll: bool) -> ShareBatch | None:
        """Wait; with `may_poll`, return other records as soon as some come."""
        ...


@frozen(kw_only=True)
class Handling:
    """How records are handled.

    Attributes:
        process: The user's function.
        on_error: What happens to records that still fail after the retries.
        policy: The rules for delivery counts.
        retry_ms: How long failing records are held and retried.
        pause: Waits between two tries.
        backoff: How long to wait.
    """

    process: Callable[[ShareBatch], object]
    on_error: OnError
    policy: DeliveryPolicy
    retry_ms: int
    pause: Pausing
    backoff: Backoff


class PollHandler:
    """Handles the records of one poll after another.

    Args:
        handling: How records are handled.
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
        self._failing_since_ms: int | None = None
        self._has_succeeded = False
        self._has_given_up = False

    def handle(self, batch: ShareBatch) -> bool:
        """Process and acknowledge a poll and the records polled during it; False if records still failed at the end."""
        self._has_given_up = self._has_succeeded = False
        self._failing_since_ms = None
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
        self._has_succeeded = True
        self._failing_since_ms = None
        self._how.backoff.succeeded()
        suspects, self._suspects = self._suspects, []
        for suspect in suspects:
            if self._succeeds(suspect):
                self._settler.accept(suspect)
                self._failing_since_ms = None
            elif self._may_split(suspect):
                self._split(suspect)
            else:
                self._is_bad(suspect)

    def _is_bad(self, portion: ShareBatch) -> None:
        self._settler.give_up(portion)
        self._failing_since_ms = None
        self._tally.failed = self._tally.failed or self._how.on_error == "release"

    def _splits(self, portion: ShareBatch) -> bool:
        """Whether one record of a failing portion succeeds on its own; then the rest is halved to find the bad ones."""
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
        """Whether to look for the bad records in a portion: always if it was delivered before."""
        return len(portion) > 1 and (self._how.on_error == "per_record" or portion.max_delivery_count > 1)

    def _split(self, portion: ShareBatch) -> None:
        half = (len(portion) + 1) // 2
        halves = (range(half), range(half, len(portion)))
        self._waiting.extendleft(portion.part(rows) for rows in reversed(halves) if len(rows))

    # --------------------------------------------------------------------------------- after failures

    def _wait_for_the_sink(self) -> None:
        now_ms = self._clock.now_ms()
        left_ms = self._deadline_ms(now_ms) - now_ms
        if self._is_probably_bad():
            for suspect in self._suspects:
                self._is_bad(suspect)
            self._suspects = []
            return
        if left_ms <= 0:
            self._give_up_all()
            return
        if self._how.backoff.failures >= _TRIES_BEFORE_SAMPLES and self._succeeds_with_a_sample():
            return
        self._how.backoff.failed(now_ms)
        self._say(left_ms)
        wait_ms = max(1, min(left_ms, self._how.backoff.remaining_ms(now_ms)))
        other = self._how.pause(wait_ms, may_poll=self._may_poll())
        if other is None:
            self._waiting.extendleft(reversed(self._suspects))
            self._suspects = []
        else:  # which succeeds if it is the records, and not the sink
            first, *_ = self._take_on(other)
            self._waiting.remove(first)
            self._try(first)

    def _succeeds_with_a_sample(self) -> bool:
        """Whether one record of a failing portion succeeds on its own, which shows that the sink works."""
        portion = next((suspect for suspect in self._suspects if len(suspect) > 1), None)
        if portion is None:
            return False
        row = self._how.backoff.failures * _SAMPLE_STRIDE % len(portion)
        single = portion.part([row])
        if not self._succeeds(single):
            return False
        self._suspects[self._suspects.index(portion)] = _without(portion, row)
        self._succeeded(single)
        return True

    def _is_probably_bad(self) -> bool:
        """Whether only single records are left, after some tries, of a poll in which others succeeded.

        The sink may also have failed at that moment. Then each of them loses a delivery, but not its last one.
        """
        is_all = not self._waiting and all(len(suspect) == 1 for suspect in self._suspects)
        if not is_all or not self._has_succeeded or self._how.retry_ms == 0:
            return is_all and self._has_succeeded
        often = max(suspect.max_delivery_count for suspect in self._suspects)
        return self._how.backoff.failures >= _TRIES_OF_A_LAST_RECORD and often < self._how.policy.limit

    def _may_poll(self) -> bool:
        """Whether to poll other records to see whether they fail too; only a few are held while the sink is down."""
        held = sum(map(len, self._polls))
        return len(self._polls) < 2 or (held < _FEW_ROWS and len(self._polls) < _MOST_POLLS_HELD)

    def _deadline_ms(self, now_ms: int) -> int:
        """When to stop trying: after the configured time, or before locks expire that cannot be renewed."""
        since_ms = now_ms if self._failing_since_ms is None else self._failing_since_ms
        is_lone = sum(map(len, self._polls)) == 1 and self._polls[0].max_delivery_count > 1
        retry_ms = self._how.retry_ms // (_SHARE_OF_A_LONE_RECORD if is_lone else 1)
        fixed = [d.lock_deadline_ms for poll in self._polls for d in deliveries_of(poll.records) if not d.renewable]
        return min([since_ms + retry_ms, *fixed])

    def _say(self, left_ms: int) -> None:
        failures = self._how.backoff.failures
        if failures & (failures - 1) == 0:  # less and less often
            _LOG.warning(
                "process raised; %d records are held and tried again, for %d s at most: %s",
                sum(map(len, (*self._suspects, *self._waiting))),
                left_ms // 1000,
                self._tally.last_error,
            )

    def _give_up_all(self) -> None:
        self._has_given_up = True
        self._tally.failed = self._tally.failed or self._how.on_error == "release"
        while self._suspects or self._waiting:
            portion = self._suspects.pop(0) if self._suspects else self._waiting.popleft()
            self._settler.give_up(portion)

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
            if self._failing_since_ms is None:
                self._failing_since_ms = self._clock.now_ms()
            return False
        finally:
            self._tally.process_ms += self._clock.now_ms() - started_ms
        return True


def _without(portion: ShareBatch, row: int) -> ShareBatch:
    return portion.part([other for other in range(len(portion)) if other != row])
