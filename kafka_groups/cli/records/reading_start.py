"""`consume --from`: where reading begins in each partition."""

import re
from typing import Any, Final

import click
from attrs import frozen

from kafka_groups.cli.times import time_of

__all__ = ["READING_START", "ReadingStart"]

_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_FORMS: Final = "Give earliest, latest, an offset, -N for the last N, or a time such as 2026-01-31T12:00:00."
_MS: Final = 1_000


@frozen
class ReadingStart:
    """The place where reading begins.

    Attributes:
        at: `earliest`, `latest`, an offset, or a negative number for so many offsets before the end.
        time_ms: A time in milliseconds since 1970, in place of the others.
    """

    at: str | int
    time_ms: int | None = None

    @classmethod
    def parse(cls, text: str) -> "ReadingStart":
        """Return the start that a text says.

        Raises:
            ValueError: It has none of the forms.
        """
        if text in ("earliest", "latest"):
            return cls(text)
        if _NUMBER.fullmatch(text):
            return cls(int(text) if text != "-0" else "latest")
        try:
            return cls("", round(time_of(text).timestamp() * _MS))
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{text!r} is not a place to begin. {_FORMS}") from error


class _StartType(click.ParamType):  # type: ignore[type-arg] # not generic in older releases
    """The value of `--from`."""

    name = "start"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ReadingStart:
        if isinstance(value, ReadingStart):
            return value
        try:
            return ReadingStart.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


READING_START: Final = _StartType()
"""The type of the option."""
