"""The outcome of an operation that may take time, for those who can wait."""

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kafka_groups.errors import BrokerError

__all__ = ["PendingOutcome", "outcome_of"]

T = TypeVar("T")

_MISSING: Any = object()


class PendingOutcome(Generic[T]):
    """Takes a response or an error, and gives it to one coroutine.

    Mostly the outcome is there before anyone waits. Then there is no future.
    """

    def __init__(self) -> None:
        self._outcome: T | BrokerError = _MISSING
        self._arrival: asyncio.Future[None] | None = None

    def __call__(self, outcome: T | BrokerError) -> None:
        """Take the outcome."""
        self._outcome = outcome
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    @property
    def is_there(self) -> bool:
        """True if there is an outcome."""
        return self._outcome is not _MISSING

    async def wait(self) -> T:
        """Wait for the response and return it.

        Raises:
            BrokerError: The outcome is an error.
        """
        if self._outcome is _MISSING:
            self._arrival = asyncio.get_running_loop().create_future()
            await self._arrival
        return self.now()

    def now(self) -> T:
        """Return the response, which must be there.

        Raises:
            BrokerError: The outcome is an error.
            RuntimeError: There is no outcome yet.
        """
        if self._outcome is _MISSING:
            raise RuntimeError("There is no outcome yet.")
        if isinstance(self._outcome, BrokerError):
            raise self._outcome
        return self._outcome


async def outcome_of(begin: Callable[[Callable[[T | BrokerError], None]], None]) -> T:
    """Begin an operation that takes a function for its outcome, wait, and return the response.

    Raises:
        BrokerError: The outcome is an error.
    """
    outcome: PendingOutcome[T] = PendingOutcome()
    begin(outcome)
    return await outcome.wait()
