"""The options of a reset: where to, which topics, and what contradicts itself."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import click
import pytest

from kafka_groups.cli.admin.reset_options import (
    ResetOptions,
    offsets_in_file,
    parsed_duration,
    parsed_time,
    reset_options,
)
from kafka_groups.net.clock import SystemClock
from kafka_groups.types import TopicPartition

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


@click.command()
@reset_options
def command(**given: Any) -> ResetOptions:
    """Return what the options say."""
    return ResetOptions.read(given)


def read(*arguments: str) -> ResetOptions:
    """What a command with these options gets."""
    options = command.main(arguments, standalone_mode=False)
    assert isinstance(options, ResetOptions)
    return options


def whole(*arguments: str) -> ResetOptions:
    """The options of a reset of all input topics that is carried out."""
    return read(*arguments, "--all-input-topics", "--execute")


@pytest.mark.parametrize(
    ("option", "to"),
    [
        (["--to-earliest"], "earliest"),
        (["--to-latest"], "latest"),
        (["--to-current"], "current"),
        (["--to-offset", "0"], 0),
        (["--to-datetime", "2026-01-31T12:00"], datetime(2026, 1, 31, 12, tzinfo=UTC)),
    ],
)
def test_places(option: list[str], to: object) -> None:
    options = whole(*option)
    assert (options.to, options.shift_by, options.topics) == (to, None, None)


def test_shifts() -> None:
    options = whole("--shift-by", "-5")
    assert (options.to, options.shift_by) == (None, -5)
    assert whole("--shift-by", "0").shift_by == 0


def test_durations_end_now() -> None:
    to = whole("--by-duration", "PT1H").to
    assert isinstance(to, datetime)
    assert (
        timedelta(minutes=59) < datetime.fromtimestamp(SystemClock().wall_ms() / 1000, UTC) - to < timedelta(minutes=61)
    )


def test_a_file_names_the_partitions(tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text('orders,0,5\n\n"orders", 1 ,7\n')
    assert offsets_in_file(file) == {FIRST: 5, SECOND: 7}
    options = read("--from-file", str(file), "--execute")
    assert (options.to, options.topics) == ({FIRST: 5, SECOND: 7}, None)
    with pytest.raises(click.UsageError, match="leave --topic out"):
        read("--from-file", str(file), "--execute", "--all-input-topics")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no offsets"),
        ("orders,0,7\norders,0,8\n", "'orders-0' is given more than once"),
        ("orders,0\n", "line 1: 'orders,0' is not topic,partition,offset"),
        ("orders,0,1\norders,0,-1\n", "line 2: 'orders,0,-1' is not"),
        ("orders,x,1\n", "'orders,x,1' is not"),
        (",0,1\n", "',0,1' is not"),
        ("app,orders,0,1\n", "'app,orders,0,1' is not"),
    ],
)
def test_lines_that_are_no_offsets_are_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text(text)
    with pytest.raises(click.BadParameter, match=message):
        offsets_in_file(file)


def test_what_else_is_said() -> None:
    options = read("--to-latest", "--input-topic", "orders:1", "--input-topic", "bills", "--dry-run", "--export")
    assert options.topics == (SECOND, "bills")
    assert (options.is_dry_run, options.exports) == (True, True)
    assert (options.deletes_all_internal_topics, options.internal_topics) == (False, ())
    assert whole("--to-latest", "--delete-all-internal-topics").deletes_all_internal_topics
    some = whole("--to-latest", "--delete-internal-topic", "a", "--delete-internal-topic", "b")
    assert (some.internal_topics, some.is_dry_run, some.exports) == (("a", "b"), False, False)


LATEST = ["--to-latest", "--all-input-topics"]
WRONG: dict[str, list[str]] = {
    "Give either --dry-run or --execute": LATEST,
    "either --dry-run or --execute.": [*LATEST, "--dry-run", "--execute"],
    "Give exactly one of --to-earliest, --to-latest, --to-current, --to-offset": ["--all-input-topics", "--execute"],
    "exactly one of": [*LATEST, "--to-earliest", "--execute"],
    "--by-duration, --shift-by, --from-file": [*LATEST, "--shift-by", "0", "--execute"],
    "either --topic": ["--to-latest", "--execute"],
    "either --delete-all-internal-topics or": [
        *LATEST, "--execute", "--delete-all-internal-topics", "--delete-internal-topic", "a",
    ],
    "with --execute only": [*LATEST, "--dry-run", "--delete-all-internal-topics"],
    "deleted with --execute only": [*LATEST, "--dry-run", "--delete-internal-topic", "a"],
    "'noon' is not a time": ["--to-datetime", "noon", "--all-input-topics", "--execute"],
    "'1h' is not a duration": ["--by-duration", "1h", "--all-input-topics", "--execute"],
    "'P999999999D' is too long": ["--by-duration", "P999999999D", "--all-input-topics", "--execute"],
    "'P9999999999D' is too long": ["--by-duration", "P9999999999D", "--all-input-topics", "--execute"],
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_what_contradicts_itself_is_refused(message: str) -> None:
    with pytest.raises(click.UsageError) as raised:
        read(*WRONG[message])
    assert message in str(raised.value.message)


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("P1DT2H3M4.5S", timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
        ("PT90M", timedelta(minutes=90)),
        ("P7D", timedelta(days=7)),
        ("PT0S", timedelta(0)),
    ],
)
def test_durations(text: str, duration: timedelta) -> None:
    assert parsed_duration(text) == duration


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "P1H", "PT1D", "1D", "PT-1H", "P1W"])
def test_what_is_no_duration_is_named(text: str) -> None:
    with pytest.raises(click.BadParameter, match=f"'{text}' is not a duration"):
        parsed_duration(text)


def test_times_without_a_zone_are_in_utc() -> None:
    assert parsed_time("2026-01-31T12:00:00.500") == datetime(2026, 1, 31, 12, 0, 0, 500_000, tzinfo=UTC)
    assert parsed_time("2026-01-31") == datetime(2026, 1, 31, tzinfo=UTC)
    at_noon = parsed_time("2026-01-31T12:00+01:00")
    assert at_noon == datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=1)))
