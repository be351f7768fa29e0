"""A clock that runs with the system's and that a test moves forward, so that locks of usual length end at once."""

import asyncio
import threading

from kafka_groups.net.clock import SystemClock

__all__ = ["LeapingClock"]


class LeapingClock(SystemClock):
    """The system's clocks, ahead by the leaps. Give it to brokers and clients of one test.

    Timers must end with a leap, too, so each event loop on which the clock is read takes the time from it.
    """

    def __init__(self) -> None:
        self._ahead_ms = 0
        self._loops: list[asyncio.AbstractEventLoop] = []
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<LeapingClock: {self._ahead_ms} ms ahead>"

    def leap(self, by_ms: int) -> None:
        """Move the clock forward, and wake the loops whose timers may be due now."""
        with self._lock:
            self._ahead_ms += by_ms
            loops = [loop for loop in self._loops if not loop.is_closed()]
        for loop in loops:
            loop.call_soon_threadsafe(lambda: None)

    def now_ms(self) -> int:
        """Return monotonic time with the leaps."""
        self._lead()
        return super().now_ms() + self._ahead_ms

    def wall_ms(self) -> int:
        """Return milliseconds since the epoch with the leaps."""
        return super().wall_ms() + self._ahead_ms

    def _lead(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # a thread without a loop has no timers
        with self._lock:
            if loop not in self._loops:
                self._loops.append(loop)
                loop.time = self._loop_time  # type: ignore[method-assign]

    def _loop_time(self) -> float:
        return (super().now_ms() + self._ahead_ms) / 1000
