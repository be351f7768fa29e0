"""What a client writes to the log: four loggers, and warnings that repeat less and less often.

The names are documented, as programs set levels and handlers by them.
"""

import logging

from attrs import define

from kafka_groups.client.events import Area, Event
from kafka_groups.net.clock import Clock

__all__ = ["GROUP_LOG", "NETWORK_LOG", "RECORDS_LOG", "REQUESTS_LOG", "Logbook"]

NETWORK_LOG = logging.getLogger("kafka_groups.network")
"""Brokers that cannot be reached, and those that can again."""
GROUP_LOG = logging.getLogger("kafka_groups.group")
"""The life of the member: joined, assigned, left, closed; topics that do not exist."""
RECORDS_LOG = logging.getLogger("kafka_groups.records")
"""Records whose lock was lost, or that cannot be decoded."""
REQUESTS_LOG = logging.getLogger("kafka_groups.requests")
"""Every request and its answer."""

_AREA_LOGS = {Area.GROUP: GROUP_LOG, Area.RECORDS: RECORDS_LOG}
_FIRST_INTERVAL_MS = 1_000
_LAST_INTERVAL_MS = 300_000


@define
class _Subject:
    next_ms: int
    interval_ms: int
    left_out: int = 0


class Logbook:
    """Logs repeated warnings at growing intervals: at once, then after 1 s, 2 s, 4 s … 5 minutes.

    Args:
        clock: Time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._subjects: dict[str, _Subject] = {}

    def warn(self, log: logging.Logger, subject: str, message: str, *args: object) -> None:
        """Log a warning, unless one on the same subject was logged a short time ago.

        Args:
            log: Where to.
            subject: What it is about.
            message: The text, with `%s` for the arguments.
            *args: The arguments.
        """
        now_ms = self._clock.now_ms()
        known = self._subjects.get(subject)
        if known is None or now_ms - known.next_ms > _LAST_INTERVAL_MS:
            self._subjects[subject] = _Subject(now_ms + _FIRST_INTERVAL_MS, _FIRST_INTERVAL_MS)
            log.warning(message, *args)
        elif now_ms < known.next_ms:
            known.left_out += 1
        else:
            repeats = f"{message} (%d more since the last warning)" if known.left_out else message
            log.warning(repeats, *args, *((known.left_out,) if known.left_out else ()))
            known.interval_ms = min(2 * known.interval_ms, _LAST_INTERVAL_MS)
            known.next_ms, known.left_out = now_ms + known.interval_ms, 0

    def write(self, event: Event) -> None:
        """Log an event of the packages that do not log themselves."""
        log = _AREA_LOGS[event.area]
        if event.subject is None:
            log.info("%s", event.text)
        else:
            self.warn(log, event.subject, "%s", event.text)

    def settled(self, subject: str) -> bool:
        """Forget a subject whose problem is solved; return whether there was a warning about it."""
        return self._subjects.pop(subject, None) is not None
