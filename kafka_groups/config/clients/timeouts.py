"""Checks for the times that public calls take, in seconds."""

from contextlib import suppress
from datetime import timedelta
from numbers import Real
from typing import Final

from kafka_groups.errors import ConfigurationError

__all__ = [
    "DEFAULT_CLOSE_TIMEOUT_S",
    "MAX_SECONDS",
    "NONE_IS_API_TIMEOUT",
    "NONE_IS_CLOSE_TIMEOUT",
    "WAITS_FOREVER",
    "checked_seconds",
    "checked_timeout",
]

MAX_SECONDS: Final = 1_000_000_000
"""Some 30 years; the clocks of operating systems do not go much further."""

WAITS_FOREVER: Final = "None waits for as long as it takes"
NONE_IS_API_TIMEOUT: Final = "None is default.api.timeout.ms"
NONE_IS_CLOSE_TIMEOUT: Final = "None is the constructor's close_timeout"

DEFAULT_CLOSE_TIMEOUT_S: Final = 5.0
"""Long enough for brokers that answer. With brokers that are down, a program must not hang for much longer."""


def checked_timeout(value: object, meaning_of_none: str = WAITS_FOREVER, *, name: str = "timeout") -> float | None:
    """Return a timeout in seconds, or None.

    Args:
        value: The caller's value.
        meaning_of_none: The meaning of None for the call; the error message names it.
        name: Name of the parameter.

    Raises:
        ConfigurationError: The value is not None and not a number of seconds from 0 on.
    """
    if value is None:
        return None
    if (type(value) is float or type(value) is int) and 0 <= value <= MAX_SECONDS:  # as almost always, in every poll
        return float(value)
    return checked_seconds(value, name, hint=f"; {meaning_of_none}")


def checked_seconds(value: object, name: str, *, hint: str = "") -> float:
    """Return a number of seconds.

    Args:
        value: The caller's value.
        name: Name of the parameter.
        hint: Advice for the error message about values that are out of range.

    Raises:
        ConfigurationError: The value is not a number of seconds from 0 on.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ConfigurationError(f"{name}={value!r} is not a number of seconds{_remedy(value, hint)}")
    with suppress(OverflowError):  # an integer beyond all floats
        seconds = float(value)
        if 0 <= seconds <= MAX_SECONDS:
            return seconds
    raise ConfigurationError(f"{name}={value!r} is out of range: give a number of seconds, 0 or more{hint}")


def _remedy(value: object, hint: str) -> str:
    if isinstance(value, timedelta):
        return f": give {value.total_seconds()!r} (timedelta.total_seconds())"
    if isinstance(value, str | bytes):
        return f": give an int or float, such as {_number_in(value)}"
    return f": give an int or float{hint}"


def _number_in(text: str | bytes) -> float:
    try:
        number = float(text)
    except ValueError:
        return 1.0
    return number if 0 <= number <= MAX_SECONDS else 1.0
