"""Requests that wait until their condition holds or their time is up."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from functools import partial

from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, CooperativeYield
from kafka_groups.net.clock import Clock

__all__ = ["Purgatory"]

Satisfied = Callable[[], Awaitable[bool]]


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

    async def wait(
        self, keys: Iterable[Hashable], satisfied: Satisfied, deadline_ms: int, turns: CooperativeYield
    ) -> bool:
        """Wait until `satisfied()` returns True. It is called first and after every notification of a key.

        Args:
            keys: The keys that the request waits for.
            satisfied: Whether the request need not wait any more. It must not wait itself, except for its turn.
            deadline_ms: Time when the wait ends.
            turns: Those of the request.

        Returns:
            True if it is satisfied, False if the deadline passed first or the broker stops.
        """
        keys = tuple(keys)
        pauses = turns.pauses
        # The condition is checked before the wait and after it, because what it depends on may change in between
        # (DelayedOperationPurgatory.tryCompleteElseWatch in Kafka).
        while not await satisfied():
            look_again = partial(_look_again, satisfied, turns, pauses)
            if self._closed or not await self._notified(keys, look_again, deadline_ms - self._clock.now_ms(), turns):
                return await satisfied()
            pauses = turns.pauses
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

    async def _notified(
        self, keys: Sequence[Hashable], look_again: Satisfied, remaining_ms: int, turns: CooperativeYield
    ) -> bool:
        if remaining_ms <= 0:
            return False
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        timer = loop.call_later(remaining_ms / 1000, lambda: _end(waiter, notified=False))
        try:
            async for key in turns.each(keys, CHEAP):
                self._waiting.setdefault(key, {})[waiter] = None
            if await look_again():
                return True
            turns.rest()
            return await waiter
        finally:
            timer.cancel()
            async for key in turns.each(keys, CHEAP):
                self._leave(key, waiter)

    def _leave(self, key: Hashable, waiter: "asyncio.Future[bool]") -> None:
        waiters = self._waiting.get(key, {})
        waiters.pop(waiter, None)
        if not waiters:
            self._waiting.pop(key, None)


async def _look_again(satisfied: Satisfied, turns: CooperativeYield, pauses: int) -> bool:
    """Look again if others had their turn since the look before. Nobody told this request what they changed."""
    return turns.pauses != pauses and await satisfied()


def _end(waiter: "asyncio.Future[bool]", *, notified: bool) -> None:
    if not waiter.done():
        waiter.set_result(notified)
