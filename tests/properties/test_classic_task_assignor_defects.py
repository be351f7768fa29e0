"""Defects in how a leader uses a task assignor, planted on purpose: a test finds each of them."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kafka_groups.admin.rules.streams_leader import kept_tasks, leading
from kafka_groups.admin.rules.streams_leader.follow_up_times import follow_up_times
from kafka_groups.admin.rules.streams_leader.hand_over import _Process
from kafka_groups.assignment import ProcessId
from kafka_groups.assignment.application.assignor_run import AssignorRun
from kafka_groups.streams.member.classic.membership import ClassicMembership
from kafka_groups.streams.member.classic.transitions import ClassicMembershipEvent
from kafka_groups.streams.member.group_leader import GroupLeader
from kafka_groups.streams.member.leader_computation import BusyAssignors, LeaderComputation
from tests.properties.test_classic_membership_defects import is_found
from tests.properties.test_classic_task_assignors import check_rounds
from tests.support.planted_defects import Patch, Plant
from tests.unit.admin.rules.streams_leader import test_leading
from tests.unit.streams.member import test_group_leader, test_leader_computation
from tests.unit.streams.member.classic import test_membership_leading

pytestmark = pytest.mark.slow


def the_callback_hears_the_target(patch: Patch) -> None:
    """It comes before tasks that others own are left out."""
    tell = AssignorRun.tell
    patch.setattr(AssignorRun, "tell", lambda self, _told: tell(self, self.outcome.group_assignment))


def the_callback_comes_after_a_wrong_result_is_refused(patch: Patch) -> None:
    tell = AssignorRun.tell
    patch.setattr(AssignorRun, "tell", lambda self, told: tell(self, told) if not self.outcome.detail else None)


def a_time_goes_to_another_process(patch: Patch) -> None:
    def swapped(assignor: Any, deadlines: Mapping[ProcessId, Any], leader: ProcessId, now_ms: int) -> Any:
        found = follow_up_times(assignor, deadlines, leader, now_ms)
        return dict.fromkeys([leader] if found else [], min(found.values(), default=0))

    patch.setattr(leading, "follow_up_times", swapped)


def a_task_is_given_while_another_member_owns_it(patch: Patch) -> None:
    patch.setattr(_Process, "_is_elsewhere", lambda _self, _task, _member_id: False)


def tasks_that_nobody_gets_are_not_noticed(patch: Patch) -> None:
    patch.setattr(leading, "_unassigned", lambda _asked, _target: ())


def a_wrong_result_is_sent(patch: Patch) -> None:
    patch.setattr(leading, "check_outcome", lambda _assignor, _outcome: None)


def members_keep_nothing(patch: Patch) -> None:
    patch.setattr(kept_tasks, "_owners", lambda _subscriptions, _inputs: ())


def the_result_of_an_old_generation_is_sent(patch: Patch) -> None:
    def assign(self: ClassicMembership, _led: Any, assignments: Mapping[str, bytes], error: str = "") -> bool:
        self._round.assignments, self._round.error = assignments, error
        self._handle(ClassicMembershipEvent.LED)
        return True

    patch.setattr(ClassicMembership, "assign", assign)


def the_assignor_runs_on_the_loop(patch: Patch) -> None:
    async def run(_self: Any, _name: str, _assignor: object, function: Callable[[], Any]) -> Any:
        return function()

    patch.setattr(LeaderComputation, "run", run)


def the_assignor_runs_twice_at_a_time(patch: Patch) -> None:
    def enter(self: BusyAssignors, wanted: Any) -> Any:
        self._running[id(wanted)] = wanted
        return wanted

    patch.setattr(BusyAssignors, "enter", enter)
    patch.setattr(BusyAssignors, "leave", lambda _self, computation: computation.ended.set_result(None))


def what_was_given_up_may_run_again(patch: Patch) -> None:
    enter = BusyAssignors.enter

    def another(self: BusyAssignors, wanted: Any) -> Any:
        for key in [key for key, each in self._running.items() if each.is_given_up]:
            del self._running[key]
        return enter(self, wanted)

    patch.setattr(BusyAssignors, "enter", another)
    patch.setattr(BusyAssignors, "leave", lambda self, each: (self._running.clear(), each.ended.set_result(None)))


def failures_are_not_counted(patch: Patch) -> None:
    round_of = GroupLeader._round_of

    def of_first(self: GroupLeader, led: Any) -> Any:
        self._postponed = 0
        return round_of(self, led)

    patch.setattr(GroupLeader, "_round_of", of_first)


def a_static_leader_stays(patch: Patch) -> None:
    depart = ClassicMembership._depart

    def stays(self: ClassicMembership, reason: str) -> None:
        if self.description.instance_id is None:
            depart(self, reason)

    patch.setattr(ClassicMembership, "_depart", stays)


def old_groups_are_never_asked_again(patch: Patch) -> None:
    patch.setattr(leading, "own_follow_up_ms", lambda _version, _handed: None)


def rounds_follow_each_other_without_a_pause(patch: Patch) -> None:
    def at_once(assignor: Any, deadlines: Mapping[ProcessId, Any], leader: ProcessId, now_ms: int) -> Any:
        found = follow_up_times(assignor, deadlines, leader, now_ms)
        return {each: now_ms + 500 if at_ms == now_ms + 1_000 else at_ms for each, at_ms in found.items()}

    patch.setattr(leading, "follow_up_times", at_once)


def a_time_is_forgotten(patch: Patch) -> None:
    patch.setattr(leading, "follow_up_times", lambda *_given: {})


def random_rounds(_patch: Patch) -> None:
    for seed in range(40):
        check_rounds(seed)


BY_A_TEST: Mapping[Plant, Callable[[Patch], object]] = {
    the_callback_hears_the_target: lambda _: (
        test_leading.test_the_callback_hears_what_members_get_in_this_round_and_the_bytes()
    ),
    the_callback_comes_after_a_wrong_result_is_refused: random_rounds,
    a_time_goes_to_another_process: lambda _: (
        test_leading.test_a_users_assignor_gives_the_deadline_to_a_process_of_its_own()
    ),
    a_task_is_given_while_another_member_owns_it: random_rounds,
    tasks_that_nobody_gets_are_not_noticed: lambda _: test_leading.test_tasks_that_nobody_gets_are_named(),
    a_wrong_result_is_sent: random_rounds,
    members_keep_nothing: random_rounds,
    the_result_of_an_old_generation_is_sent: lambda _: (
        test_membership_leading.test_the_assignment_of_a_generation_that_is_over_is_dropped()
    ),
    the_assignor_runs_on_the_loop: lambda _: (
        test_leader_computation.test_it_runs_on_a_thread_that_does_not_keep_the_program_from_ending()
    ),
    the_assignor_runs_twice_at_a_time: lambda _: (
        test_leader_computation.test_the_next_round_waits_until_the_assignor_has_returned_from_the_last_one()
    ),
    what_was_given_up_may_run_again: lambda _: (
        test_leader_computation.test_what_is_given_up_does_not_run_again_in_this_process()
    ),
    failures_are_not_counted: lambda _: (
        test_group_leader.test_an_assignor_that_has_not_told_for_ten_rounds_ends_all_members()
    ),
    a_static_leader_stays: lambda _: (
        test_group_leader.test_a_leader_whose_assignor_fails_leaves_at_once_with_its_exception("w")
    ),
    a_time_is_forgotten: lambda _: test_group_leader.test_the_time_of_a_process_that_waits_for_tasks_is_nobodys(),
    old_groups_are_never_asked_again: lambda patch: (
        test_group_leader.test_a_deadline_in_the_past_is_at_once_but_at_most_once_a_second(6, patch)
    ),
    rounds_follow_each_other_without_a_pause: lambda patch: (
        test_group_leader.test_a_deadline_in_the_past_is_at_once_but_at_most_once_a_second(11, patch)
    ),
}


@pytest.mark.parametrize("plant", BY_A_TEST, ids=lambda plant: plant.__name__)
def test_a_test_finds_a_defect(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.MonkeyPatch.context() as patch:
        BY_A_TEST[plant](patch)
    plant(monkeypatch)
    assert is_found(lambda: BY_A_TEST[plant](monkeypatch))
