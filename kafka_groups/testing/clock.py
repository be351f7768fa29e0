"""Clocks for tests: one that you advance, and one that follows a simulated event loop."""

import asyncio

__all__ = ["ManualClock", "VirtualClock"]

WALL_START_MS = 1_767_225_600_000
"""The start time of simulated wall clocks: 2026-01-01T00:00:00Z."""


class ManualClock:
    """A clock that stands still until it is advanced.

    Args:
        now_ms: The start of monotonic time.
    """

    def __init__(self, now_ms: int = 1_000_000) -> None:
        self._start_ms = now_ms
        self._now_ms = now_ms

    def __repr__(self) -> str:
        return f"<ManualClock at {self._now_ms} ms>"

    def advance(self, by_ms: int) -> int:
        """Let time pass; returns the new `now_ms`."""
        self._now_ms += by_ms
        return self._now_ms

    def now_ms(self) -> int:
        """Monotonic time in milliseconds."""
        return self._now_ms

    def wall_ms(self) -> int:
        """Milliseconds since the epoch, starting at 2026-01-01."""
        return WALL_START_MS + self._now_ms - self._start_ms


class VirtualClock:
    """The clock of an event loop; in a simulation, this is virtual time.

    Args:
        loop: The loop; the running one when it is not given.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._time = (loop or asyncio.get_running_loop()).time
        self._start_ms = self.now_ms()

    def __repr__(self) -> str:
        return f"<VirtualClock at {self.now_ms()} ms>"

    def now_ms(self) -> int:
        """Monotonic time in milliseconds."""
        # A timer for t ms must find now_ms() == t when it runs, although t / 1000 * 1000 may be a little less than t.
        return int(self._time() * 1000 + 0.001)

    def wall_ms(self) -> int:
        """Milliseconds since the epoch, starting at 2026-01-01."""
        return WALL_START_MS + self.now_ms() - self._start_ms
