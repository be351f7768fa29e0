"""Long requests let the event loop serve others in between."""

import asyncio
from collections.abc import Generator, Iterable
from typing import Generic, Self, TypeVar

from kafka_groups.broker.runtime.scheduling.full_collections import FULL_COLLECTIONS

__all__ = ["CHEAP", "COSTLY", "USUAL", "CooperativeYield", "at_once"]

T = TypeVar("T")

CHEAP, USUAL, COSTLY = 2, 5, 50
"""The costs of an item: some, some tens or some hundreds of microseconds."""
_BUDGET = 1_000
"""The largest cost of one turn of the event loop."""


class CooperativeYield:
    """Counts the items that one request has handled, and lets others have their turn after so many of them.

    Most requests have so few items that they are handled in one turn. Within a longer one, everything may change
    between two items: topics, leaders and sessions, and the client may be gone.

    Attributes:
        is_paused: True while others have their turn. The request then continues by itself.
        pauses: The number of times that others had their turn.
    """

    def __init__(self) -> None:
        self._left = _BUDGET
        self._is_long = False
        self.is_paused = False
        self.pauses = 0

    def each(self, items: Iterable[T], cost: int = USUAL) -> "_Each[T]":
        """Iterate over items, with `async for`."""
        return _Each(self, items, cost)

    async def through(self, work: Generator[None, None, T], cost: int = USUAL) -> T:
        """Do work that yields after each of its items, and return its result."""
        while True:
            try:
                next(work)
            except StopIteration as end:
                result: T = end.value
                return result
            await self.spend(cost)

    def rest(self) -> None:
        """Note that the request is answered, or waits for something."""
        if self._is_long:
            self._is_long = False
            FULL_COLLECTIONS.resume(self)

    def expect_many(self) -> None:
        """Note that the request is long, before its first item."""
        if not self._is_long:
            self._is_long = True
            FULL_COLLECTIONS.postpone(self)

    async def spend(self, cost: int) -> None:
        """Count an item, and let others have their turn if it is time."""
        if self.takes(cost):
            await self.pause()

    def takes(self, cost: int) -> bool:
        """Count an item, and return whether it is time for `pause`."""
        self._left -= cost
        return self._left <= 0

    async def pause(self) -> None:
        """Let others have their turn."""
        self._left = _BUDGET
        self.pauses += 1
        self.expect_many()
        self.is_paused = True
        await asyncio.sleep(0)
        self.is_paused = False


def at_once(work: Generator[None, None, T]) -> T:
    """Do work that yields after each of its items without a pause, and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


class _Each(Generic[T]):
    """An iterator and no generator, as one that is not used up would end in a task of its own."""

    __slots__ = ("_cost", "_items", "_turns")

    def __init__(self, turns: CooperativeYield, items: Iterable[T], cost: int) -> None:
        self._turns = turns
        self._items = iter(items)
        self._cost = cost

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        for item in self._items:
            if self._turns.takes(self._cost):  # a coroutine for each item would cost more than most items
                await self._turns.pause()
            return item
        raise StopAsyncIteration
