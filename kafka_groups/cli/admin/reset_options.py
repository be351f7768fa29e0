"""The options of `kafka-groups offsets reset` and `streams offsets reset`, with the names of Kafka's tools."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import click
from attrs import frozen

from kafka_groups.cli.admin.topic_options import chosen_topics, topic_options
from kafka_groups.cli.key_value import refuse_repeated
from kafka_groups.cli.times import time_of
from kafka_groups.net.clock import SystemClock
from kafka_groups.types import TopicPartition

__all__ = [
    "ResetOptions",
    "offsets_in_file",
    "parsed_duration",
    "parsed_time",
    "reset_options",
    "share_reset",
    "share_reset_options",
]

F = TypeVar("F", bound=Callable[..., Any])
ResetPlace = Literal["earliest", "latest", "current"] | datetime | int | Mapping[TopicPartition, int]

_DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)
_COLUMNS = 3

_FLAGS: Mapping[str, Literal["earliest", "latest", "current"]] = {
    "to_earliest": "earliest",
    "to_latest": "latest",
    "to_current": "current",
}
_VALUES = ("to_offset", "to_datetime", "by_duration", "shift_by", "from_file")
_ALL_PLACES = (*_FLAGS, *_VALUES)
_OF_SHARE_GROUPS = ("to_earliest", "to_latest", "to_datetime", "by_duration")
_NOT_OF_SHARE_GROUPS: Mapping[str, object] = {
    "to_current": False, "to_offset": None, "shift_by": None, "from_file": None, "export": False,
    "delete_all_internal_topics": False, "internal_topics": (),
}  # fmt: skip


def reset_options(command: F) -> F:
    """Add the options to a command, which passes them to `ResetOptions.read`."""
    for option in reversed((*_PLACES, topic_options, *_OTHERS)):
        command = option(command)
    return command


def share_reset_options(command: F) -> F:
    """Add those options to a command that a share group has: places in time, topics, and whether to do it."""
    for option in reversed((*_TIMES, topic_options, *_CONSENT)):
        command = option(command)
    return command


def share_reset(given: Mapping[str, Any]) -> "ResetOptions":
    """Return what the options of `share_reset_options` say.

    Raises:
        click.UsageError: Options are missing, contradict each other, or have invalid values.
    """
    return ResetOptions.read({**_NOT_OF_SHARE_GROUPS, **given}, names=_OF_SHARE_GROUPS)


_TIMES = (
    click.option("--to-earliest", is_flag=True, help="To the first records."),
    click.option("--to-latest", is_flag=True, help="To the end."),
    click.option(
        "--to-datetime",
        metavar="TIME",
        help="To the first records since a time: 2026-01-31T12:00:00, in UTC or with +01:00.",
    ),
    click.option("--by-duration", metavar="PnDTnHnMnS", help="To the first records of the last hours, such as PT6H."),
)
_CONSENT = (
    click.option("--dry-run", is_flag=True, help="Print the new offsets and change nothing."),
    click.option("--execute", is_flag=True, help="Move the group."),
)
_PLACES = (
    click.option("--to-earliest", is_flag=True, help="To the first records."),
    click.option("--to-latest", is_flag=True, help="To the end."),
    click.option("--to-current", is_flag=True, help="To the committed offsets, or to the end where there are none."),
    click.option("--to-offset", type=click.IntRange(0), help="To this offset, or the nearest one that exists."),
    click.option(
        "--to-datetime",
        metavar="TIME",
        help="To the first records since a time: 2026-01-31T12:00:00, in UTC or with +01:00.",
    ),
    click.option("--by-duration", metavar="PnDTnHnMnS", help="To the first records of the last hours, such as PT6H."),
    click.option("--shift-by", type=int, help="So many records after the committed offsets, or before if negative."),
    click.option(
        "--from-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="To the offsets in a CSV file with the columns topic, partition and offset.",
    ),
)
_OTHERS = (
    click.option("--dry-run", is_flag=True, help="Print the new offsets and change nothing."),
    click.option("--execute", is_flag=True, help="Move the group."),
    click.option("--export", is_flag=True, help="Print the new offsets as CSV, for --from-file."),
    click.option("--delete-all-internal-topics", is_flag=True, help="Also delete changelogs and repartition topics."),
    click.option(
        "--delete-internal-topic",
        "internal_topics",
        multiple=True,
        metavar="TOPIC",
        help="Also delete this internal topic. Repeatable.",
    ),
)


@frozen(kw_only=True)
class ResetOptions:
    """The options of a reset, checked and parsed.

    Attributes:
        to: Where the group goes, or None if it is shifted.
        shift_by: By how many records it is shifted, or None.
        topics: Topics and partitions; None for all input topics, or if `to` names the partitions.
        is_dry_run: Whether nothing is changed.
        exports: Whether the new offsets are printed as CSV.
        deletes_all_internal_topics: Whether all internal topics are deleted.
        internal_topics: Internal topics to delete.
    """

    to: ResetPlace | None
    shift_by: int | None
    topics: tuple[str | TopicPartition, ...] | None
    is_dry_run: bool
    exports: bool
    deletes_all_internal_topics: bool
    internal_topics: tuple[str, ...]

    @classmethod
    def read(cls, given: Mapping[str, Any], names: Iterable[str] = _ALL_PLACES) -> Self:
        """Return the options, checked and parsed.

        Raises:
            click.UsageError: Options are missing, contradict each other, or have invalid values.
        """
        if given["dry_run"] == given["execute"]:
            raise click.UsageError("Give either --dry-run or --execute.")
        all_internal, some_internal = given["delete_all_internal_topics"], given["internal_topics"]
        if all_internal and some_internal:
            raise click.UsageError("Give either --delete-all-internal-topics or --delete-internal-topic.")
        if given["dry_run"] and (all_internal or some_internal):
            raise click.UsageError("Internal topics are deleted with --execute only.")
        to = _place(given, names)
        return cls(
            to=to,
            shift_by=given["shift_by"],
            topics=_topics(given, names_partitions=isinstance(to, Mapping)),
            is_dry_run=given["dry_run"],
            exports=given["export"],
            deletes_all_internal_topics=all_internal,
            internal_topics=some_internal,
        )


def _topics(given: Mapping[str, Any], *, names_partitions: bool) -> tuple[str | TopicPartition, ...] | None:
    some, every = given["input_topics"], given["all_input_topics"]
    if not names_partitions:
        return chosen_topics(some, all_input_topics=every)
    if some or every:
        raise click.UsageError("The file of --from-file names the partitions: leave --topic out.")
    return None


def _place(given: Mapping[str, Any], names: Iterable[str]) -> ResetPlace | None:
    chosen = [*(name for name in _FLAGS if given[name]), *(name for name in _VALUES if given[name] is not None)]
    if len(chosen) != 1:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in names)
        raise click.UsageError(f"Give exactly one of {options}.")
    (name,) = chosen
    return _FLAGS[name] if name in _FLAGS else _READERS[name](given[name])


def _before_now(duration: str) -> datetime:
    now = datetime.fromtimestamp(SystemClock().wall_ms() / 1000, UTC)
    try:
        return now - parsed_duration(duration)
    except OverflowError as error:
        raise click.BadParameter(f"{duration!r} is too long.", param_hint="--by-duration") from error


def parsed_time(text: str) -> datetime:
    """Return a time; without a time zone, it is in UTC.

    Raises:
        click.BadParameter: The text is not a time.
    """
    try:
        return time_of(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--to-datetime") from error


def parsed_duration(text: str) -> timedelta:
    """Return a duration of ISO 8601, with days and smaller units.

    Raises:
        click.BadParameter: The text is not a duration.
    """
    match = _DURATION.fullmatch(text)
    parts = {} if match is None else {unit: float(found) for unit, found in match.groupdict().items() if found}
    if not parts:
        raise click.BadParameter(f"{text!r} is not a duration such as P1DT6H30M.", param_hint="--by-duration")
    return timedelta(**parts)


def offsets_in_file(file: Path) -> dict[TopicPartition, int]:
    """Return the offsets in a CSV file, such as --export prints it.

    Raises:
        click.BadParameter: A line has other columns, the file has no lines, or it names a partition twice.
    """
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [(number, row) for number, row in enumerate(csv.reader(lines), 1) if row]
    if not rows:
        raise click.BadParameter(f"{file} has no offsets.", param_hint="--from-file")
    offsets = [_row(file, number, row) for number, row in rows]
    refuse_repeated([str(partition) for partition, _ in offsets], "--from-file")
    return dict(offsets)


def _row(file: Path, number: int, row: Iterable[str]) -> tuple[TopicPartition, int]:
    columns = [column.strip() for column in row]
    if len(columns) != _COLUMNS or not columns[0] or not all(column.isdecimal() for column in columns[1:]):
        raise click.BadParameter(
            f"{file}, line {number}: {','.join(columns)!r} is not topic,partition,offset.", param_hint="--from-file"
        )
    return TopicPartition(columns[0], int(columns[1])), int(columns[2])


_READERS: Mapping[str, Callable[[Any], ResetPlace | None]] = {
    "to_offset": int,
    "to_datetime": parsed_time,
    "by_duration": _before_now,
    "shift_by": lambda _by: None,
    "from_file": offsets_in_file,
}
