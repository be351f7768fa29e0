"""The report shows the tables, the tally and the verdict."""

import io

import attrs
from rich.console import Console

from kafka_groups.cli.demo.flights import Delays
from kafka_groups.cli.demo.pipeline.report import print_report
from kafka_groups.cli.demo.pipeline.tally import PipelineOutcome
from tests.unit.cli.demo.pipeline.test_tally import GOOD

DELAYS = {
    ("United Air Lines Inc.", "fair"): Delays(1_000, 990, 9_900, 980, -490),
    ("United Air Lines Inc.", "rain or snow"): Delays(100, 90, 900, 80, 4_000),
    ("Frontier Airlines Inc.", "fair"): Delays(10, 0, 0, 0, 0),
}


def printed(outcome: PipelineOutcome) -> list[str]:
    paper = io.StringIO()
    print_report(Console(file=paper, width=100), outcome, 12_345)
    return paper.getvalue().splitlines()


def test_delays_are_summed_up_by_airline_and_by_weather() -> None:
    lines = printed(attrs.evolve(GOOD, delays=DELAYS, expected=DELAYS))
    (united,) = (line for line in lines if "United" in line)
    assert [word.strip() for word in united.split("│")[2:6]] == ["1,100", "20", "10.0", "3.3"]
    (fair,) = (line for line in lines if "fair" in line)
    assert [word.strip() for word in fair.split("│")[2:6]] == ["1,010", "20", "10.0", "-0.5"]


def test_tally_and_verdict_are_shown() -> None:
    lines = printed(GOOD)
    for name, number in (("redelivered", "20"), ("duplicates removed", "15"), ("lost", "0"), ("published", "110")):
        assert any(f" {name} " in line and f" {number} " in line for line in lines), name
    assert lines[-1].startswith("Every record is accounted for: 100 enriched flights")


def test_faults_are_shown_instead_of_the_verdict() -> None:
    assert printed(attrs.evolve(GOOD, removed=14))[-1] == ("The run failed: 14 of 15 duplicates were removed.")
