import io

import attrs
from rich.console import Console

from kafka_groups.cli.demo.flights import Delays
from kafka_groups.cli.demo.plain.report import print_report
from kafka_groups.cli.demo.plain.tally import PlainOutcome

DELAYS = (
    {"UA": Delays(1_000, 990, 9_900, 980, -490), "F9": Delays(10, 0, 0, 0, 0), "EV": Delays(5, 5, 50, 5, 75)},
    {f"EWR-{number}": Delays(1, 1, number, 1, number) for number in range(20)},
)
OUTCOME = PlainOutcome(
    published=1_015, stored=1_015, delivered=1_020, accepted=1_015, redelivered=5, computed=DELAYS, expected=DELAYS
)


def printed(outcome: PlainOutcome) -> list[str]:
    paper = io.StringIO()
    print_report(Console(file=paper, width=100), outcome, 12_345)
    return paper.getvalue().splitlines()


def test_carriers_are_ordered_by_their_delay() -> None:
    names = [line.split()[1] for line in printed(OUTCOME) if any(f" {name} " in line for name in DELAYS[0])]
    assert names == ["EV", "F9", "UA"]
    (united,) = (line for line in printed(OUTCOME) if " UA " in line)
    assert [word for word in united.split() if word not in ("│", "UA")] == ["1,000", "10", "10.0", "-0.5"]


def test_worst_routes_are_shown() -> None:
    assert sum("EWR-" in line for line in printed(OUTCOME)) == 8
    assert any("The 8 worst of 20 routes" in line for line in printed(OUTCOME))


def test_tally_and_verdict_are_shown() -> None:
    lines = printed(OUTCOME)
    for name, number in (("delivered", "1,020"), ("accepted", "1,015"), ("redelivered", "5"), ("lost", "0")):
        assert any(name in line and number in line for line in lines), name
    assert lines[-1].startswith("Every flight is accounted for")


def test_faults_are_shown_instead_of_the_verdict() -> None:
    lines = printed(attrs.evolve(OUTCOME, stored=1_014))
    assert lines[-1] == "The run failed: 1 published records were not stored."
