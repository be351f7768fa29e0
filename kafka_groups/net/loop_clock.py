"""Time that stands still while an event loop does.

Code that blocks an event loop, such as a user's function that works for 40 s, blocks the client on that loop as well.
When the loop runs again, responses wait in the sockets, but the deadlines of their requests have passed. A client on
such a loop takes its time from a `LoopClock`: its deadlines, waits and ages move by the time that the loop stood still.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

from kafka_groups.net.clock import Clock

__all__ = ["READING_MS", "LoopClock", "is_late", "timeout_on"]

_LONGEST_STEP_MS: Final = 1_000
READING_MS: Final = 1_000
"""The time to read what has arrived, if a deadline passed while the loop was blocked."""
_LATE_MS: Final = 100


class LoopClock:
    """A clock whose monotonic time passes while an event loop runs.

    From one `loop_runs` to the next, at most `longest_step_ms` pass. So a stall of 40 s counts as one second, and a
    loop that is blocked again and again still reaches its deadlines at some time. A loop that only waits for events is
    not blocked: to say so, it calls `loop_runs` every `pulse_ms`, which the client's engine does.

    Args:
        clock: The clock that also runs during stalls. Its `now_ms` has the same origin as the event loop's `time()`.
        longest_step_ms: The longest time that counts between two calls of `loop_runs`.

    Attributes:
        pulse_ms: The longest time between two calls of `loop_runs`, on a loop that is not blocked.
    """

    def __init__(self, clock: Clock, longest_step_ms: int = _LONGEST_STEP_MS) -> None:
        self._clock = clock
        self._longest_step_ms = longest_step_ms
        self.pulse_ms = longest_step_ms // 2
        self._seen_ms = clock.now_ms()
        self._stalled_ms = 0

    def __repr__(self) -> str:
        return f"<LoopClock at {self.now_ms()} ms, {self.stalled_ms} ms behind>"

    def now_ms(self) -> int:
        """Return monotonic time without stalls. Code that blocks the loop may call this, too."""
        now_ms = self._clock.now_ms()
        return now_ms - self._stalled_ms - self._stall_until(now_ms)

    def wall_ms(self) -> int:
        """Return the time since the epoch, as it is."""
        return self._clock.wall_ms()

    @property
    def stalled_ms(self) -> int:
        """The time in which the loop has stood still so far, including the present stall."""
        return self._stalled_ms + self._stall_until(self._clock.now_ms())

    def loop_runs(self) -> None:
        """Note that the event loop runs now. Only its own callbacks may call this."""
        now_ms = self._clock.now_ms()
        self._stalled_ms += self._stall_until(now_ms)
        self._seen_ms = now_ms

    def _stall_until(self, now_ms: int) -> int:
        return max(0, now_ms - self._seen_ms - self._longest_step_ms)


def is_late(when_ms: float) -> bool:
    """Return whether a timer runs so late that the loop was blocked when it was due. Call it in the timer's callback.

    A deadline that passed then must leave `READING_MS` to read what has arrived: a pass of the loop reads a large
    response only in part, and then runs its timers.

    Args:
        when_ms: When the timer was due, on the event loop's own clock.
    """
    return asyncio.get_running_loop().time() * 1000 - when_ms > _LATE_MS


def timeout_on(clock: LoopClock | None, timeout_ms: int) -> AbstractAsyncContextManager[Any]:
    """Return `asyncio.timeout`, which counts the time of this clock; ordinary time without one."""
    return asyncio.timeout(timeout_ms / 1000) if clock is None else _timeout(clock, timeout_ms)


@asynccontextmanager
async def _timeout(clock: LoopClock, timeout_ms: int) -> AsyncIterator[None]:
    async with asyncio.timeout(None) as timeout:
        end = _MovingEnd(clock, timeout, clock.now_ms() + timeout_ms)
        try:
            yield
        finally:
            end.cancel()


class _MovingEnd:
    """The end of a timeout, which stalls move."""

    def __init__(self, clock: LoopClock, timeout: asyncio.Timeout, end_ms: int) -> None:
        self._clock = clock
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._end_ms = end_ms
        self._was_late = False
        self._arm()

    def cancel(self) -> None:
        self._timer.cancel()

    def _arm(self) -> None:
        self._when_ms = self._end_ms + self._clock.stalled_ms
        self._timer = self._loop.call_at(self._when_ms / 1000, self._reached)

    def _reached(self) -> None:
        now_ms = self._clock.now_ms()
        if now_ms >= self._end_ms and is_late(self._when_ms) and not self._was_late:
            self._was_late = True
            self._end_ms = now_ms + READING_MS
        if now_ms < self._end_ms:
            self._arm()
        else:
            self._timeout.reschedule(self._loop.time())
