"""Logging of a client: four loggers, and warnings that are repeated at growing intervals.

The names of the loggers are documented, because programs set levels and handlers by name.
"""

import logging

from attrs import define

from kafka_groups.client.events import Area, Event
from kafka_groups.net.clock import Clock

__all__ = ["GROUP_LOG", "NETWORK_LOG", "RECORDS_LOG", "REQUESTS_LOG", "Logbook"]

NETWORK_LOG = logging.getLogger("kafka_groups.network")
"""Brokers that become unreachable or reachable again."""
GROUP_LOG = logging.getLogger("kafka_groups.group")
"""Events of the member (joined, assigned, left, closed), and topics that do not exist."""
RECORDS_LOG = logging.getLogger("kafka_groups.records")
"""Records that lost their lock or cannot be decoded."""
REQUESTS_LOG = logging.getLogger("kafka_groups.requests")
"""Every request and its response."""

_AREA_LOGS = {Area.GROUP: GROUP_LOG, Area.RECORDS: RECORDS_LOG}
_FIRST_INTERVAL_MS = 1_000
_LAST_INTERVAL_MS = 300_000


@define
class _Subject:
    next_ms: int
    interval_ms: int
    left_out: int = 0


class Logbook:
    """Logs a warning immediately, and its repeats at growing intervals: 1 s, 2 s, 4 s … 5 minutes.

    Args:
        clock: The clock.

    Attributes:
        level: The level of warnings.
    """

    def __init__(self, clock: Clock) -> None:
        self.level = logging.WARNING
        self._clock = clock
        self._subjects: dict[str, _Subject] = {}

    def warn(self, log: logging.Logger, subject: str, message: str, *args: object) -> None:
        """Log a warning, unless one with the same subject was logged recently.

        Args:
            log: The logger.
            subject: Identifies repeats of the warning.
            message: The text, with `%s` for the arguments.
            *args: The arguments.
        """
        now_ms = self._clock.now_ms()
        known = self._subjects.get(subject)
        if known is None or now_ms - known.next_ms > _LAST_INTERVAL_MS:
            self._subjects[subject] = _Subject(now_ms + _FIRST_INTERVAL_MS, _FIRST_INTERVAL_MS)
            log.log(self.level, message, *args)
        elif now_ms < known.next_ms:
            known.left_out += 1
        else:
            repeats = f"{message} (%d more since the last warning)" if known.left_out else message
            log.log(self.level, repeats, *args, *((known.left_out,) if known.left_out else ()))
            known.interval_ms = min(2 * known.interval_ms, _LAST_INTERVAL_MS)
            known.next_ms, known.left_out = now_ms + known.interval_ms, 0

    def write(self, event: Event) -> None:
        """Log an event."""
        log = _AREA_LOGS[event.area]
        if event.subject is None:
            log.info("%s", event.text)
        else:
            self.warn(log, event.subject, "%s", event.text)

    def settled(self, subject: str) -> bool:
        """Forget a subject whose problem is solved, and return whether a warning about it was logged."""
        return self._subjects.pop(subject, None) is not None
