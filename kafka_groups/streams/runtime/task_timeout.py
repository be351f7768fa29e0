"""The time for which brokers may fail to answer before a worker ends."""

import logging

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import Clock

__all__ = ["TaskTimeout"]

_log = logging.getLogger(__name__)

_RETRY_MS = 200


class TaskTimeout:
    """Errors of one kind of request that may succeed when it is repeated, from the first one to the next success.

    Args:
        clock: Tells the time.
        timeout_ms: How long an outage may last (`task.timeout.ms`). If there is no error for so long, it has ended.
    """

    def __init__(self, clock: Clock, timeout_ms: int) -> None:
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._since_ms: int | None = None
        self._last_ms = 0

    def __repr__(self) -> str:
        return f"<TaskTimeout: errors since {self._since_ms}>"

    @property
    def may_try(self) -> bool:
        """False for a short time after an error."""
        return self._since_ms is None or self._clock.now_ms() - self._last_ms >= _RETRY_MS

    def note(self, what: str, error: KafkaGroupsError) -> None:
        """Log an error.

        Raises:
            KafkaGroupsError: It, if repeating does not help, or the outage has lasted too long.
        """
        now_ms = self._clock.now_ms()
        if self._since_ms is None or now_ms - self._last_ms > self._timeout_ms:
            self._since_ms = now_ms
        self._last_ms = now_ms
        if not error.retriable or now_ms - self._since_ms >= self._timeout_ms:
            raise error
        _log.warning("%s: %s", what, error)

    def end(self) -> None:
        """Note that a request has succeeded."""
        self._since_ms = None
