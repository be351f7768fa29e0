"""Warnings that are repeated at growing intervals."""

import logging
import threading

from attrs import define

from kafka_groups.net.clock import Clock

__all__ = ["RateLimitedLog"]

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
        level: Their level.
        text: The last one that was logged.
        interval_ms: How long others are left out.
        next_ms: The end of that time.
        left_out: How many were left out since the last one.
    """

    log: logging.Logger
    level: int
    text: str
    interval_ms: int = 0
    next_ms: int = 0
    left_out: int = 0


class RateLimitedLog:
    """Logs a warning immediately, and its repeats at growing intervals: 1 s, 2 s, 4 s … 5 minutes.

    Several threads may use it. It holds no lock while it logs, because a handler of the program may wait for a thread
    that logs, too.

    Args:
        clock: The clock.

    Attributes:
        level: The level of warnings, unless `warn` gets another one.
    """

    def __init__(self, clock: Clock) -> None:
        self.level = logging.WARNING
        self._clock = clock
        self._subjects: dict[str, dict[str, _Repeats]] = {}
        self._lock = threading.Lock()

    def warn(
        self,
        log: logging.Logger,
        subject: str,
        message: str,
        *args: object,
        kind: str = "",
        trace: BaseException | None = None,
        level: int | None = None,
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
            level: The level of this warning, or None for that of the log.
        """
        level = self.level if level is None else level
        warning = _Repeats(log, level, message)
        left_out = self._noted(subject, kind, warning)
        if left_out is None:
            return False
        if args:
            warning.text = message % args
        repeats = f"{message} (%d more since the last warning)" if left_out else message
        log.log(level, repeats, *args, *((left_out,) if left_out else ()), exc_info=trace)
        return True

    def _noted(self, subject: str, kind: str, warning: _Repeats) -> int | None:
        """Return how many were left out since the last one of its kind; None if this one is left out, too."""
        now_ms = self._clock.now_ms()
        with self._lock:
            kinds = self._subjects.setdefault(subject, {})
            kind = _known_kind(kinds, kind, now_ms)
            known = kinds.get(kind)
            if known is not None and now_ms < known.next_ms:
                known.left_out += 1
                return None
            warning.interval_ms = _next_interval_ms(known, now_ms)
            warning.next_ms = now_ms + warning.interval_ms
            kinds[kind] = warning
            return 0 if known is None else known.left_out

    def left_out(self, subject: str) -> int:
        """Return how many warnings about a subject were left out since the last ones that were logged."""
        with self._lock:
            return sum(each.left_out for each in self._subjects.get(subject, {}).values())

    def settled(self, subject: str) -> bool:
        """Forget a subject whose problem is solved, and return whether a warning about it was logged."""
        with self._lock:
            return self._subjects.pop(subject, None) is not None

    def end(self) -> None:
        """Log how many warnings were left out since the last one of each subject and kind, and forget all."""
        with self._lock:
            ended, self._subjects = self._subjects, {}
        for each in (repeats for kinds in ended.values() for repeats in kinds.values()):
            if each.left_out:
                each.log.log(each.level, "%d more since this warning: %s", each.left_out, each.text)


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
