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
_MOST_KINDS = 50
"""The most kinds of one subject with intervals of their own, such as classes of errors."""
_OTHERS = "others"


@define
class _Repeats:
    """The warnings of one subject and kind.

    Attributes:
        log: Their logger.
        text: The last one that was logged.
        interval_ms: How long others are left out.
        next_ms: The end of that time.
        left_out: How many were left out since the last one.
    """

    log: logging.Logger
    text: str
    interval_ms: int
    next_ms: int
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
        self._subjects: dict[str, dict[str, _Repeats]] = {}

    def warn(
        self,
        log: logging.Logger,
        subject: str,
        message: str,
        *args: object,
        kind: str = "",
        trace: BaseException | None = None,
    ) -> bool:
        """Log a warning, unless one with the same subject and kind was logged recently. Returns whether it was logged.

        Args:
            log: The logger.
            subject: Identifies repeats of the warning.
            message: The text, with `%s` for the arguments.
            *args: The arguments.
            kind: Tells warnings of one subject apart, such as the class of an error. The first 50 kinds have intervals
                of their own, and all others share theirs.
            trace: The error whose traceback is logged, or None.
        """
        now_ms = self._clock.now_ms()
        kinds = self._subjects.setdefault(subject, {})
        kind = _known_kind(kinds, kind, now_ms)
        known = kinds.get(kind)
        if known is not None and now_ms < known.next_ms:
            known.left_out += 1
            return False
        left_out = 0 if known is None else known.left_out
        repeats = f"{message} (%d more since the last warning)" if left_out else message
        log.log(self.level, repeats, *args, *((left_out,) if left_out else ()), exc_info=trace)
        interval_ms = _next_interval_ms(known, now_ms)
        kinds[kind] = _Repeats(log, message % args if args else message, interval_ms, now_ms + interval_ms)
        return True

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

    def end(self) -> None:
        """Log how many warnings were left out since the last one of each subject and kind, and forget all."""
        for kinds in self._subjects.values():
            for each in kinds.values():
                if each.left_out:
                    each.log.log(self.level, "%d more since this warning: %s", each.left_out, each.text)
        self._subjects.clear()


def _next_interval_ms(known: _Repeats | None, now_ms: int) -> int:
    """Return how long repeats are left out: longer each time, and short again after a quiet time."""
    if known is None or _is_stale(known, now_ms):
        return _FIRST_INTERVAL_MS
    return min(2 * known.interval_ms, _LAST_INTERVAL_MS)


def _is_stale(known: _Repeats, now_ms: int) -> bool:
    return now_ms - known.next_ms > _LAST_INTERVAL_MS


def _known_kind(kinds: dict[str, _Repeats], kind: str, now_ms: int) -> str:
    """Return the kind under which a warning is noted, so that kinds without end do not fill the memory."""
    if kind in kinds or len(kinds) < _MOST_KINDS:
        return kind
    for name in [name for name, known in kinds.items() if _is_stale(known, now_ms)]:
        del kinds[name]
    return kind if len(kinds) < _MOST_KINDS else _OTHERS
