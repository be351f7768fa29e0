"""`Worker(start=)`: its forms, and what is refused."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.config.readers import offset_reset_duration_ms
from kafka_groups.errors import ConfigurationError
from kafka_groups.share import Worker
from kafka_groups.share.workers.start_option import GroupStart, checked_start
from kafka_groups.share.workers.worker import parts_of


@pytest.mark.parametrize(
    ("start", "reset"),
    [
        ("earliest", "earliest"),
        ("latest", "latest"),
        (timedelta(hours=1), "by_duration:PT1H"),
        (timedelta(days=2), "by_duration:P2D"),
        (timedelta(days=1, hours=2, minutes=3, seconds=4, milliseconds=50), "by_duration:P1DT2H3M4.05S"),
        (timedelta(milliseconds=7), "by_duration:PT0.007S"),
    ],
)
def test_forms(start: Any, reset: str) -> None:
    worker = Worker("g", bootstrap_servers="x:1", start=start)
    assert parts_of(worker).settings.start == GroupStart("g", reset, f"start={start!r}")


def test_without_a_start_the_group_decides() -> None:
    assert parts_of(Worker("g", bootstrap_servers="x:1")).settings.start is None


@given(st.integers(1, 36_500 * 86_400_000))
def test_durations_are_read_as_they_were_meant(ms: int) -> None:
    start = checked_start(timedelta(milliseconds=ms), "g")
    assert start is not None
    assert offset_reset_duration_ms(start.reset) == ms


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("first", r"start='first': give 'earliest', 'latest' or a timedelta, such as timedelta\(hours=1\)"),
        (3600, "start=3600: give 'earliest'"),
        (True, "start=True: give 'earliest'"),
        (timedelta(0), "of a millisecond or more, or 'latest'"),
        (timedelta(seconds=-5), "of a millisecond or more, or 'latest'"),
        (timedelta(days=40_000), "of 36500 days at most, or 'earliest'"),
        (
            datetime(2026, 1, 31, 12, tzinfo=UTC),
            "point in time.*kafka-groups offsets reset 'my group' --to-datetime 2026-01-31T12:00:00.000Z --topic",
        ),
    ],
    ids=str,
)
def test_starts_that_are_refused(start: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Worker("my group", bootstrap_servers="x:1", start=start)


def test_the_command_that_sets_it_can_be_pasted() -> None:
    start = GroupStart("it's", "earliest", "start='earliest'")
    assert start.command == "kafka-groups groups configs 'it'\"'\"'s' --set share.auto.offset.reset=earliest"
