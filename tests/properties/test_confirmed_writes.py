"""Writes with outcomes against naive brokers of several topics: outages, lost answers, refusals, withdrawals."""

import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.support.producing.confirmed_runs import FAULTY, HARMLESS, ConfirmedRun, confirmed_run_of

SEEDS, SLOW_SEEDS = range(20), range(20, 2_000)


def test_each_write_has_one_outcome_that_is_true() -> None:
    for seed in SEEDS:
        confirmed_run_of(seed)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_each_write_has_one_outcome_that_is_true_in_many_runs() -> None:
    for seed in SLOW_SEEDS:
        confirmed_run_of(seed)


class ConfirmingMachine(RuleBasedStateMachine):
    """The same, for Hypothesis, which shortens a run that fails."""

    @initialize(rng=st.randoms(use_true_random=False))
    def begin(self, rng: random.Random) -> None:
        self.run = ConfirmedRun(rng)

    @rule(name=st.sampled_from(HARMLESS))
    def go_on(self, name: str) -> None:
        self.run.act(name)

    @rule(name=st.sampled_from((*FAULTY, "write", "go_on")))
    def meet_a_fault(self, name: str) -> None:
        self.run.act(name)

    @rule()
    def settle(self) -> None:
        self.run.end()

    def teardown(self) -> None:
        if hasattr(self, "run"):
            self.run.end()


TestConfirming = ConfirmingMachine.TestCase
TestConfirming.settings = settings(
    max_examples=8, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
