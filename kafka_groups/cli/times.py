"""Times as users write and read them: ISO 8601."""

from datetime import UTC, datetime
from typing import Any, Final

import click

from kafka_groups.cli.text_tables import UNKNOWN

__all__ = ["TIME", "shown_ms", "time_of"]

_MILLISECOND: Final = 1_000


def time_of(text: str) -> datetime:
    """Return a time; without a time zone, it is in UTC.

    Raises:
        ValueError: The text is not a time.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time such as 2026-01-31T12:00:00.") from error
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def shown_ms(at_ms: int | None) -> str:
    """Return a time in milliseconds since 1970 as text, in UTC. Calendars don't have all numbers: those are shown."""
    if at_ms is None:
        return UNKNOWN
    try:
        time = datetime.fromtimestamp(at_ms / _MILLISECOND, UTC)
    except (OverflowError, ValueError, OSError):
        return str(at_ms)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _TimeType(click.ParamType):  # type: ignore[type-arg] # not generic in older releases
    """The value of an option that is a time. Commands get milliseconds since 1970."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return round(time_of(value).timestamp() * _MILLISECOND)
        except ValueError as error:
            self.fail(str(error), param, ctx)


TIME: Final = _TimeType()
"""The type of options with a time."""
