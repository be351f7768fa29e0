"""The page about a run holds its results, its events and the topology."""

from pathlib import Path

import pytest

from kafka_groups.cli.demo.streams.outcome import RunEvent, StreamsOutcome
from kafka_groups.cli.demo.streams.page import mean_by_day, write_page
from kafka_groups.cli.demo.streams.topology import Sums, build

DAY_MS = 86_400_000
SUMS = {"United|0": Sums(3, 12, 1), "JetBlue|0": Sums(1, 0, 0), f"United|{DAY_MS}": Sums(2, 9, 0)}
TIMELINE = [(0.5, 0), (1.0, 4), (2.0, 6)]
EVENTS = [RunEvent(0.7, "Process 0 killed")]


def page(tmp_path: Path, outcome: StreamsOutcome) -> str:
    path = tmp_path / "page.html"
    write_page(path, outcome, build("demo"))
    return path.read_text(encoding="utf-8")


def test_the_page_has_results_events_and_topology(tmp_path: Path) -> None:
    text = page(tmp_path, StreamsOutcome(6, 4, 6, 0, SUMS, SUMS, timeline=TIMELINE, events=EVENTS))
    for part in ("6 flights", "Every flight has exactly one", "United", "Process 0 killed", "demo-flights"):
        assert part in text
    assert "--&gt;" in text  # the arrows of the drawing, escaped


def test_the_page_of_a_run_that_failed_says_why(tmp_path: Path) -> None:
    text = page(tmp_path, StreamsOutcome(6, 4, 6, 2, SUMS, SUMS, timeline=TIMELINE, events=EVENTS))
    assert "2 results stand twice" in text
    assert "Every flight" not in text


def test_means_are_those_of_all_airlines_day_by_day() -> None:
    assert [(time.timestamp() * 1_000, mean) for time, mean in mean_by_day(SUMS)] == [(0, 3.0), (DAY_MS, 4.5)]


def test_a_page_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    outcome = StreamsOutcome(6, 4, 6, 0, SUMS, SUMS, timeline=TIMELINE)
    with pytest.raises(FileNotFoundError):
        write_page(tmp_path / "missing" / "page.html", outcome, build("demo"))
