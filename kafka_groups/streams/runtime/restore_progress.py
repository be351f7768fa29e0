"""The log of restorations: the beginning of each, how all of them proceed, and the end of each.

Standby and warm-up tasks are restored, too, until they have caught up with their changelogs for the first time.
"""

import logging
from collections.abc import Callable, Mapping

from attrs import define

from kafka_groups.errors.texts import counted
from kafka_groups.net.clock import Clock

__all__ = ["RestoreProgress"]

_log = logging.getLogger(__name__)

_EVERY_MS = 10_000
_SOME = 5


@define(eq=False)
class _Restoring:
    """A task, or the global stores, while they are filled.

    Attributes:
        begun_ms: When it began.
        left: Returns how many offsets are left, which are at least as many as records.
        is_awaited: Whether the worker does not run before it has ended.
        count: The records so far.
    """

    begun_ms: int
    left: Callable[[], int]
    is_awaited: bool
    count: int = 0


class RestoreProgress:
    """Follows the restorations of a worker, and logs them.

    Args:
        clock: Tells the time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._restoring: dict[str, _Restoring] = {}
        self._told_ms = self._told_count = self._count = 0

    def __repr__(self) -> str:
        return f"<RestoreProgress of {len(self._restoring)} restorations>"

    @property
    def obstacle(self) -> str | None:
        """The restorations under way, for warnings of a worker that does not run; None if there is none."""
        awaited = {name: each for name, each in self._restoring.items() if each.is_awaited}
        if not awaited:
            return None
        left = counted(_left(awaited), "offset")
        return f"it restores {_names(awaited)}, and has {left} left. Standby tasks shorten that"

    def begin(self, name: str, stores: str, left: Callable[[], int], *, is_awaited: bool = True) -> None:
        """Note that a restoration begins. One that has nothing to read is not logged.

        Args:
            name: What is restored, such as `task 0_1`.
            stores: The stores, and where they are read from.
            left: Returns how many offsets are left.
            is_awaited: Whether the worker does not run before it has ended.
        """
        count = left()
        if not count:
            return
        if not self._restoring:
            self._told_ms, self._told_count, self._count = self._clock.now_ms(), 0, 0
        if name not in self._restoring:  # one that is under way gets more to read
            self._restoring[name] = _Restoring(self._clock.now_ms(), left, is_awaited)
        _log.info("Restoring %s: %s, %s", name, stores, counted(count, "offset"))

    def took(self, name: str, count: int) -> None:
        """Note that records were applied. The restoration ends if nothing is left."""
        known = self._restoring.get(name)
        if known is None:
            return
        known.count += count
        self._count += count
        if known.left() == 0:
            del self._restoring[name]
            _log.info("Restored %s: %s", name, self._told(known))

    def stop(self, name: str) -> None:
        """Note that a restoration ends before everything was read, if it does."""
        known = self._restoring.pop(name, None)
        if known is not None:
            _log.info("Stopped restoring %s: %s, %s left", name, self._told(known), counted(known.left(), "offset"))

    def look(self) -> None:
        """Log how far all restorations are, if it is time to."""
        now_ms = self._clock.now_ms()
        if not self._restoring or now_ms - self._told_ms < _EVERY_MS:
            return
        rate = (self._count - self._told_count) * 1_000 / (now_ms - self._told_ms)
        self._told_ms, self._told_count = now_ms, self._count
        left = _left(self._restoring)
        _log.info(
            "Restoring %s: %s so far, %s/s, %s left%s",
            _names(self._restoring),
            counted(sum(each.count for each in self._restoring.values()), "record"),
            counted(round(rate), "record"),
            counted(left, "offset"),
            f" (about {left / rate:,.0f} s)" if rate else "",
        )

    def _told(self, restoring: _Restoring) -> str:
        passed_ms = max(self._clock.now_ms() - restoring.begun_ms, 1)
        rate = counted(round(restoring.count * 1_000 / passed_ms), "record")
        return f"{counted(restoring.count, 'record')} in {passed_ms / 1_000:.1f} s ({rate}/s)"


def _left(restoring: Mapping[str, _Restoring]) -> int:
    return sum(each.left() for each in restoring.values())


def _names(restoring: Mapping[str, _Restoring]) -> str:
    names = list(restoring)
    others = len(names) - _SOME
    return ", ".join(names[:_SOME]) + (f" and {others} more" if others > 0 else "")
