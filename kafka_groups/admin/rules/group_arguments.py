"""Checks of what callers ask of groups of any type; each error names the value and what to give instead."""

from typing import Final

from kafka_groups.admin.rules.arguments import checked_states
from kafka_groups.errors import ConfigurationError

__all__ = ["checked_types"]

_TYPES: Final = ("classic", "consumer", "share", "streams")


def checked_types(types: object) -> tuple[str, ...]:
    """Return the wanted types of groups; none for all.

    Raises:
        ConfigurationError: A single string, or something else than names of types.
    """
    found = checked_states(types, "types")
    for each in found:
        if each not in _TYPES:
            raise ConfigurationError(f"types: {each!r} is not a type of groups: use {', '.join(map(repr, _TYPES))}")
    return found
