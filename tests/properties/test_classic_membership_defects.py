"""Defects in the rules of a member of a classic group, planted on purpose: random runs or a test find each of them."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.client.requests import ClientResponse, Lane, OutgoingRequest
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.join_group import JoinGroupResponse
from kafka_groups.protocol.streams_user_data import assignment_info
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.streams.engines.dormant_folders import DormantFolders
from kafka_groups.streams.member.classic import answers, assignment, member_subscription, membership
from kafka_groups.streams.member.classic.answers import ErrorReaction, RoundStep
from kafka_groups.streams.member.classic.follow_ups import FollowUps
from kafka_groups.streams.member.classic.membership import ClassicMembership
from kafka_groups.streams.member.classic.reconciliation import InputReconciliation
from kafka_groups.streams.member.classic.round import ClassicRound
from kafka_groups.streams.member.classic.round_requests import ClassicRequests
from kafka_groups.streams.member.classic.versions import UserDataVersion
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.types import TaskId, TopicPartition
from tests.properties import test_classic_membership as random_runs
from tests.support.planted_defects import Patch, Plant, by_name
from tests.unit.streams.engines import test_dormant_folders as dormant
from tests.unit.streams.member.classic import test_answers, test_membership, test_membership_leading

pytestmark = pytest.mark.slow

# ------------------------------------------------------------------------------------ found by random runs


def joins_during_a_commit(patch: Patch) -> None:
    patch.setattr(ClassicRound, "is_held", property(lambda _self: False))


def commits_begin_during_a_round(patch: Patch) -> None:
    patch.setattr(ClassicRound, "is_gated", property(lambda _self: False))


def confirmations_are_forgotten(patch: Patch) -> None:
    patch.setattr(ClassicMembership, "confirm", lambda *_given: None)


def others_are_joined_before_tasks_are_closed(patch: Patch) -> None:
    def advance(self: ClassicMembership, _now_ms: int) -> None:
        self._reconciliation.advance(self.epoch)
        self._tasks.owned = self._tasks.target

    patch.setattr(ClassicMembership, "_advance", advance)


def tasks_survive_an_unknown_member(patch: Patch) -> None:
    def react(self: ClassicMembership, step: RoundStep, code: ErrorCode, now_ms: int) -> None:
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id, self.epoch = "", 0
            if self.state is not MembershipState.JOINING and self.state is not MembershipState.RECONCILING:
                self._begin_round()
        else:
            original(self, step, code, now_ms)

    original = ClassicMembership._react
    patch.setattr(ClassicMembership, "_react", react)


def answers_count_whatever_they_are_for(patch: Patch) -> None:
    def on_response(self: ClassicMembership, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        if request.api is ApiKey.JOIN_GROUP:
            self._round.answered(0, now_ms)
            self._join_answered(answer.message, now_ms)
        else:
            original(self, request, answer, now_ms)

    original = ClassicMembership.on_response
    patch.setattr(ClassicMembership, "on_response", on_response)


def no_heartbeats_while_a_join_is_held_back(patch: Patch) -> None:
    beats = property(lambda self: self.state in membership._HEARTBEATING)
    patch.setattr(ClassicMembership, "_heartbeats", beats)


def no_heartbeats_while_tasks_close(patch: Patch) -> None:
    states = membership._HEARTBEATING - {MembershipState.RECONCILING}
    patch.setattr(membership, "_HEARTBEATING", states)


def no_heartbeats_while_the_leader_computes(patch: Patch) -> None:
    states = membership._HEARTBEATING - {MembershipState.LEADING, MembershipState.SYNCING}
    patch.setattr(membership, "_HEARTBEATING", states)


def changed_partitions_of_an_owned_task_are_ignored(patch: Patch) -> None:
    patch.setattr(InputReconciliation, "_changed", lambda _self: frozenset())


IN_RUNS: Mapping[str, Plant] = by_name(
    joins_during_a_commit,
    commits_begin_during_a_round,
    confirmations_are_forgotten,
    others_are_joined_before_tasks_are_closed,
    tasks_survive_an_unknown_member,
    answers_count_whatever_they_are_for,
    no_heartbeats_while_a_join_is_held_back,
    no_heartbeats_while_tasks_close,
    no_heartbeats_while_the_leader_computes,
    changed_partitions_of_an_owned_task_are_ignored,
)


FEW, MANY = 8, 24


def runs(seeds: int) -> Iterator[Callable[[], object]]:
    for seed in range(seeds):
        yield partial(random_runs.test_in_the_end_each_task_has_one_owner_whatever_was_lost, seed)
        yield partial(random_runs.test_no_session_ends_while_commits_leaders_and_closing_tasks_take_long, seed)


def is_found(run: Callable[[], object]) -> bool:
    try:
        run()
    except Exception:  # an invariant, or an event that is impossible in a state
        return True
    return False


@pytest.mark.parametrize("name", IN_RUNS)
def test_random_runs_find_a_defect(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    IN_RUNS[name](monkeypatch)
    # Some are found in one of seven runs only.
    assert any(map(is_found, runs(MANY)))


def test_random_runs_find_nothing_without_a_defect() -> None:
    assert not any(map(is_found, runs(FEW)))


# ------------------------------------------------------------------------------------------ found by a test


def owned_partitions_come_from_metadata(patch: Patch) -> None:
    topics = ("in", "in2", "r")  # the topics that exist by now

    def partitions(self: InputReconciliation) -> frozenset[TopicPartition]:
        return frozenset(TopicPartition(topic, task.partition) for task in self.tasks.owned.active for topic in topics)

    patch.setattr(InputReconciliation, "partitions", property(partitions))


def a_restoring_task_passes_for_a_running_one(patch: Patch) -> None:
    patch.setattr(member_subscription, "_sum", lambda _position: RUNNING_TASK)


def the_next_round_is_at_a_time_of_the_monotonic_clock(patch: Patch) -> None:
    def want_next(self: FollowUps, next_ms: int, _now_ms: int) -> None:
        self.want("next", next_ms)

    patch.setattr(FollowUps, "_want_next", want_next)


def the_version_is_never_lowered(patch: Patch) -> None:
    patch.setattr(UserDataVersion, "heard", lambda _self, _info: False)


def a_skipped_assignment_is_computed(patch: Patch) -> None:
    joined = ClassicMembership._joined

    def without_skipping(self: ClassicMembership, response: JoinGroupResponse, now_ms: int) -> None:
        joined(self, evolve(response, skip_assignment=False), now_ms)

    patch.setattr(ClassicMembership, "_joined", without_skipping)


def on_lane(name: str, lane: Lane) -> Plant:
    def plant(patch: Patch) -> None:
        original = getattr(ClassicRequests, name)
        patch.setattr(ClassicRequests, name, lambda *given: evolve(original(*given), lane=lane))

    return plant


def rounds_share_a_lane_with_heartbeats(patch: Patch) -> None:
    on_lane("_of_round", Lane.CONTROL)(patch)


def leaving_waits_behind_a_join(patch: Patch) -> None:
    on_lane("leave", Lane.GROUP)(patch)


def missing_user_data_is_an_assignment_of_nothing(patch: Patch) -> None:
    decode = decode_assignment
    patch.setattr(assignment, "decode_assignment", lambda data: decode(data) if data else AssignmentInfo())


def partitions_and_tasks_are_paired_in_another_order(patch: Patch) -> None:
    patch.setattr(assignment_info, "sorted", lambda values: sorted(values, reverse=True), raising=False)


def an_old_heartbeat_counts(patch: Patch) -> None:
    def answered(self: ClassicMembership, _request: OutgoingRequest, response: Any, now_ms: int) -> None:
        self._session.refused()
        self._react(RoundStep.HEARTBEAT, response.error_code, now_ms)

    patch.setattr(ClassicMembership, "_heartbeat_answered", answered)


def the_generation_is_kept_when_the_id_is_lost(patch: Patch) -> None:
    table = {**answers.REACTIONS, RoundStep.HEARTBEAT: {ErrorCode.UNKNOWN_MEMBER_ID: ErrorReaction.JOIN}}
    patch.setattr(answers, "REACTIONS", table)


def a_role_change_asks_for_a_round(patch: Patch) -> None:
    assigned = ClassicMembership._assigned

    def and_again(self: ClassicMembership, heard: Any, now_ms: int, **given: Any) -> None:
        if self.owned.ids & heard.tasks.ids and self.owned - heard.tasks:
            self.request_round("a role has changed")
        assigned(self, heard, now_ms, **given)

    patch.setattr(ClassicMembership, "_assigned", and_again)


def a_dormant_task_is_named_by_each_worker(patch: Patch) -> None:
    patch.setattr(DormantFolders, "_is_mine", lambda _self, _task: True)
    patch.setattr(DormantFolders, "_let_go", lambda _self, _tasks: None)


def a_dormant_task_is_named_only_once(patch: Patch) -> None:
    claim, asked = DormantFolders.claim, set[DormantFolders]()

    def first_only(self: DormantFolders) -> dict[TaskId, int]:
        found = {} if self in asked else claim(self)
        asked.add(self)
        return found

    patch.setattr(DormantFolders, "claim", first_only)


def claims_outlast_their_round(patch: Patch) -> None:
    patch.setattr(DormantFolders, "release", lambda _self: None)


def dormant_tasks_are_those_of_the_start(patch: Patch) -> None:
    claim, first = DormantFolders.claim, dict[DormantFolders, dict[TaskId, int]]()
    patch.setattr(DormantFolders, "claim", lambda self: first.setdefault(self, claim(self)))


def with_process(test: Callable[[dormant.Process], object]) -> Callable[[], object]:
    let_go = DormantFolders._let_go

    def run() -> None:
        with TemporaryDirectory() as folder:
            process = dormant.Process(Path(folder) / "app-mine")
            try:
                test(process)
            finally:
                for each in process.dormant:
                    let_go(each, tuple(each._claims))

    return run


BY_A_TEST: Mapping[Plant, Callable[[], object]] = {
    owned_partitions_come_from_metadata: (
        test_membership.test_a_task_whose_partitions_have_changed_ends_and_begins_again
    ),
    a_restoring_task_passes_for_a_running_one: (
        test_membership.test_a_subscription_tells_what_the_member_owns_and_how_far_its_state_is
    ),
    the_next_round_is_at_a_time_of_the_monotonic_clock: (
        test_membership_leading.test_the_next_round_is_at_a_time_of_the_leaders_clock_and_waited_for_on_our_own
    ),
    the_version_is_never_lowered: (
        test_membership_leading.test_a_member_uses_the_version_that_all_have_and_joins_again_with_it
    ),
    a_skipped_assignment_is_computed: (
        test_membership_leading.test_a_leader_that_was_restarted_assigns_nothing_and_knows_that_it_leads
    ),
    rounds_share_a_lane_with_heartbeats: (
        test_membership.test_requests_of_a_round_have_a_lane_of_their_own_and_wait_as_long_as_others_may_take
    ),
    leaving_waits_behind_a_join: (
        test_membership.test_requests_of_a_round_have_a_lane_of_their_own_and_wait_as_long_as_others_may_take
    ),
    missing_user_data_is_an_assignment_of_nothing: lambda: (
        test_membership.test_an_assignment_that_cannot_be_used_ends_the_member_and_is_never_an_empty_one(
            b"", "cannot be read"
        )
    ),
    partitions_and_tasks_are_paired_in_another_order: (
        test_membership.test_a_member_joins_with_the_id_that_the_coordinator_gives_it_and_takes_its_tasks
    ),
    an_old_heartbeat_counts: lambda: test_answers.test_a_heartbeat_of_the_generation_before_says_nothing(
        ErrorCode.UNKNOWN_MEMBER_ID
    ),
    the_generation_is_kept_when_the_id_is_lost: (test_answers.test_lost_tasks_are_closed_before_the_member_joins_again),
    a_dormant_task_is_named_by_each_worker: with_process(dormant.test_in_each_round_one_member_names_each_dormant_task),
    a_dormant_task_is_named_only_once: with_process(dormant.test_in_each_round_one_member_names_each_dormant_task),
    claims_outlast_their_round: with_process(
        dormant.test_another_member_names_what_one_has_named_that_is_not_in_the_next_round
    ),
    dormant_tasks_are_those_of_the_start: with_process(
        dormant.test_a_task_is_named_by_nobody_while_it_is_open_and_again_when_it_has_moved_away
    ),
    a_role_change_asks_for_a_round: (
        test_membership.test_a_standby_task_that_becomes_active_is_no_reason_to_join_again
    ),
}


@pytest.mark.parametrize("plant", BY_A_TEST, ids=lambda plant: plant.__name__)
def test_a_test_finds_a_defect(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    test = BY_A_TEST[plant]
    test()
    plant(monkeypatch)
    assert is_found(test)
