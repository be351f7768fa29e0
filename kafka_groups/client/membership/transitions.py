"""States of a group member: the step from one to the next, by the transition table of the kind of member."""

import enum
from collections.abc import Mapping
from typing import TypeVar

from kafka_groups.errors import IllegalStateError

__all__ = ["next_member_state"]

S = TypeVar("S", bound=enum.Enum)
E = TypeVar("E", bound=enum.Enum)


def next_member_state(transitions: Mapping[tuple[S, E], S], state: S, event: E) -> S:
    """Return the state after the event.

    Raises:
        IllegalStateError: The event cannot happen in this state.
    """
    try:
        return transitions[state, event]
    except KeyError:
        raise IllegalStateError(
            f"The event '{event.value}' is not possible in the member state '{state.value}'."
        ) from None
