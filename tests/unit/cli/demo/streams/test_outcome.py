"""When a run of the demo of streams holds."""

import pytest

from kafka_groups.cli.demo.streams.outcome import StreamsOutcome, by_airline
from kafka_groups.cli.demo.streams.topology import Sums

SUMS = {"UA|0": Sums(3, 10, 1), "B6|0": Sums(2, 0, 0)}
OTHER = {"UA|0": Sums(3, 10, 2), "B6|0": Sums(2, 0, 0)}


def test_a_run_holds_if_each_flight_has_one_result_and_the_kill_came_in_the_middle() -> None:
    assert StreamsOutcome(5, 2, 5, 0, SUMS, SUMS).holds


@pytest.mark.parametrize(
    ("outcome", "fault"),
    [
        (StreamsOutcome(6, 2, 5, 0, SUMS, SUMS), "5 results were committed, and 6 flights published"),
        (StreamsOutcome(5, 2, 5, 1, SUMS, SUMS), "1 results stand twice"),
        (StreamsOutcome(5, 0, 5, 0, SUMS, SUMS), "the kill"),
        (StreamsOutcome(5, 5, 5, 0, SUMS, SUMS), "the kill"),
        (StreamsOutcome(5, 2, 5, 0, OTHER, SUMS), "differ from those of the plain computation"),
    ],
)
def test_what_is_wrong_is_said(outcome: StreamsOutcome, fault: str) -> None:
    assert not outcome.holds
    assert any(fault in found for found in outcome.faults())


def test_the_days_of_an_airline_are_added() -> None:
    sums = {"UA|0": Sums(3, 10, 1), "UA|86400000": Sums(1, 5, 0), "B6|0": Sums(2, 0, 0)}
    assert by_airline(sums) == {"UA": Sums(4, 15, 1), "B6": Sums(2, 0, 0)}
