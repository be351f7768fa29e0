"""How long a static member waits for the session of its former life."""

from kafka_groups.client.backoff import Backoff
from kafka_groups.client.group_configs import GroupConfigsManager

__all__ = ["SESSION_TIMEOUT", "FormerLife"]

SESSION_TIMEOUT = "streams.session.timeout.ms"

_KAFKAS_DEFAULT_MS = 45_000


class FormerLife:
    """The waits of a static member whose instance id another member has.

    The other one may be this process before it crashed: its session ends by itself. The member joins again and again,
    with growing waits, for the last time when a session timeout has passed since the first attempt.

    Args:
        backoff: Has the waits.
        configs: Asks for the session timeout of the group. Until that is known it is Kafka's default.
    """

    def __init__(self, backoff: Backoff, configs: GroupConfigsManager) -> None:
        self._backoff = backoff
        self._configs = configs
        self._since_ms: int | None = None

    def __repr__(self) -> str:
        return f"<FormerLife refused since {self._since_ms}>"

    def refused(self, now_ms: int) -> int | None:
        """Note that the other one is still there. Return how long to wait, or None if that is hopeless."""
        self._configs.wanted = True
        if self._since_ms is None:
            self._since_ms = now_ms
        left_ms = self._since_ms + self._configs.values.get(SESSION_TIMEOUT, _KAFKAS_DEFAULT_MS) - now_ms
        if left_ms <= 0:
            return None
        self._backoff.failed(now_ms)
        return min(left_ms, self._backoff.remaining_ms(now_ms))

    def over(self) -> None:
        """Note that the coordinator accepted the member."""
        self._backoff.succeeded()
        self._since_ms = None
