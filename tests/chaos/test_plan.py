"""A seed means the same strikes on every machine."""

import pytest

from tests.chaos.plan import Act, Plan


def test_a_seed_means_the_same_strikes() -> None:
    assert list(Plan(7, "embedded").strikes()) == list(Plan(7, "kafka").strikes())
    assert list(Plan(7, "embedded").strikes()) != list(Plan(8, "embedded").strikes())


@pytest.mark.parametrize("seed", range(5))
def test_two_minutes_have_every_kind_of_strike(seed: int) -> None:
    strikes = list(Plan(seed, "embedded", 120).strikes())
    assert {strike.act for strike in strikes} == set(Act) - {Act.START}
    assert {strike.slot for strike in strikes} == {0, 1, 2, 3}
    assert strikes[-1].at_ms < 120_000
