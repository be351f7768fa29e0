"""The one module that reads a clock; everything else takes `now_ms` as an argument or a `Clock` at its edge."""

import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """Reads two clocks, both in milliseconds."""

    def now_ms(self) -> int:
        """Return monotonic time, for deadlines and durations only."""
        ...

    def wall_ms(self) -> int:
        """Return the time since the epoch, for record timestamps and `by_duration` resets only."""
        ...


class SystemClock:
    """The clocks of the operating system."""

    def now_ms(self) -> int:
        """Return monotonic time in milliseconds, with the same origin as the event loop's `time()`."""
        return time.monotonic_ns() // 1_000_000

    def wall_ms(self) -> int:
        """Return milliseconds since the epoch."""
        return time.time_ns() // 1_000_000
