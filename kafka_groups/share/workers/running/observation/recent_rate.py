"""The rate of events in the last seconds."""

from collections import deque
from typing import Final

__all__ = ["RecentRate"]

_SPAN_MS: Final = 10_000
_SHORTEST_MS: Final = 100
"""Looks in between are left out, so that the number of samples is bounded."""


class RecentRate:
    """Counts events, and says how many there were a second in the last ten seconds."""

    def __init__(self) -> None:
        self._total = 0
        self._looks: deque[tuple[int, int]] = deque()

    def __repr__(self) -> str:
        return f"<RecentRate after {self._total} events>"

    def add(self, count: int) -> None:
        """Count events."""
        self._total += count

    def look(self, now_ms: int) -> float:
        """Return the events a second since the look of ten seconds ago, or since the first one."""
        if not self._looks or now_ms - self._looks[-1][0] >= _SHORTEST_MS:
            self._looks.append((now_ms, self._total))
        # The last look that is at least ten seconds old stays, as the beginning of the span.
        while len(self._looks) > 1 and now_ms - self._looks[1][0] >= _SPAN_MS:
            self._looks.popleft()
        then_ms, before = self._looks[0]
        return 1000 * (self._total - before) / (now_ms - then_ms) if now_ms > then_ms else 0.0
