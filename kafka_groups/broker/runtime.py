"""Lets time pass in one broker: expires what is due, sleeps until something is due again."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from kafka_groups.net.clock import Clock

__all__ = ["BrokerRuntime", "Expiring"]

_NEVER = float("inf")


class Expiring(Protocol):
    """Something with deadlines of its own."""

    def next_deadline_ms(self) -> int | None:
        """When something is due next; None when nothing is. Asked after every request, so cheap."""
        ...

    def expire(self, now_ms: int) -> object:
        """Do what is due; the result is not used."""
        ...


class BrokerRuntime:
    """One task that calls `expire` when a deadline has come.

    Args:
        clock: The clock of the deadlines; its `now_ms` must run with the event loop's time.
        expiring: What has deadlines.
        on_failure: Gets an error that `expire` raised; the runtime has stopped then.
    """

    def __init__(self, clock: Clock, expiring: Sequence[Expiring], on_failure: Callable[[BaseException], None]) -> None:
        self._clock = clock
        self._expiring = tuple(expiring)
        self._on_failure = on_failure
        self._wake_up_ms = _NEVER
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
        """End the task; nothing expires any more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    def touch(self) -> None:
        """Look whether there is an earlier deadline now; called whenever a request was handled."""
        if self._sleeper is not None and self._next_deadline_ms() < self._wake_up_ms:
            _wake(self._sleeper)

    async def _run(self) -> None:
        while True:
            now_ms = self._clock.now_ms()
            for each in self._expiring:
                deadline_ms = each.next_deadline_ms()
                if deadline_ms is not None and deadline_ms <= now_ms:
                    each.expire(now_ms)
            await self._sleep_until(self._next_deadline_ms())

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
