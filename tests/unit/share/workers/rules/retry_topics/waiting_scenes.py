"""Random scenes of members that wait in retry topics."""

import random

from tests.unit.share.workers.rules.retry_topics.waiting_world import WaitingWorld, WorldSettings

__all__ = ["play_waiting_scene"]

_EVENTS = 150
_DELAYS = ((10, 60, 600), (2, 20), (10,), (10, 3_600, 86_400))
_PAUSES_MS = (0, 1, 100, 1_000, 5_000, 30_000)


def play_waiting_scene(seed: int) -> WaitingWorld:
    """Play a scene to its end. Returns what is left to look at."""
    rng = random.Random(f"{seed}/scene")
    settings = WorldSettings(
        seed=seed, delays=rng.choice(_DELAYS), partitions=rng.choice((1, 2, 5)), concurrency=rng.choice((1, 4, 20))
    )
    world = WaitingWorld(settings)
    # Few kills, many of them, or one after the other while nothing ever gets far.
    kills = rng.choice((0.0, 0.05, 0.3))
    world.begin_all()
    for _ in range(_EVENTS):
        _happen(world, rng, kills)
    world.drain()
    return world


def _happen(world: WaitingWorld, rng: random.Random, kills: float) -> None:
    longest_ms = 3 * world.topics.topics[-1].delay_ms
    if rng.random() < 0.3:
        for _ in range(rng.choice((1, 1, 3, 40))):
            world.fail(rng.randint(world.topics.smallest_ms, longest_ms))
    world.begin_all()
    member, choice = rng.choice(world.members), rng.randrange(1_000)
    if rng.random() < kills:
        world.kill(member)
    elif rng.random() < kills / 2:
        world.stop(member)
    for each in [*world.members]:
        if each.is_stopping and each.handling.is_done:
            world.kill(each)
            continue
        for _ in range(rng.choice((0, 1, 1, 4))):
            world.fetch(each)
        for _ in range(rng.choice((0, 2, 8))):
            world.end_run(each, choice)
            world.end_write(each, choice, works=rng.random() < 0.9)
            world.end_settle(each, choice)
    # Some pauses are short beside the delays, and some end when a delay does.
    world.advance(rng.choice((*_PAUSES_MS, longest_ms // 6, world.topics.smallest_ms, longest_ms)))
