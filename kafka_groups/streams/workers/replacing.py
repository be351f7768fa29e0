"""The rule for how often and when a worker that has failed, or a worker process that has died, is replaced."""

from collections import deque

__all__ = ["Replacements"]

_FIRST_WAIT_MS = 200
_WINDOW_MS = 600_000
_MOST_DEATHS = 5


class Replacements:
    """The deaths of one worker. The wait doubles with each one of the last ten minutes.

    Args:
        first_wait_ms: The wait after the first of them.
    """

    def __init__(self, first_wait_ms: int = _FIRST_WAIT_MS) -> None:
        self._first_wait_ms = first_wait_ms
        self._deaths_ms: deque[int] = deque()

    def __repr__(self) -> str:
        return f"<Replacements: {len(self._deaths_ms)} deaths>"

    def died(self, now_ms: int) -> int | None:
        """Note a death. Return when to start the next worker, in ms; None if this one died too often."""
        while self._deaths_ms and self._deaths_ms[0] <= now_ms - _WINDOW_MS:
            self._deaths_ms.popleft()
        self._deaths_ms.append(now_ms)
        if len(self._deaths_ms) > _MOST_DEATHS:
            return None
        return now_ms + (self._first_wait_ms << len(self._deaths_ms) - 1)
