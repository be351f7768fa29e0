from pathlib import Path

from kafka_groups.cli.admin.connection import BrokerChoice
from kafka_groups.cli.records.reading_options import ReadingOptions
from kafka_groups.cli.records.reading_progress import ReadingProgress
from kafka_groups.cli.records.record_forms import ValueLines


class HandClock:
    def __init__(self) -> None:
        self.at_ms = 0

    def now_ms(self) -> int:
        return self.at_ms

    def wall_ms(self) -> int:
        return self.at_ms


def progress(most: int | None, timeout_s: float | None) -> tuple[ReadingProgress, HandClock]:
    clock = HandClock()
    options = ReadingOptions(BrokerChoice(None, Path("none"), 1.0), ValueLines(), most, timeout_s)
    return ReadingProgress(options, clock), clock


def test_time_runs_from_the_last_record() -> None:
    found, clock = progress(5, 3.0)
    clock.at_ms = 2_900
    assert (found.is_over, found.wait_ms, found.left) == (False, 100, 5)
    found.note(2)
    assert (found.is_over, found.wait_ms, found.left) == (False, 500, 3)
    clock.at_ms = 5_900
    assert (found.is_over, found.shortage) == (True, "2 of 5 records after 3 s")


def test_enough_records_are_the_end() -> None:
    found, _ = progress(2, None)
    found.note(1)
    assert not found.is_over
    found.note(1)
    assert (found.is_over, found.shortage) == (True, None)


def test_without_limits_there_is_no_end() -> None:
    found, clock = progress(None, None)
    clock.at_ms = 10**9
    assert (found.is_over, found.left, found.wait_ms, found.shortage) == (False, None, 500, None)
    found, clock = progress(None, 1.0)
    clock.at_ms = 1_000
    assert (found.is_over, found.shortage) == (True, None)
