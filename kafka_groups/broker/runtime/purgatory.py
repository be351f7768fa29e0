"""Requests that wait until their condition holds or their time is up."""

import asyncio
from collections.abc import Callable, Hashable, Iterable

from kafka_groups.net.clock import Clock

__all__ = ["Purgatory"]


class Purgatory:
    """Waiting requests, by the keys whose change may satisfy them.

    A key is any hashable value that both sides agree on, such as a `TopicIdPartition`.

    Args:
        clock: The clock for deadlines. Its `now_ms` must agree with the event loop's time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # By key, in order of arrival: a set of futures would wake them in an order that no seed reproduces.
        self._waiting: dict[Hashable, dict[asyncio.Future[bool], None]] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"<Purgatory: {len(self)} waiting>"

    def __len__(self) -> int:
        return len(set().union(*self._waiting.values()))

    async def wait(self, keys: Iterable[Hashable], satisfied: Callable[[], bool], deadline_ms: int) -> bool:
        """Wait until `satisfied()` returns True. It is called first and after every notification of a key.

        Returns:
            True if it is satisfied, False if the deadline passed first or the broker stops.
        """
        keys = tuple(keys)
        while not satisfied():
            if self._closed or not await self._notified(keys, deadline_ms - self._clock.now_ms()):
                return satisfied()
        return True

    def notify(self, key: Hashable) -> bool:
        """Make the requests that wait for this key check again, and return whether there are any."""
        waiters = self._waiting.get(key, ())
        for waiter in waiters:
            _end(waiter, notified=True)
        return bool(waiters)

    def close(self) -> None:
        """End all waits."""
        self._closed = True
        for waiters in self._waiting.values():
            for waiter in waiters:
                _end(waiter, notified=False)

    async def _notified(self, keys: tuple[Hashable, ...], remaining_ms: int) -> bool:
        if remaining_ms <= 0:
            return False
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        timer = loop.call_later(remaining_ms / 1000, lambda: _end(waiter, notified=False))
        self._enter(keys, waiter)
        try:
            return await waiter
        finally:
            timer.cancel()
            self._leave(keys, waiter)

    def _enter(self, keys: tuple[Hashable, ...], waiter: "asyncio.Future[bool]") -> None:
        for key in keys:
            self._waiting.setdefault(key, {})[waiter] = None

    def _leave(self, keys: tuple[Hashable, ...], waiter: "asyncio.Future[bool]") -> None:
        for key in keys:
            waiters = self._waiting[key]
            waiters.pop(waiter, None)
            if not waiters:
                del self._waiting[key]


def _end(waiter: "asyncio.Future[bool]", *, notified: bool) -> None:
    if not waiter.done():
        waiter.set_result(notified)
