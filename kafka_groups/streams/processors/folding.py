"""Folding values into the aggregate of a window."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

__all__ = ["Folding", "aggregating", "counting", "one_more", "reducing", "zero"]


@frozen
class Folding:
    """One way to aggregate.

    Attributes:
        fold: Gets key, value and the aggregate so far, or None for the first value. Returns the new aggregate.
        initial: Makes the aggregate of no values.
    """

    fold: Callable[[Any, Any, Any], Any]
    initial: Callable[[], Any]


def aggregating(initializer: Callable[[], Any], aggregator: Callable[[Any, Any, Any], Any]) -> Folding:
    """Return the folding by a function of key, value and the result so far."""

    def fold(key: Any, value: Any, aggregate: Any) -> Any:
        return aggregator(key, value, initializer() if aggregate is None else aggregate)

    return Folding(fold, initializer)


def reducing(reducer: Callable[[Any, Any], Any]) -> Folding:
    """Return the folding by a function of the result so far and the next value."""

    def fold(_key: Any, value: Any, reduced: Any) -> Any:
        return value if reduced is None else reducer(reduced, value)

    return Folding(fold, _nothing)


def counting() -> Folding:
    """Return the folding that counts values."""
    return Folding(one_more, zero)


def one_more(_key: Any, _value: Any, count: Any) -> int:
    """Return the count with one record more."""
    return 1 if count is None else count + 1


def zero() -> int:
    """Return the count of no records."""
    return 0


def _nothing() -> None:
    return None
