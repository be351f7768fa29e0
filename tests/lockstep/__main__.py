"""Run seeds and shrink what differs: `python -m tests.lockstep 7` or `python -m tests.lockstep 0-99`.

A profile after the seeds chooses another release than the newest: `python -m tests.lockstep 0-99 4.2`. The word
`classic`, `consumer` or `streams` before them chooses groups of that type instead of share groups, and `transactions`
transactional producers:
`python -m tests.lockstep classic 0-99`.
"""

import asyncio
import sys
from collections.abc import Callable

from attrs import frozen

from kafka_groups.broker.profile import DEFAULT_PROFILE, Profile, profile_named
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.lockstep.choosing import Choice
from tests.lockstep.classic_choosing import ClassicChoice
from tests.lockstep.consumer_choosing import ConsumerChoice
from tests.lockstep.pair import Pair, pair_with
from tests.lockstep.reporting import report
from tests.lockstep.running import Outcome, Source, TakeSteps
from tests.lockstep.shrinking import shrunk
from tests.lockstep.streams_choosing import StreamsChoice
from tests.lockstep.transaction_choosing import TransactionChoice


@frozen
class Kind:
    """A type of group: what its steps are, and how they are taken."""

    choose: Callable[[int], Source]
    run: Callable[[Pair], TakeSteps]


_SHARE = Kind(Choice, lambda pair: pair.run)
_KINDS = {
    "classic": Kind(ClassicChoice, lambda pair: pair.run_classic),
    "consumer": Kind(ConsumerChoice, lambda pair: pair.run_consumers),
    "streams": Kind(StreamsChoice, lambda pair: pair.run_streams),
    "transactions": Kind(TransactionChoice, lambda pair: pair.run_transactions),
}


async def main(kind: Kind, seeds: range, real: str, profile: Profile) -> int:
    """Run the seeds one after the other; returns how many differ."""
    differing = 0
    async with pair_with(real, profile) as pair:
        for seed in seeds:
            outcome = await _run(kind, pair, seed)
            print(f"seed {seed}: {report(outcome)}", flush=True)  # noqa: T201
            differing += not outcome.is_same
    return differing


async def _run(kind: Kind, pair: Pair, seed: int) -> Outcome:
    run = kind.run(pair)
    outcome = await run(kind.choose(seed))
    return outcome if outcome.is_same else await shrunk(outcome, run)


def _seeds(given: str) -> range:
    first, _, last = given.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    kind = _KINDS.get(sys.argv[1], _SHARE)
    given = sys.argv[1 + (sys.argv[1] in _KINDS) :]
    release = profile_named(given[1]) if len(given) > 1 else DEFAULT_PROFILE
    with KafkaProcess(release.release) as kafka:
        sys.exit(min(asyncio.run(main(kind, _seeds(given[0]), kafka.bootstrap_servers, release)), 1))
