"""The wait of a restarted static member until its old session has expired."""

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.group_configs import GroupConfigsManager

__all__ = ["SESSION_TIMEOUT", "OldSession"]

SESSION_TIMEOUT = "streams.session.timeout.ms"

# group.streams.session.timeout.ms, which brokers restrict to 45 to 60 seconds by default.
_KAFKAS_DEFAULT_MS = 45_000


class OldSession:
    """The waits of a static member while another member has its instance id.

    The other member may be this process before it crashed, whose session will expire. The member retries with
    increasing back-off, for the last time when a session timeout has passed since the first attempt.

    Args:
        backoff: Computes the waits.
        configs: Looks up the session timeout of the group. Until it is known, Kafka's default is used.
    """

    def __init__(self, backoff: BackoffTimer, configs: GroupConfigsManager) -> None:
        self._backoff = backoff
        self._configs = configs
        self._since_ms: int | None = None

    def __repr__(self) -> str:
        return f"<OldSession refused since {self._since_ms}>"

    def refused(self, now_ms: int) -> int | None:
        """Note that the other member is still in the group. Return how long to wait, or None to give up."""
        # The group may have another session timeout. It is looked up only when somebody waits for it.
        self._configs.wanted = True
        if self._since_ms is None:
            self._since_ms = now_ms
        # The old session ends at most one session timeout after the last heartbeat of the old process, and that was
        # before the first refusal. So whoever is still refused then is refused because of a living process, and waiting
        # is no use.
        left_ms = self._since_ms + self._configs.values.get(SESSION_TIMEOUT, _KAFKAS_DEFAULT_MS) - now_ms
        if left_ms <= 0:
            return None
        # The last attempt comes when the timeout is over, even if the back-off is longer.
        self._backoff.failed(now_ms)
        return min(left_ms, self._backoff.remaining_ms(now_ms))

    def over(self) -> None:
        """Note that the coordinator accepted the member."""
        self._backoff.succeeded()
        self._since_ms = None
