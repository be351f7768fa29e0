"""The rule for outages of the sink, which workers, source and drain follow; without I/O.

A failure does not show whether the records are bad or the sink is down. A success of other records does. Until
something has succeeded nothing is decided: no record is rejected, and none loses its last delivery, however long it
takes. Tries that keep the records in hand cost nothing. Tries that cost a delivery have longer waits and few records.
"""

import random
from typing import Self

from attrs import define, frozen

__all__ = ["DEFAULT_BACKOFF_MS", "HELD_BACKOFF_MS", "LONGEST_BACKOFF_MS", "Outage", "Waits", "may_spend"]

HELD_BACKOFF_MS = 5_000
"""The longest wait of workers by default: their tries cost no delivery."""
DEFAULT_BACKOFF_MS = 300_000
"""The longest wait of source and drain by default: their tries cost deliveries."""

LONGEST_BACKOFF_MS = 3_600_000
"""The largest value of `backoff_seconds`."""

_JITTER = 0.2
_FIRST_HELD_MS = 200
_FIRST_COSTLY_MS = 800
_MOST_DOUBLINGS = 20


@frozen
class Waits:
    """Waiting times between two tries.

    Attributes:
        first_ms: The wait after the first failure.
        factor: The factor by which each further wait is longer.
        longest_ms: The longest wait (`backoff_seconds`).
        jitter: The waits differ at random by up to this share, so that workers do not all try at once.
    """

    first_ms: int
    factor: int
    longest_ms: int
    jitter: float = 0.0

    @classmethod
    def of_tries_in_hand(cls, longest_ms: int) -> Self:
        """Waits between tries that cost no delivery, because the records stay acquired."""
        # Nothing is spent by a try, so the first ones come soon. Many processes may wait for the same sink, hence the
        # jitter.
        return cls(_FIRST_HELD_MS, 2, longest_ms, _JITTER)

    @classmethod
    def of_deliveries(cls, longest_ms: int) -> Self:
        """Waits between tries that cost a delivery each."""
        # Each try spends one of five deliveries, so the waits grow fast and there are few tries in a short outage.
        # There is one consumer that tries, so no jitter is needed.
        return cls(_FIRST_COSTLY_MS, 6, longest_ms)

    def after(self, failures: int, rng: random.Random) -> int:
        """Return the wait after failures in a row, in ms."""
        if failures == 0:
            return 0
        growth: int = self.factor ** min(failures - 1, _MOST_DOUBLINGS)
        wait_ms = min(self.longest_ms, self.first_ms * growth)
        return round(wait_ms * rng.uniform(1 - self.jitter, 1 + self.jitter))


@define
class Outage:
    """State of the sink: whether anything has succeeded since records began to fail, and when to try again.

    Attributes:
        waits: The waiting times between two tries.
        rng: For the jitter of the waits.
        failing_since_ms: Time of the first failure since the last success; None while the sink works.
        failures: Failures since then.
        next_try_ms: Time of the next try.
        has_succeeded: True once anything has succeeded.
    """

    waits: Waits
    rng: random.Random
    failing_since_ms: int | None = None
    failures: int = 0
    next_try_ms: int = 0
    has_succeeded: bool = False

    def suspect(self, now_ms: int) -> None:
        """Note that something failed, so that the sink may be down."""
        if self.failing_since_ms is None:
            self.failing_since_ms = now_ms

    def failed(self, now_ms: int) -> None:
        """Note a failed try, after which the next one has to wait."""
        self.suspect(now_ms)
        self.failures += 1
        self.next_try_ms = now_ms + self.waits.after(self.failures, self.rng)

    def succeeded(self) -> None:
        """Note that the sink works."""
        self.failing_since_ms = None
        self.failures = self.next_try_ms = 0
        self.has_succeeded = True

    def go_on(self) -> None:
        """End the wait, because an operator reports that the sink works again. Only a success proves it."""
        self.next_try_ms = 0

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long to wait until the next try; 0 if it may be made now."""
        return max(0, self.next_try_ms - now_ms)

    @property
    def is_suspected(self) -> bool:
        """True if the sink may be down: something failed, and nothing has succeeded since."""
        return self.failing_since_ms is not None

    @property
    def is_unproven(self) -> bool:
        """True if nothing shows that the sink works, so that as few records as possible are acquired."""
        # A process that has just started knows nothing about the sink. The one before it may have ended because of an
        # outage.
        return self.is_suspected or not self.has_succeeded

    def may_spend(self, delivery_count: int, delivery_limit: int) -> bool:
        """Return whether records may lose the delivery that they are on.

        Args:
            delivery_count: Their highest delivery count.
            delivery_limit: Deliveries after which the broker archives a record.
        """
        return may_spend(delivery_count, delivery_limit, others_succeed=not self.is_suspected)


def may_spend(delivery_count: int, delivery_limit: int, *, others_succeed: bool) -> bool:
    """Return whether records may lose the delivery that they are on: the last one only if others succeed.

    Args:
        delivery_count: Their highest delivery count.
        delivery_limit: Deliveries after which the broker archives a record.
        others_succeed: Whether something has succeeded since these records first failed.
    """
    # The broker archives a record whose last delivery ends without success (KIP-932, "In-flight records"). This must
    # not happen to good records only because the sink is down, so the last delivery is spent only after others have
    # succeeded.
    return others_succeed or delivery_count < delivery_limit
