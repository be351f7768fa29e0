"""Random scenes by seed: which events happen to a worker's rules, and in which order."""

import random
from collections.abc import Callable

from attrs import evolve

from kafka_groups.share.workers.rules.handler_rate import RateRule
from tests.unit.share.workers.rules.naive_world import NaiveWorld, WorldPlan

__all__ = ["play_scene"]

EVENTS = 150
WAITS_MS = (1, 5, 30, 200, 1_000, 4_000, 31_000)
RATES = (None, None, RateRule(5, 1_000, 3), RateRule(2, 60_000, 1), RateRule(50, 1_000, 50))
RUNS_WITH_OUTPUTS = 5
"""One scene of so many has runs of several records with outputs."""
GRACES_MS = (0, 500, 25_000)

Event = Callable[[NaiveWorld, random.Random], None]


def _lose(world: NaiveWorld, rng: random.Random) -> None:
    world.lose(rng.randint(0, 50), rng.choice([1, 2, 100]), is_noticed=rng.random() < 0.5)


def _turn_the_sink(world: NaiveWorld, rng: random.Random) -> None:
    world.handler.is_down = not world.handler.is_down


def _stop(world: NaiveWorld, rng: random.Random) -> None:
    if rng.random() < 0.3:
        world.stop(rng.choice(GRACES_MS))


_WEIGHTS: dict[Event, float] = {
    lambda world, rng: world.produce(rng.randint(1, 6)): 5,
    lambda world, rng: world.deliver(rng.randint(1, 8), rng.randint(0, 2)): 18,
    lambda world, rng: world.work(rng.randint(0, 50)): 35,
    lambda world, rng: world.finish_copy(rng.randint(0, 50), works=rng.random() < 0.75): 10,
    lambda world, rng: world.finish_settle(rng.randint(0, 50), works=rng.random() < 0.8): 13,
    _lose: 5,
    lambda world, rng: world.release(rng.randint(0, 50)): 1,
    lambda world, rng: world.advance(rng.choice(WAITS_MS)): 11,
    lambda world, rng: world.stretch(): 2,
    lambda world, rng: world.hold(is_held=rng.random() < 0.5): 2,
    _turn_the_sink: 2.5,
    _stop: 0.5,
}


def _plan(seed: int, rng: random.Random) -> WorldPlan:
    plan = _any_plan(seed, rng)
    # Outputs of whole runs are written together only if much comes together.
    if seed % RUNS_WITH_OUTPUTS:
        return plan
    return evolve(
        plan,
        concurrency=1 + seed % 2,
        is_keyed=False,
        is_batch=False,
        is_fast=True,
        has_outputs=True,
        rate=None,
        has_retry_topics=False,
        good=20,
    )


def _any_plan(seed: int, rng: random.Random) -> WorldPlan:
    return WorldPlan(
        seed=seed,
        concurrency=rng.randint(1, 4),
        is_keyed=rng.random() < 0.5,
        is_batch=rng.random() < 0.3,
        copies=rng.random() < 0.7,
        holds=rng.random() < 0.2,
        limit=rng.randint(2, 5),
        is_fast=rng.random() < 0.5,
        has_outputs=rng.random() < 0.5,
        rate=rng.choice(RATES),
        has_retry_topics=rng.random() < 0.5,
    )


def play_scene(seed: int) -> None:
    """Play a scene until everything has ended.

    Raises:
        AssertionError: A rule was broken.
    """
    rng = random.Random(seed)
    world = NaiveWorld(_plan(seed, rng))
    world.produce(6)
    for event in rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=EVENTS):
        event(world, rng)
    world.drain()
