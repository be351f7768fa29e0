"""The breaker of a handler: after failures of different records in a row it tries one record at a time."""

import random
from typing import Self

from attrs import define, field

from kafka_groups.share.workers.rules.failures.outages import Outage, Waits
from kafka_groups.types import RecordId

__all__ = ["Breaker"]

# Two failures may be two bad records by chance. More than three would use up more retries before an outage is noticed.
OPENS_AT = 3
"""Failures in a row, of different records, after which the sink is considered down."""


# Probes keep their records acquired and cost no delivery, so they may be frequent. This is the most that a handler
# loses after its sink is back.
_LONGEST_PROBE_WAIT_MS = 30_000


@define
class Breaker:
    """The state of the sink as a handler's failures show it, and the time of the next probe.

    Attributes:
        outage: The waits between probes.
        successes: The number of runs with a success, as a clock of what happened between two failures.
        is_open: True after three failures in a row of different records, until a success.
        succeeded_ms: The time of the last success; None before.
    """

    outage: Outage
    is_open: bool = False
    successes: int = 0
    succeeded_ms: int | None = None
    _failed: set[RecordId] = field(factory=set)

    @classmethod
    def of_handler(cls, rng: random.Random) -> Self:
        """Return the breaker of a handler, with waits between probes of at most 30 seconds."""
        return cls(Outage(Waits.of_tries_in_hand(_LONGEST_PROBE_WAIT_MS), rng))

    def succeeded(self, now_ms: int) -> bool:
        """Note a success. Returns whether that closed the breaker."""
        was_open, self.is_open = self.is_open, False
        self.successes += 1
        self.succeeded_ms = now_ms
        if self._failed:
            self._failed.clear()
            self.outage.succeeded()
        return was_open

    def failed(self, place: RecordId, now_ms: int, *, is_probe: bool) -> bool:
        """Note the failure of a record. Returns whether that opened the breaker."""
        # A set of places: a bad record that fails three times says nothing about the sink.
        self._failed.add(place)
        if not self.is_open:
            self.outage.suspect(now_ms)
            self.is_open = len(self._failed) >= OPENS_AT
            if self.is_open:
                self.outage.failed(now_ms)
            return self.is_open
        # Attempts that had begun before the breaker opened may still fail. They are no tries of their own, and do not
        # lengthen the wait until the next probe.
        if is_probe:
            self.outage.failed(now_ms)
        return False

    def proved_nothing(self, now_ms: int) -> None:
        """Note a probe that says nothing about the sink: the handler decided about its record. The next one waits."""
        if self.is_open:
            self.outage.failed(now_ms)

    def successes_before(self, at_ms: int) -> int:
        """Return a number of successes that is less than those so far if one was later than a time."""
        return self.successes - int(self.succeeded_ms is not None and self.succeeded_ms > at_ms)

    def may_probe(self, now_ms: int) -> bool:
        """Return whether it is time for the next probe."""
        return self.outage.remaining_ms(now_ms) == 0

    @property
    def next_probe_ms(self) -> int:
        """The time of the next probe."""
        return self.outage.next_try_ms
