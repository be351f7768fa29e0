"""Folds values into the aggregate of a window."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kafka_groups.streams.processors.initial_values import own_initial_values
from kafka_groups.streams.state.rows import StoreRows

__all__ = ["AggregateFunction", "aggregating", "counting", "one_more", "reducing", "zero"]


@frozen
class AggregateFunction:
    """One way to aggregate.

    Attributes:
        fold: Gets key, value and the aggregate so far, or None for the first value. Returns the new aggregate.
        initial: Makes the aggregate of no values.
        aggregator: The program's function of key, value and the aggregate so far; None if there is none.
    """

    fold: Callable[[Any, Any, Any], Any]
    initial: Callable[[], Any]
    aggregator: Callable[[Any, Any, Any], Any] | None = None

    def over(self, state: StoreRows) -> "AggregateFunction":
        """Return the same function for the store of one task, which refuses initial values that other keys changed."""
        if self.aggregator is None:
            return self
        return aggregating(own_initial_values(self.initial, state), self.aggregator)


def aggregating(initializer: Callable[[], Any], aggregator: Callable[[Any, Any, Any], Any]) -> AggregateFunction:
    """Return the aggregate function of a program's function of key, value and the result so far."""

    def fold(key: Any, value: Any, aggregate: Any) -> Any:
        # None is a window without a result: no record came yet, or the aggregator has deleted it.
        return aggregator(key, value, initializer() if aggregate is None else aggregate)

    return AggregateFunction(fold, initializer, aggregator)


def reducing(reducer: Callable[[Any, Any], Any]) -> AggregateFunction:
    """Return the aggregate function of a program's function of the result so far and the next value."""

    def fold(_key: Any, value: Any, reduced: Any) -> Any:
        return value if reduced is None else reducer(reduced, value)

    return AggregateFunction(fold, _nothing)


def counting() -> AggregateFunction:
    """Return the aggregate function that counts values."""
    return AggregateFunction(one_more, zero)


def one_more(_key: Any, _value: Any, count: Any) -> int:
    """Return the count with one record more."""
    return 1 if count is None else count + 1


def zero() -> int:
    """Return the count of no records."""
    return 0


def _nothing() -> None:
    return None
