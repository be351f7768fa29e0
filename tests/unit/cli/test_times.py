from datetime import UTC, datetime

import click
import pytest
from click.testing import CliRunner

from kafka_groups.cli.times import TIME, shown_ms, time_of


def test_a_time_without_a_zone_is_in_utc() -> None:
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert time_of("2026-01-31T12:00:00") == time_of("2026-01-31T13:00:00+01:00") == noon


@pytest.mark.parametrize(
    ("at_ms", "shown"),
    [
        (1_796_081_509_213, "2026-11-30T23:31:49.213Z"),
        (0, "1970-01-01T00:00:00.000Z"),
        (None, "-"),
        (2**62, str(2**62)),
    ],
)
def test_times_are_shown_in_utc(at_ms: int | None, shown: str) -> None:
    assert shown_ms(at_ms) == shown


def test_an_option_takes_a_time_in_milliseconds() -> None:
    @click.command()
    @click.option("--since", type=TIME)
    def command(since: int | None) -> None:
        click.echo(since)

    assert CliRunner().invoke(command, ["--since", "1970-01-01T00:00:01.5"]).output == "1500\n"
    refused = CliRunner().invoke(command, ["--since", "yesterday"])
    assert refused.exit_code == 2
    assert "'yesterday' is not a time such as 2026-01-31T12:00:00." in refused.output
