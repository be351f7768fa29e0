"""The rules of handler workers in random scenes: a naive broker, a naive handler, lost locks, outages and shutdowns."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.unit.share.workers.rules.naive_world import NaiveWorld, WorldPlan
from tests.unit.share.workers.rules.random_scenes import RATES

CHOICE = st.integers(0, 50)
WORKS = st.sampled_from([True, True, True, False])
WAITS_MS = st.sampled_from([1, 5, 30, 200, 1_000, 4_000, 31_000])

plans = st.builds(
    WorldPlan,
    seed=st.integers(0, 2**32),
    concurrency=st.integers(1, 4),
    is_keyed=st.booleans(),
    is_batch=st.booleans(),
    copies=st.booleans(),
    holds=st.sampled_from([False, False, True]),
    limit=st.integers(2, 5),
    is_fast=st.booleans(),
    has_outputs=st.booleans(),
    rate=st.sampled_from(RATES),
    has_retry_topics=st.booleans(),
)


class HandlingMachine(RuleBasedStateMachine):
    @initialize(plan=plans)
    def begin(self, plan: WorldPlan) -> None:
        self.world = NaiveWorld(plan)
        self.world.produce(6)

    @rule(records=st.integers(1, 6))
    def produce(self, records: int) -> None:
        self.world.produce(records)

    @rule(most=st.integers(1, 8), partition=st.integers(0, 2))
    def deliver(self, most: int, partition: int) -> None:
        self.world.deliver(most, partition)

    @rule(choices=st.lists(CHOICE, min_size=1, max_size=6))
    def work(self, choices: list[int]) -> None:
        for choice in choices:
            self.world.work(choice)

    @precondition(lambda self: self.world.has_writes)
    @rule(choice=CHOICE, works=WORKS)
    def finish_copy(self, choice: int, works: bool) -> None:
        self.world.finish_copy(choice, works=works)

    @precondition(lambda self: self.world.settles)
    @rule(choice=CHOICE, works=WORKS)
    def finish_settle(self, choice: int, works: bool) -> None:
        self.world.finish_settle(choice, works=works)

    @precondition(lambda self: self.world.in_hand)
    @rule(choice=CHOICE, most=st.sampled_from([1, 2, 100]), is_noticed=st.booleans())
    def lose(self, choice: int, most: int, is_noticed: bool) -> None:
        self.world.lose(choice, most, is_noticed=is_noticed)

    @precondition(lambda self: self.world.in_hand)
    @rule(choice=CHOICE)
    def release(self, choice: int) -> None:
        self.world.release(choice)

    @rule(wait_ms=WAITS_MS)
    def advance(self, wait_ms: int) -> None:
        self.world.advance(wait_ms)

    @rule()
    def stretch(self) -> None:
        self.world.stretch()

    @rule(is_held=st.booleans())
    def hold(self, is_held: bool) -> None:
        self.world.hold(is_held=is_held)

    @rule(is_down=st.booleans())
    def turn_the_sink(self, is_down: bool) -> None:
        self.world.handler.is_down = is_down

    @precondition(lambda self: self.world.jobs)
    @rule(grace_ms=st.sampled_from([0, 500, 25_000]), dice=st.integers(0, 9))
    def stop(self, grace_ms: int, dice: int) -> None:
        if dice == 0:
            self.world.stop(grace_ms)

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.drain()


HandlingMachine.TestCase.settings = settings(max_examples=settings().max_examples, stateful_step_count=60)
TestHandling = HandlingMachine.TestCase
