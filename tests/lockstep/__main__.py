"""Run seeds and shrink what differs: `python -m tests.lockstep 7` or `python -m tests.lockstep 0-99`.

A profile after the seeds chooses another release than the newest: `python -m tests.lockstep 0-99 4.2`.
"""

import asyncio
import sys

from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile, profile_named
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.lockstep.choosing import Choice
from tests.lockstep.pair import Pair, pair_with
from tests.lockstep.reporting import report


async def main(seeds: range, real: str, profile: Profile) -> int:
    """Run the seeds one after the other; returns how many differ."""
    differing = 0
    async with pair_with(real, profile) as pair:
        for seed in seeds:
            differing += await _run(pair, seed)
    return differing


async def _run(pair: Pair, seed: int) -> bool:
    outcome = await pair.run(Choice(seed))
    print(f"seed {seed}: {report(outcome if outcome.is_same else await pair.shrunk(outcome))}", flush=True)  # noqa: T201
    return not outcome.is_same


def _seeds(given: str) -> range:
    first, _, last = given.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    release = profile_named(sys.argv[2]) if len(sys.argv) > 2 else DEFAULT_PROFILE
    with KafkaProcess(release.release) as kafka:
        sys.exit(min(asyncio.run(main(_seeds(sys.argv[1]), kafka.bootstrap_servers, release)), 1))
