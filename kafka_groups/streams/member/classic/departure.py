"""LeaveGroup of a member of a classic group, which is repeated until the coordinator has answered."""

from typing import Final

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.requests import NEVER_MS, OutgoingRequest
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.streams.member.classic.round_requests import ClassicIdentity

__all__ = ["ClassicDeparture"]

_REPEATED: Final = frozenset({
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
})  # fmt: skip
"""Errors after which the coordinator may still have the member. After any other one it has not."""


class ClassicDeparture:
    """A LeaveGroup that is due, or in flight.

    Args:
        backoff: Delays it after failures.

    Attributes:
        who: The member that leaves, or None.
        reason: Why it leaves, for the log of the coordinator.
        in_flight: The request that is waiting for its response.
    """

    def __init__(self, backoff: BackoffTimer) -> None:
        self._backoff = backoff
        self.who: ClassicIdentity | None = None
        self.reason = ""
        self.in_flight: OutgoingRequest | None = None

    def begin(self, who: ClassicIdentity, reason: str) -> None:
        """Leave as this member, unless a departure has begun."""
        if self.who is None:
            self.who, self.reason = who, reason

    def end(self) -> None:
        """Send nothing more, and ignore the response."""
        self.who = self.in_flight = None
        self._backoff.succeeded()

    def failed(self, now_ms: int) -> None:
        """Note that the request has to be repeated."""
        self.in_flight = None
        self._backoff.failed(now_ms)

    def is_answered_by(self, code: ErrorCode) -> bool:
        """Return whether the coordinator has no such member after this answer."""
        return code not in _REPEATED

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long until the request is due; never while one is in flight."""
        if self.who is None or self.in_flight is not None:
            return NEVER_MS
        return self._backoff.remaining_ms(now_ms)
