"""Weights of faults, and the draws that they decide."""

import random

import pytest

from kafka_groups.testing.simulation.faults.seeded_faults import (
    FAULT_NAMES,
    USUAL_FAULT_NAMES,
    FaultDraws,
    SeededFaults,
)


def test_all_faults_strike_unless_they_are_turned_off() -> None:
    faults = SeededFaults(broker_killed=0, process_killed=3)
    assert {name: getattr(faults, name) for name in USUAL_FAULT_NAMES if getattr(faults, name) != 1} == {
        "broker_killed": 0,
        "process_killed": 3,
    }


def test_records_are_lost_or_written_twice_only_if_asked_for() -> None:
    assert set(FAULT_NAMES) - set(USUAL_FAULT_NAMES) == {"log_truncated", "producers_forgotten"}
    assert SeededFaults().log_truncated == SeededFaults().producers_forgotten == 0
    assert SeededFaults(log_truncated=1).log_truncated == 1


def test_only_turns_off_all_others() -> None:
    faults = SeededFaults.only(seconds=60, leader_moved=2)
    assert {name for name in FAULT_NAMES if getattr(faults, name)} == {"leader_moved"}
    assert faults.seconds == 60
    assert not any(getattr(SeededFaults.only(), name) for name in FAULT_NAMES)


def test_a_repr_makes_the_same_faults_again() -> None:
    for faults in (
        SeededFaults(),
        SeededFaults(seconds=1, slow_load=0.5),
        SeededFaults.only(half_dead_connection=9),
        SeededFaults.only(process_stalled=1, stall_seconds=90),
    ):
        assert eval(repr(faults)) == faults
    assert repr(SeededFaults(broker_killed=0)) == "SeededFaults(broker_killed=0)"


@pytest.mark.parametrize("wrong", [{"broker_killed": -1}, {"seconds": -1}, {"stall_seconds": 0}])
def test_negative_weights_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SeededFaults(**wrong)


def test_a_fault_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="broker_painted"):
        SeededFaults.only(broker_painted=1)


def test_weights_make_faults_rarer_and_more_frequent() -> None:
    def share(weight: float) -> float:
        draws, rng = FaultDraws(SeededFaults(late_append=weight)), random.Random(1)
        return sum(draws.strikes(rng, "late_append", 0.2) for _ in range(2000)) / 2000

    assert share(0) == 0
    assert 0.17 < share(1) < 0.23
    assert 0.55 < share(3) < 0.65


def test_stalls_take_as_long_as_the_faults_say_from_the_same_draws() -> None:
    usual, longer = FaultDraws(SeededFaults()), FaultDraws(SeededFaults(stall_seconds=90))
    drawn = [(usual.stall_s(random.Random(seed)), longer.stall_s(random.Random(seed))) for seed in range(50)]
    assert drawn[0][0] == random.Random(0).uniform(0.1, 20)  # existing seeds keep their stalls
    assert 15 < max(stall_s for stall_s, _ in drawn) <= 20
    assert 75 < max(stall_s for _, stall_s in drawn) <= 90


def test_what_strikes_is_counted_and_nothing_strikes_after_the_end() -> None:
    draws, rng = FaultDraws(SeededFaults()), random.Random(1)
    struck = [draws.strikes(rng, "a fault of my own", 0.5) for _ in range(100)]
    assert draws.counts["a fault of my own"] == sum(struck) > 0
    draws.stop()
    assert not draws.is_on
    assert not any(draws.strikes(rng, "late_append", 1.0) for _ in range(100))
