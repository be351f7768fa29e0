"""Initial values of aggregates: an initializer may return one object for all keys only while nobody changes it."""

from collections.abc import Callable
from typing import Any, Final

from kafka_groups.streams.state.rows import StoreRows

__all__ = ["own_initial_values"]

_UNKNOWN: Final = object()


def own_initial_values(initializer: Callable[[], Any], state: StoreRows) -> Callable[[], Any]:
    """Return a program's initializer, so that it raises an error instead of what another key has made of its object.

    Java does not check this: its aggregators mostly return a new object, where Python's often change the one they get.
    An object that is returned for all keys, and that no aggregator changes, is as good as a new one. So the bytes are
    compared, and only if the initializer returns the object of its first call again.

    Args:
        initializer: The program's function.
        state: The store of the aggregates.
    """
    # Numbers and strings cannot be changed in place, so that sharing one is harmless.
    if state.has_immutable_values:
        return initializer
    first: Any = _UNKNOWN
    first_bytes: bytes | None = None

    def initial() -> Any:
        nonlocal first, first_bytes
        made = initializer()
        if first is _UNKNOWN:
            first, first_bytes = made, _bytes(state, made)
        elif made is first and first_bytes is not None and _bytes(state, made) != first_bytes:
            raise ValueError(
                f"The initializer {initializer!r} returns the same object again, and the aggregator has changed it, so "
                "that keys would share their aggregates. Return a new object each time, or let the aggregator return "
                "a new one."
            )
        return made

    return initial


def _bytes(state: StoreRows, value: Any) -> bytes | None:
    """Return a value's bytes; None if the serde does not write it, as only the aggregator's results have to fit."""
    if value is None:
        return None
    try:
        return state.value_bytes(value)
    except Exception:  # of the user's serde
        return None
