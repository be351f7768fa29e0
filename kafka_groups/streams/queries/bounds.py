"""Bounds of queries: waits until the store of a view has processed what its caller has written."""

from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar

from attrs import frozen

from kafka_groups.net.clock import Clock
from kafka_groups.streams.errors import InvalidStateStoreError, StoreNotAvailableError
from kafka_groups.streams.state.position import Position

__all__ = ["Wait", "check_bound", "view_at_least"]

V = TypeVar("V")

_LOOK_S: Final = 0.02
"""The time between two looks at the store."""


@frozen
class Wait:
    """The time that a caller has.

    Attributes:
        timeout_s: Its length, in seconds.
        clock: Tells the time.
        pause: Waits for so many seconds.
        is_over: Returns whether waiting longer is of no use.
    """

    timeout_s: float
    clock: Clock
    pause: Callable[[float], object]
    is_over: Callable[[], bool] = lambda: False


def view_at_least(make: Callable[[], V], at_least: Position | None, partition: int | None, wait: Wait) -> V:
    """Return a view of a store as soon as the store has reached a position. Blocks until then, or the time is up.

    Args:
        make: Makes the view.
        at_least: The position. None: as soon as there is a view.
        partition: The partition of the view; None for all.
        wait: How long it may take.

    Raises:
        StoreNotAvailableError: The time is up, and no task has the store, or one has not reached the position.
        InvalidStateStoreError: The time is up, or waiting is of no use, and there is no view.
    """
    until_ms = wait.clock.now_ms() + wait.timeout_s * 1_000
    while True:
        try:
            view = make()
            if at_least is not None:
                _check_reached(view, at_least, partition)
            return view
        except InvalidStateStoreError as error:
            left_ms = until_ms - wait.clock.now_ms()
            if left_ms <= 0 or not error.retriable or wait.is_over():
                raise
        wait.pause(min(_LOOK_S, left_ms / 1_000))


def _check_reached(view: Any, at_least: Position, partition: int | None) -> None:
    """Check that a view has reached a position.

    Raises:
        StoreNotAvailableError: It has not.
    """
    reached: Position = view.position
    for topic, offsets in at_least.offsets.items():
        for number, asked in offsets.items():
            found = reached.at(topic, number)
            # As in Java (StoreQueryUtils.isPermitted), a bound counts for the partitions that are read.
            if partition in {None, number} and (found is None or found < asked):
                has = "nothing" if found is None else f"offset {found}"
                raise StoreNotAvailableError(
                    f"Store {view.name!r} has processed {has} of {topic}-{number} here, and at_least asks for offset "
                    f"{asked}. Give it more time with timeout=, or ask the process that has the partition."
                )


def check_bound(at_least: object, store: str, topics: Collection[str]) -> None:
    """Check that a bound is about the topics that fill a store.

    Raises:
        TypeError: It is not a position.
        ValueError: It names another topic.
    """
    if not isinstance(at_least, Position):
        raise TypeError(f"at_least={at_least!r} is not a Position, such as Position({{'orders': {{0: 41}}}}).")
    unknown = sorted(at_least.offsets.keys() - set(topics))
    if unknown:
        raise ValueError(
            f"at_least names topic {unknown[0]!r}, which the tasks of store {store!r} do not read. They read "
            f"{', '.join(topics)}."
        )
