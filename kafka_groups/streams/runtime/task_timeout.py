"""The time for which brokers may fail to answer before a worker ends."""

import logging

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import Clock

__all__ = ["TaskTimeout"]

_log = logging.getLogger(__name__)

_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 200, 5_000
"""The time between two attempts. It grows, because an attempt may block the worker for a second."""

_LONGEST_ATTEMPT_MS = 10_000
"""The time for which an attempt may block the worker before it is an error."""

_FIRST_SILENCE_MS, _LONGEST_SILENCE_MS = 1_000, 60_000
"""The time between two warnings about one outage, which grows, too."""


class TaskTimeout:
    """Errors of one kind of request that may succeed when it is repeated, from the first one to the next success.

    Args:
        clock: Tells the time.
        timeout_ms: How long an outage may last (`task.timeout.ms`). If there is no error for so long, and for
            longer than an attempt may take, it has ended.
        quiet_ms: How long an outage lasts before it is logged.
    """

    def __init__(self, clock: Clock, timeout_ms: int, quiet_ms: int = 0) -> None:
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._quiet_ms = quiet_ms
        self._since_ms: int | None = None
        self._last_ms = self._logged_ms = 0
        self._pause_ms = self._silence_ms = 0
        self._last = ""

    def __repr__(self) -> str:
        return f"<TaskTimeout: errors since {self._since_ms}>"

    @property
    def is_outage(self) -> bool:
        """True if there was an error and no success yet."""
        return self._since_ms is not None

    @property
    def obstacle(self) -> str | None:
        """The request that fails, with the last error; None if there is no outage."""
        return self._last if self.is_outage else None

    @property
    def may_try(self) -> bool:
        """False for a short time after an error."""
        return not self.is_outage or self._clock.now_ms() - self._last_ms >= self._pause_ms

    @property
    def is_question_due(self) -> bool:
        """True if there was an error and no success yet, and it is time to ask whether the brokers answer again."""
        return self.is_outage and self.may_try

    def note(self, what: str, error: KafkaGroupsError) -> None:
        """Log an error, at growing intervals while an outage lasts.

        Raises:
            KafkaGroupsError: It, if repeating does not help, or the outage has lasted too long.
        """
        now_ms = self._clock.now_ms()
        since_ms = self._continued(now_ms)
        # As in AbstractTask.maybeInitTaskTimeoutOrThrow of Kafka Streams, an error counts from the first one of the
        # outage. One that is not retriable ends the worker at once.
        if not error.retriable:
            raise error
        self._last = f"{what[:1].lower()}{what[1:]}: {error}"
        if now_ms - since_ms >= self._timeout_ms:
            passed_s = (now_ms - since_ms) // 1_000
            _log.error("%s: %s (for %d s, and task.timeout.ms is %d)", what, error, passed_s, self._timeout_ms)
            raise error
        if now_ms - since_ms >= self._quiet_ms and now_ms - self._logged_ms >= self._silence_ms:
            self._logged_ms = now_ms
            self._silence_ms = min(max(2 * self._silence_ms, _FIRST_SILENCE_MS), _LONGEST_SILENCE_MS)
            passed_s = (now_ms - since_ms) // 1_000
            _log.warning("%s: %s%s", what, error, f" (for {passed_s} s now)" if passed_s else "")

    def end(self) -> None:
        """Note that a request has succeeded."""
        self._since_ms = None

    def _continued(self, now_ms: int) -> int:
        """Note the time of an error. Return that of the first one of the outage."""
        since_ms = self._since_ms
        # A long time without an error is a success that nobody noted: there was nothing to ask.
        quiet_ms = max(self._timeout_ms, _LONGEST_ATTEMPT_MS) + self._pause_ms
        if since_ms is None or now_ms - self._last_ms > quiet_ms:
            since_ms = self._since_ms = now_ms
            self._pause_ms, self._silence_ms = _FIRST_PAUSE_MS, 0
        else:
            self._pause_ms = min(2 * self._pause_ms, _LONGEST_PAUSE_MS)
        self._last_ms = now_ms
        return since_ms
