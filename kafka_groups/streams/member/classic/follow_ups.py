"""The reasons for which a member of a classic group joins again, and when."""

from collections.abc import Callable
from typing import Final

from kafka_groups.client.requests import NEVER_MS
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.streams.member.classic.assignment import ClassicAssignment
from kafka_groups.streams.member.classic.classic_settings import ClassicSettings
from kafka_groups.streams.member.classic.round_log import RoundLog

__all__ = ["FollowUps"]

_MOST_AT_ONCE: Final = 3
"""The rounds in a row that a member asks for without a pause because its endpoint is missing."""

_FAR_MS: Final = 3_600_000
"""The time by which the next round may be later than the own probing interval."""


class FollowUps:
    """The next round that a member asks for.

    Args:
        settings: The member's configuration.
        wall_ms: Returns milliseconds since the epoch.
        log: Receives warnings.
    """

    def __init__(self, settings: ClassicSettings, wall_ms: Callable[[], int], log: RoundLog) -> None:
        self._settings = settings
        self._wall_ms = wall_ms
        self._log = log
        self._reason: str | None = None
        self._at_ms = NEVER_MS
        self._without_endpoint = 0

    def __repr__(self) -> str:
        return f"<FollowUps: {self._reason or 'none'}>"

    def want(self, reason: str, at_ms: int = 0) -> None:
        """Ask for a round at a time, or at once. The earliest one counts."""
        if at_ms < self._at_ms:
            self._reason, self._at_ms = reason, at_ms

    def assigned(self, heard: ClassicAssignment, endpoint: UserEndpoint | None, now_ms: int) -> None:
        """Ask for the rounds that an assignment needs after it.

        Args:
            heard: The assignment.
            endpoint: The member's own `application.server`.
            now_ms: The time.
        """
        if heard.info.next_rebalance_ms is not None:
            self._want_next(heard.info.next_rebalance_ms, now_ms)
        # A leader in Java names the endpoints that it knew when the round began.
        if endpoint is None or not heard.endpoints or endpoint in heard.endpoints:
            self._without_endpoint = 0
        else:
            self._want_endpoint(now_ms)

    def _want_next(self, next_ms: int, now_ms: int) -> None:
        # Milliseconds since the epoch by the leader's clock, and 0 for at once. The wait is one of the monotonic clock,
        # which nobody sets.
        ahead_ms = max(0, next_ms - self._wall_ms())
        if ahead_ms > self._settings.probing_interval_ms + _FAR_MS:
            self._log.far_ahead(ahead_ms)
        self.want("the leader asks for another round", now_ms + ahead_ms if next_ms else 0)

    def _want_endpoint(self, now_ms: int) -> None:
        # A leader that never takes the endpoint would be asked without end: a member of Kafka Streams makes 28
        # generations in 7 seconds.
        self._without_endpoint += 1
        at_ms = 0
        if self._without_endpoint > _MOST_AT_ONCE:
            at_ms = now_ms + self._settings.pause_ms
            self._log.no_endpoint(self._settings.pause_ms)
        self.want("the group does not know its application.server", at_ms)

    def begin(self) -> str:
        """Return the reason of the round that begins now, or "" if it is repeated, and forget all reasons for it."""
        reason, self._reason, self._at_ms = self._reason, None, NEVER_MS
        return reason or ""

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long until the next round; 0 if it is due."""
        return NEVER_MS if self._reason is None else max(0, self._at_ms - now_ms)
