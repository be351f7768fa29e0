"""Expires what is due in one broker, and sleeps until the next deadline."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from kafka_groups.net.clock import Clock

__all__ = ["BrokerRuntime", "Expiring"]

_NEVER = float("inf")
_MOST_UNMET = 100
"""The most times in a row that expiry may leave the same deadline."""


class Expiring(Protocol):
    """An object with deadlines."""

    def next_deadline_ms(self) -> int | None:
        """Return the next deadline, or None. Must be cheap, because it is called after every request."""
        ...

    def expire(self, now_ms: int) -> object:
        """Do what is due. The result is not used."""
        ...


class BrokerRuntime:
    """A task that calls `expire` when a deadline has passed.

    Args:
        clock: The clock for deadlines. Its `now_ms` must agree with the event loop's time.
        expiring: The objects with deadlines.
        on_failure: Called with an error that `expire` raised. The runtime has stopped by then.
    """

    def __init__(self, clock: Clock, expiring: Sequence[Expiring], on_failure: Callable[[BaseException], None]) -> None:
        self._clock = clock
        self._expiring = tuple(expiring)
        self._on_failure = on_failure
        self._wake_up_ms = _NEVER
        self._unmet = 0
        self._sleeper: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        state = "running" if self._task is not None else "stopped"
        return f"<BrokerRuntime: {state}, next wake-up at {self._wake_up_ms} ms>"

    def start(self, name: str) -> None:
        """Start the task."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=name)
        self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Stop the task. Nothing expires after that."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    def touch(self) -> None:
        """Check for an earlier deadline. Called after every request."""
        if self._sleeper is not None and self._next_deadline_ms() < self._wake_up_ms:
            _wake(self._sleeper)

    async def _run(self) -> None:
        while True:
            now_ms = self._clock.now_ms()
            for each in self._expiring:
                deadline_ms = each.next_deadline_ms()
                if deadline_ms is not None and deadline_ms <= now_ms:
                    each.expire(now_ms)
                    self._check_progress(each, deadline_ms)
            await self._sleep_until(self._next_deadline_ms())

    def _check_progress(self, expired: Expiring, deadline_ms: int) -> None:
        """Raise an error instead of expiring the same thing indefinitely, which would block the event loop."""
        self._unmet = self._unmet + 1 if expired.next_deadline_ms() == deadline_ms else 0
        if self._unmet >= _MOST_UNMET:
            raise RuntimeError(f"{expired!r} does not meet its deadline at {deadline_ms} ms, which has passed.")

    async def _sleep_until(self, deadline_ms: float) -> None:
        loop = asyncio.get_running_loop()
        self._wake_up_ms = deadline_ms
        sleeper = self._sleeper = loop.create_future()
        delay_s = (deadline_ms - self._clock.now_ms()) / 1000
        timer = None if deadline_ms == _NEVER else loop.call_later(max(delay_s, 0.0), _wake, sleeper)
        try:
            await sleeper
        finally:
            self._sleeper = None
            if timer is not None:
                timer.cancel()

    def _next_deadline_ms(self) -> float:
        earliest = _NEVER
        for each in self._expiring:
            deadline_ms = each.next_deadline_ms()
            if deadline_ms is not None and deadline_ms < earliest:
                earliest = deadline_ms
        return earliest

    def _ended(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._on_failure(error)


def _wake(sleeper: "asyncio.Future[None]") -> None:
    if not sleeper.done():
        sleeper.set_result(None)
