"""Random requests to the embedded broker and a real Kafka: every field of every answer must be the same.

What is not compared, and what may differ, is listed with its reason in `differences.py`. A failure shows the shortest
run that was found; `python -m tests.lockstep SEED` repeats it.
"""

import re

import pytest
from attrs import evolve

from kafka_groups.net.clock import SystemClock
from tests.lockstep.choosing import Choice
from tests.lockstep.differences import ALLOWED, IGNORED
from tests.lockstep.pair import Pair
from tests.lockstep.planting import check_found_and_shrunk
from tests.lockstep.reporting import report
from tests.lockstep.running import Replay
from tests.lockstep.shrinking import shrunk
from tests.lockstep.steps import (
    Acknowledge,
    Acknowledged,
    AlterGroupConfig,
    CreateTopic,
    DeleteTopic,
    Fetch,
    Heartbeat,
    Produce,
)
from tests.simulation.mutants import MUTANTS
from tests.support.members.raw_member import Limits

PLANTED = ("accepting_releases", "delivery_count_stands_still", "no_ownership_check")
WAITING = Limits(max_wait_ms=500)

pytestmark = pytest.mark.lockstep


async def test_both_answer_alike(lockstep_seed: int, pair: Pair) -> None:
    outcome = await pair.run(Choice(lockstep_seed))
    assert outcome.is_same, report(await shrunk(outcome, pair.run))


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
async def test_a_planted_difference_is_found_and_shrunk(name: str, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    await check_found_and_shrunk(pair.run, Choice, monkeypatch)


async def test_a_deleted_topic_that_is_still_in_a_session(pair: Pair) -> None:
    fetch = Fetch(by="m0", epoch=0, places=(("t", 0), ("u", 0)))
    acknowledge = Fetch(by="m0", acknowledgements=(Acknowledged(("u", 0), 0, 0, (1,)),))
    steps = (DeleteTopic(topic="u"), Fetch(by="m0"), acknowledge, CreateTopic(topic="u", partitions=1))
    outcome = await pair.run(Replay((Produce(place=("u", 0), count=1), fetch, *steps)))
    assert outcome.is_same, report(outcome)


async def test_a_reset_to_a_time_after_the_last_record(pair: Pair) -> None:
    place = ("t", 0)
    steps = (
        AlterGroupConfig(name="share.auto.offset.reset", value="by_duration:PT1H"),
        Produce(place=place, count=3),
        Heartbeat(by="m0", epoch=0, topics=("t",)),
        Fetch(by="m0", epoch=0, places=(place,), limits=WAITING),
        Fetch(by="m0", limits=WAITING),
        Produce(place=place, count=2, first_ms=SystemClock().wall_ms()),
        Fetch(by="m0", limits=WAITING),
    )
    outcome = await pair.run(Replay(steps), loaded=False)
    assert (outcome.is_same, outcome.allowed) == (True, ()), report(outcome)


async def test_a_replayed_run_compares_every_kind_of_step(pair: Pair) -> None:
    place = ("t", 0)
    fetch = Fetch(by="m0", epoch=0, places=(place,))
    accept = Acknowledge(by="m0", acknowledgements=(Acknowledged(place, 0, 2, (1,)),))
    steps = (Produce(place=place, count=3), fetch, accept, evolve(accept, shift=1), Acknowledge(by="m0", epoch=-1))
    outcome = await pair.run(Replay(steps))
    assert (outcome.is_same, outcome.steps) == (True, steps), report(outcome)


def test_every_exception_has_a_reason_and_a_valid_pattern() -> None:
    for entry in (*IGNORED, *ALLOWED):
        re.compile(entry.path)
        assert len(entry.reason) > 20, entry
