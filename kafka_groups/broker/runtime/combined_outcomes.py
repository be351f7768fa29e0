"""The outcomes of several operations that belong together."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from kafka_groups.errors import BrokerError

__all__ = ["Outcomes"]

K = TypeVar("K")


class Outcomes(Generic[K]):
    """Collects the outcomes of several operations, and passes them on together, in the order of `keys`.

    Args:
        keys: The keys that identify the operations.
        done: Takes the error of each, or None for success. It is called at once if there are none.
    """

    def __init__(self, keys: Iterable[K], done: Callable[[dict[K, BrokerError | None]], None]) -> None:
        self._outcomes: dict[K, BrokerError | None] = dict.fromkeys(keys)
        self._missing = len(self._outcomes)
        self._done = done
        if not self._missing:
            done({})

    def add(self, key: K, error: BrokerError | None) -> None:
        """Take the outcome of one of them."""
        self._outcomes[key] = error
        self._missing -= 1
        if not self._missing:
            self._done(self._outcomes)
