"""Random requests of members of streams groups to the embedded broker and a real Kafka, compared field by field.

A failure shows the shortest run that was found; `python -m tests.lockstep streams SEED` repeats it.
"""

import pytest

from kafka_groups.broker.coordinators.groups.epochs import members
from kafka_groups.broker.coordinators.groups.streams.assigning import target
from kafka_groups.broker.coordinators.groups.streams.group import StreamsGroup
from kafka_groups.broker.coordinators.groups.streams.groups import StreamsGroups
from tests.lockstep.pair import Pair
from tests.lockstep.planting import check_found_and_shrunk
from tests.lockstep.reporting import report
from tests.lockstep.shrinking import shrunk
from tests.lockstep.streams_choosing import StreamsChoice
from tests.support.planted_defects import Patch, by_name

pytestmark = pytest.mark.lockstep


async def test_both_answer_alike(lockstep_seed: int, pair: Pair) -> None:
    outcome = await pair.run_streams(StreamsChoice(lockstep_seed))
    assert outcome.is_same, report(await shrunk(outcome, pair.run_streams))


def tasks_are_given_before_they_are_revoked(patch: Patch) -> None:
    """Nobody runs a task, as far as a member that wants it is concerned."""
    patch.setattr(StreamsGroup, "_own", lambda _self, _member_id, _current: None)


def epochs_are_not_checked(patch: Patch) -> None:
    """Members may send any epoch."""
    patch.setattr(members, "check_epoch", lambda *_: None)


def configs_are_overlooked(patch: Patch) -> None:
    """The number of standby tasks does not count in the group epoch."""
    patch.setattr(target, "assignment_configs", lambda _config: {})


def sessions_do_not_end(patch: Patch) -> None:
    """Members that have fallen silent stay."""
    patch.setattr(StreamsGroups, "extend_session", lambda *_: None)


def revocations_may_take_any_time(patch: Patch) -> None:
    """Members that do not revoke tasks stay."""
    patch.setattr(StreamsGroups, "_watch_rebalance", lambda *_: None)


PLANTED = by_name(tasks_are_given_before_they_are_revoked, epochs_are_not_checked, configs_are_overlooked)
PLANTED_TIMEOUTS = by_name(sessions_do_not_end, revocations_may_take_any_time)


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
async def test_a_planted_difference_is_found_and_shrunk(name: str, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[name](monkeypatch)
    await check_found_and_shrunk(pair.run_streams, StreamsChoice, monkeypatch)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", PLANTED_TIMEOUTS)
async def test_a_timeout_that_is_missing_is_found(name: str, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED_TIMEOUTS[name](monkeypatch)
    await check_found_and_shrunk(pair.run_streams, StreamsChoice, monkeypatch)
