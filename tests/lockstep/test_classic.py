"""Random requests of members of classic groups to the embedded broker and a real Kafka, compared field by field.

A failure shows the shortest run that was found; `python -m tests.lockstep classic SEED` repeats it.
"""

import pytest
from attrs import evolve

from kafka_groups.broker.coordinators.groups.classic import groups, rounds
from kafka_groups.broker.coordinators.groups.classic.group import ClassicGroup
from kafka_groups.broker.coordinators.groups.classic.members import ClassicMember
from kafka_groups.errors import UnknownMemberIdError
from kafka_groups.protocol.error_codes import ErrorCode
from tests.lockstep.classic_choosing import ClassicChoice
from tests.lockstep.classic_differences import LEFT_OUT
from tests.lockstep.classic_steps import ClassicHeartbeat, JoinGroup, LeaveGroup, Leaver, SyncGroup
from tests.lockstep.offset_steps import CommitOffsets, DeleteOffsets, FetchOffsets
from tests.lockstep.pair import Pair
from tests.lockstep.planting import check_found_and_shrunk
from tests.lockstep.reporting import report
from tests.lockstep.running import Replay
from tests.lockstep.shrinking import shrunk
from tests.lockstep.steps import DeleteGroup, Step
from tests.support.planted_defects import Patch, by_name

TOO_LARGE = 4_097

pytestmark = pytest.mark.lockstep


async def test_both_answer_alike(lockstep_seed: int, pair: Pair) -> None:
    outcome = await pair.run_classic(ClassicChoice(lockstep_seed))
    assert outcome.is_same, report(await shrunk(outcome, pair.run_classic))


def heartbeats_hide_rounds(patch: Patch) -> None:
    """Members are not told to join again."""
    patch.setattr(groups, "_REBALANCING", ErrorCode.NONE)


def assignments_outlive_rounds(patch: Patch) -> None:
    """A new round leaves assignments, and requests for them, as they are."""
    patch.setattr(rounds, "_withdraw_assignments", lambda _group, _changes: None)


def nobody_is_fenced(patch: Patch) -> None:
    """Instance ids are not checked."""

    def checked(self: ClassicGroup, member_id: str, _instance: str | None) -> ClassicMember:
        if member_id not in self.members:
            raise UnknownMemberIdError
        return self.members[member_id]

    patch.setattr(ClassicGroup, "check_member", checked)


PLANTED = by_name(heartbeats_hide_rounds, assignments_outlive_rounds, nobody_is_fenced)


@pytest.mark.long
@pytest.mark.parametrize("name", PLANTED)
async def test_a_planted_difference_is_found_and_shrunk(name: str, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[name](monkeypatch)
    await check_found_and_shrunk(pair.run_classic, ClassicChoice, monkeypatch)


async def test_a_replayed_run_compares_every_kind_of_step(pair: Pair) -> None:
    places = (("t", 0),)
    await _all_alike(
        pair,
        JoinGroup(by="ann"),
        JoinGroup(by="ann"),
        SyncGroup(by="ann", number=1),
        JoinGroup(by="one"),
        ClassicHeartbeat(by="ann"),
        JoinGroup(by="ann"),
        SyncGroup(by="one"),
        SyncGroup(by="ann", number=2),
        CommitOffsets(by="ann", places=places, offset=5),
        FetchOffsets(places=places),
        DeleteOffsets(places=places),
        JoinGroup(by="one", fresh=True),
        LeaveGroup(members=(Leaver("ann#1"), Leaver("", "one"), Leaver("nobody"))),
        DeleteOffsets(places=places),
        DeleteGroup(),
        FetchOffsets(),
    )


@pytest.mark.parametrize("outside", [True, False])
async def test_metadata_that_are_too_large_matter_only_if_the_group_accepts_the_commit(
    outside: bool, pair: Pair
) -> None:
    places = (("t", 0), ("t", 7))
    commit = CommitOffsets(by="one", places=places, offset=5, metadata_size=TOO_LARGE)
    refused = evolve(commit, outside=outside, shift=0 if outside else 1)
    await _all_alike(pair, JoinGroup(by="one"), SyncGroup(by="one"), commit, refused, FetchOffsets())


async def test_a_request_that_is_repeated_takes_the_place_of_the_one_that_waits(pair: Pair) -> None:
    await _all_alike(
        pair,
        JoinGroup(by="one"),
        SyncGroup(by="one"),
        JoinGroup(by="two"),
        JoinGroup(by="one", protocols=(("sticky", ("t",)), ("range", ("t",)))),
        SyncGroup(by="two"),
        SyncGroup(by="two"),
        JoinGroup(by="three"),
        JoinGroup(by="three", fresh=True),
        JoinGroup(by="two"),
        JoinGroup(by="two"),
        JoinGroup(by="one"),
    )


async def test_an_id_that_was_given_joins_without_an_instance_id(pair: Pair) -> None:
    await _all_alike(pair, JoinGroup(by="ann"), JoinGroup(by="ann", instance="one"), JoinGroup(by="ann"))


def test_every_step_that_is_left_out_has_a_reason() -> None:
    assert all(len(each.reason) > 20 for each in LEFT_OUT)


async def _all_alike(pair: Pair, *steps: Step) -> None:
    outcome = await pair.run_classic(Replay(steps))
    assert (outcome.is_same, outcome.steps) == (True, steps), report(outcome)
