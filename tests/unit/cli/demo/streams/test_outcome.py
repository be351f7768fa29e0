"""When a run of the demo of streams groups holds."""

import pytest

from kafka_groups.cli.demo.streams.outcome import StreamsOutcome

FLIGHTS = {"UA": 3, "B6": 2}


def test_a_run_holds_if_all_is_counted_once_and_the_kill_came_in_the_middle() -> None:
    assert StreamsOutcome(5, 2, FLIGHTS, FLIGHTS).holds


@pytest.mark.parametrize(
    ("outcome", "fault"),
    [
        (StreamsOutcome(6, 2, FLIGHTS, FLIGHTS), "5 flights were counted, and 6 published"),
        (StreamsOutcome(5, 0, FLIGHTS, FLIGHTS), "the kill"),
        (StreamsOutcome(5, 5, FLIGHTS, FLIGHTS), "the kill"),
        (StreamsOutcome(5, 2, {"UA": 2, "B6": 3}, FLIGHTS), "differ from those of the plain computation"),
    ],
)
def test_what_is_wrong_is_said(outcome: StreamsOutcome, fault: str) -> None:
    assert not outcome.holds
    assert any(fault in found for found in outcome.faults())
