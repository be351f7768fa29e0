"""The rules of a producer against naive brokers: answers lost, leaders moved, batches refused and divided, epochs."""

import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.support.producing.random_runs import FAULTY, HARMLESS, RandomRun, run_of

SEEDS, SLOW_SEEDS = range(50), range(50, 5_000)


def test_each_record_is_written_once_and_in_order_or_refused() -> None:
    for seed in SEEDS:
        run_of(seed)


@pytest.mark.slow
def test_each_record_is_written_once_and_in_order_or_refused_in_many_runs() -> None:
    for seed in SLOW_SEEDS:
        run_of(seed)


class ProducingMachine(RuleBasedStateMachine):
    """The same, for Hypothesis, which shortens a run that fails."""

    @initialize(rng=st.randoms(use_true_random=False))
    def begin(self, rng: random.Random) -> None:
        self.run = RandomRun(rng)

    @rule(name=st.sampled_from(HARMLESS))
    def go_on(self, name: str) -> None:
        self.run.act(name)

    @rule(name=st.sampled_from((*FAULTY, "write", "handle", "deliver")))
    def meet_a_fault(self, name: str) -> None:
        self.run.act(name)

    @rule()
    def settle(self) -> None:
        self.run.end()

    def teardown(self) -> None:
        if hasattr(self, "run"):
            self.run.end()


TestProducing = ProducingMachine.TestCase
TestProducing.settings = settings(
    max_examples=8, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
