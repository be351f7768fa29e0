"""Heartbeats of a member whose JoinGroup is not answered: they tell whether the group has gone on without it."""

from kafka_groups.client.requests import NEVER_MS

__all__ = ["JoinInquiry"]


class JoinInquiry:
    """The questions of a member that has waited for the answer to JoinGroup for longer than its session.

    The coordinator answers JoinGroup when all members have joined, and until then REBALANCE_IN_PROGRESS to heartbeats.
    If the answer was lost, the group goes on without the member: its session ends, and its generation is an old one.
    Heartbeats tell that at once. Without them, it would wait for `max.poll.interval.ms`.

    Args:
        session_ms: How long it waits before it asks (`session.timeout.ms`).
        grace_ms: How long it waits for an answer that may still be on its way (`heartbeat.interval.ms`).
    """

    def __init__(self, session_ms: int, grace_ms: int) -> None:
        self._session_ms = session_ms
        self._grace_ms = grace_ms
        self._since_ms: int | None = None
        self._gone_ms: int | None = None

    def __repr__(self) -> str:
        return f"<JoinInquiry since {self._since_ms}, gone since {self._gone_ms}>"

    def sent(self, now_ms: int) -> None:
        """Note that JoinGroup was sent."""
        self._since_ms, self._gone_ms = now_ms, None

    def over(self) -> None:
        """Note that it was answered, or that its answer means nothing any more."""
        self._since_ms = self._gone_ms = None

    def begins_in_ms(self, now_ms: int) -> int:
        """Return how long until the member asks, 0 if it does; never while no JoinGroup waits."""
        return NEVER_MS if self._since_ms is None else max(0, self._since_ms + self._session_ms - now_ms)

    def heard(self, now_ms: int, *, waits: bool) -> None:
        """Note the answer to a heartbeat.

        Args:
            now_ms: The time.
            waits: Whether the group still waits for members, as far as the answer tells that.
        """
        if waits:
            self._gone_ms = None
        elif self._gone_ms is None:
            self._gone_ms = now_ms

    def remaining_ms(self, now_ms: int) -> int:
        """Return how long until the member gives JoinGroup up; 0 if it does; never while the group waits for others."""
        return NEVER_MS if self._gone_ms is None else max(0, self._gone_ms + self._grace_ms - now_ms)
