"""The options that select dead letters."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kafka_groups.cli.times import TIME
from kafka_groups.share.dead_letters.rules.dead_letter_records import RecordPlace
from kafka_groups.share.dead_letters.rules.selections import DeadLetterSelection

__all__ = ["PLACE", "selected", "selection_options"]

F = TypeVar("F", bound=Callable[..., Any])


class _PlaceType(click.ParamType):  # type: ignore[type-arg] # not generic in older releases
    """The place of a record in its topic."""

    name = "partition@offset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> RecordPlace:
        if isinstance(value, RecordPlace):
            return value
        try:
            return RecordPlace.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


PLACE = _PlaceType()
"""The type of arguments such as `0@12`."""

_OPTIONS = (
    click.option("--since", type=TIME, metavar="TIME", help="Those from this time on: 2026-01-31T12:00:00, in UTC."),
    click.option("--until", type=TIME, metavar="TIME", help="Those before this time."),
    click.option("--origin", metavar="TOPIC[:PARTITION]", help="Those that came from this topic or partition."),
    click.option("--reason", metavar="TEXT", help="Those whose reason contains this text, in upper or lower case."),
)


def selection_options(command: F) -> F:
    """Add the options to a command, which passes them to `selected`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def selected(
    *,
    since: int | None,
    until: int | None,
    origin: str | None,
    reason: str | None,
    places: tuple[RecordPlace, ...] = (),
) -> DeadLetterSelection:
    """Return the selection that options say.

    Raises:
        click.UsageError: They contradict each other, or have invalid values.
    """
    topic, partition = (None, None) if origin is None else _origin(origin)
    if since is not None and until is not None and until <= since:
        raise click.UsageError("--until is not after --since, so that nothing is selected.")
    selection = DeadLetterSelection(
        since_ms=since, until_ms=until, origin_topic=topic, origin_partition=partition, reason=reason
    )
    if not places:
        return selection
    if selection:
        raise click.UsageError("Give either PARTITION@OFFSET or --since, --until, --origin and --reason.")
    return DeadLetterSelection(places=frozenset(places))


def _origin(text: str) -> tuple[str, int | None]:
    # A colon is not allowed in the name of a topic.
    topic, colon, partition = text.partition(":")
    if not topic or (colon and not (partition.isascii() and partition.isdecimal())):
        raise click.BadParameter(f"{text!r} is not of the form TOPIC or TOPIC:PARTITION.", param_hint="--origin")
    return topic, int(partition) if colon else None
