"""Durations of users, in milliseconds."""

from datetime import timedelta

from kafka_groups.errors import ConfigurationError

__all__ = ["milliseconds"]


def milliseconds(keyword: str, duration: object, *, minimum: int = 0) -> int:
    """Return a duration in milliseconds.

    Raises:
        ConfigurationError: It is not a `timedelta` of whole milliseconds, or it is shorter than the minimum.
    """
    if not isinstance(duration, timedelta):
        raise ConfigurationError(
            f"{keyword}={duration!r} is not a duration. Give a timedelta, such as "
            f"timedelta(seconds={_seconds(duration)})."
        )
    found, rest = divmod(duration, timedelta(milliseconds=1))
    if rest:
        raise ConfigurationError(f"{keyword}={duration!r} is not a number of whole milliseconds. Round it.")
    if found < minimum:
        raise ConfigurationError(f"{keyword}={duration!r} is too short. Give at least {minimum} ms.")
    return found


def _seconds(given: object) -> int:
    """Return the number for an example: what was given instead of a duration, if it can be seconds."""
    return given if type(given) is int and given > 0 else 30
