"""Random requests of members of consumer groups to the embedded broker and a real Kafka, compared field by field.

A failure shows the shortest run that was found; `python -m tests.lockstep consumer SEED` repeats it.
"""

import pytest

from kafka_groups.broker.coordinators.groups.consumer import groups, target
from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerGroup
from tests.lockstep.consumer_choosing import ConsumerChoice
from tests.lockstep.consumer_steps import Claim, ConsumerHeartbeat, RemoveConsumers
from tests.lockstep.epoch_members import REBALANCE_MS
from tests.lockstep.pair import Pair
from tests.lockstep.planting import check_found_and_shrunk
from tests.lockstep.reporting import report
from tests.lockstep.running import Replay
from tests.lockstep.shrinking import shrunk
from tests.lockstep.steps import Step
from tests.support.planted_defects import Patch, by_name

BOTH = ("t", "u")
REGEX = "(t|u)-"

pytestmark = pytest.mark.lockstep


def joins(by: str, *, topics: tuple[str, ...] | None = None, regex: str | None = None) -> ConsumerHeartbeat:
    return ConsumerHeartbeat(
        by=by, epoch=0, topics=topics, regex=regex, claim=Claim.NOTHING, rebalance_timeout_ms=REBALANCE_MS
    )


async def test_both_answer_alike(lockstep_seed: int, pair: Pair) -> None:
    outcome = await pair.run_consumers(ConsumerChoice(lockstep_seed))
    assert outcome.is_same, report(await shrunk(outcome, pair.run_consumers))


def partitions_are_given_before_they_are_revoked(patch: Patch) -> None:
    """Nobody owns a partition, as far as a member that wants it is concerned."""
    patch.setattr(ConsumerGroup, "_own", lambda _self, _member_id, _current: None)


def assignors_are_not_counted(patch: Patch) -> None:
    """The default assignor is used whatever members prefer."""
    patch.setattr(target, "_elected", lambda _votes, offered: offered[0])


def epochs_stand_still(patch: Patch) -> None:
    """A member that subscribes to something else changes nothing."""
    patch.setattr(groups, "has_other_subscription", lambda _group, before, _after: before is None)


PLANTED = by_name(partitions_are_given_before_they_are_revoked, assignors_are_not_counted, epochs_stand_still)


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
async def test_a_planted_difference_is_found_and_shrunk(name: str, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[name](monkeypatch)
    await check_found_and_shrunk(pair.run_consumers, ConsumerChoice, monkeypatch)


@pytest.mark.parametrize(
    "steps",
    [
        (joins("cat", regex="t-"), ConsumerHeartbeat(by="cat", regex=REGEX), ConsumerHeartbeat(by="cat")),
        (joins("one", topics=BOTH), joins("cat", regex=REGEX), ConsumerHeartbeat(by="one")),
    ],
    ids=["its topics count until it is forgotten", "beside names"],
)  # fmt: skip
async def test_a_regular_expression_whose_topics_are_not_known_yet(steps: tuple[Step, ...], pair: Pair) -> None:
    outcome = await pair.run_consumers(Replay(steps))
    assert (outcome.is_same, outcome.steps) == (True, steps), report(outcome)


async def test_members_that_leave_in_one_request_do_not_see_each_other_go(pair: Pair) -> None:
    removal = RemoveConsumers(members=(("three", None), ("cat", "three"), (None, "three"), ("three", None)))
    steps = (joins("three", topics=BOTH), removal, removal)
    outcome = await pair.run_consumers(Replay(steps))
    assert (outcome.is_same, outcome.steps) == (True, steps), report(outcome)
