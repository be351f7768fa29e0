"""A member of a streams group, driven by hand: joining, tasks, heartbeats, leaving, programs that stay away."""

import pytest

from kafka_groups.client.requests import NEVER_MS
from kafka_groups.errors import (
    IllegalStateError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatStatus,
    StreamsStatus,
)
from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StatusesChanged,
    TasksAssigned,
)
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS, MemberTasks, tasks_to_wire
from kafka_groups.streams.member.rules.states import MembershipState
from tests.unit.streams.member.driven import (
    DELAYED,
    INTERVAL_MS,
    JOINING,
    REBALANCE_MS,
    A,
    B,
    C,
    Member,
    lists,
    tasks,
    wire,
)

# ------------------------------------------------------------------------------------------ joining


def test_nothing_is_sent_before_joining() -> None:
    member = Member()
    assert member.quiet_ms() == NEVER_MS
    assert member.membership.has_left


def test_joining_sends_everything_to_the_coordinator_and_no_tasks() -> None:
    member = Member().started()
    request = member.send()
    assert request.node_id == 2
    assert wire(request) == JOINING
    assert member.quiet_ms() == NEVER_MS  # never two at a time


def test_joining_twice_is_a_mistake() -> None:
    with pytest.raises(IllegalStateError, match="'join' is not possible in the member state 'joining'"):
        Member().started().membership.join(0)


def test_without_a_coordinator_it_waits_and_has_it_looked_up() -> None:
    member = Member()
    member.coordinator.node_id = None
    member.started()
    assert member.coordinator.wanted
    assert member.quiet_ms() == REBALANCE_MS


def test_the_first_tasks_are_owned_and_acknowledged_at_once() -> None:
    member = Member().started()
    member.answer(member.send(), tasks(A, standby=(B,)))
    (event,) = member.membership.take_events()
    assert isinstance(event, TasksAssigned)
    assert event.epoch == member.membership.epoch > 0
    assert event.tasks == tasks(A, standby=(B,))
    assert member.is_in(MembershipState.ACKNOWLEDGING)

    request = member.send()
    assert wire(request) == StreamsGroupHeartbeatRequest(
        group_id="app",
        member_id="me",
        member_epoch=2,
        task_offsets=None,
        **lists(tasks(A, standby=(B,))),
    )
    member.answer(request)
    assert member.is_in(MembershipState.STABLE)


def test_afterwards_heartbeats_say_that_nothing_has_changed_at_exactly_the_coordinators_interval() -> None:
    member = Member().joined(A)
    member.now_ms += 10_000
    member.answer(member.send())
    assert member.quiet_ms() == INTERVAL_MS
    request = member.heartbeat()
    assert wire(request) == StreamsGroupHeartbeatRequest(group_id="app", member_id="me", member_epoch=2)
    member.answer(request, heartbeat_interval_ms=1_000)
    assert member.quiet_ms() == 1_000


def test_a_member_without_tasks_hurries_for_ten_seconds_in_each_epoch() -> None:
    member = Member().started()
    member.answer(member.send(), NO_TASKS, status=(DELAYED,))
    sent = []
    while (wait_ms := member.quiet_ms()) < 1_000:
        member.now_ms += wait_ms
        sent.append(member.now_ms)
        member.answer(member.send(), status=(DELAYED,))
    assert 10_000 // 400 <= len(sent) <= 10_000 // 250
    assert sent[-1] <= 20_000
    member.now_ms += wait_ms
    member.answer(member.send(), member_epoch=3, status=(DELAYED,))
    assert member.quiet_ms() <= 400


def test_a_member_of_a_blocked_group_does_not_hurry() -> None:
    member = Member().started()
    blocked = StreamsGroupHeartbeatStatus(status_code=StreamsStatus.MISSING_SOURCE_TOPICS, status_detail="in")
    member.answer(member.send(), NO_TASKS, status=(blocked,))
    assert member.quiet_ms() == INTERVAL_MS
    (event,) = member.membership.take_events()
    assert isinstance(event, StatusesChanged)
    assert event.statuses == (blocked,)


# --------------------------------------------------------------------------------------- reconciling


def test_tasks_are_owned_until_their_revocation_is_confirmed_and_new_ones_come_after_that() -> None:
    member = Member().joined(A, B)
    member.answer(member.heartbeat(), tasks(A, C), member_epoch=3)
    event = member.revoked()
    assert event.tasks == tasks(B)
    assert event.then == NO_TASKS
    assert member.is_in(MembershipState.RECONCILING)
    assert member.membership.owned == tasks(A, B)
    between = member.heartbeat()
    assert wire(between).active_tasks is None
    member.answer(between, member_epoch=3)

    member.confirm(event)
    assert member.is_in(MembershipState.ACKNOWLEDGING)
    assert member.membership.owned == tasks(A, C)
    (assigned,) = member.membership.take_events()
    assert isinstance(assigned, TasksAssigned)
    assert (assigned.tasks, assigned.epoch) == (tasks(C), 3)
    request = member.send()
    assert wire(request).active_tasks == tasks_to_wire([A, C])
    member.answer(request, member_epoch=3)
    assert member.is_in(MembershipState.STABLE)


@pytest.mark.parametrize("owned", [tasks(A, standby=(B,)), tasks(B)])
def test_tasks_that_are_sent_again_though_nothing_has_changed_are_listed_at_once(owned: MemberTasks) -> None:
    member = Member().started()
    member.answer(member.send(), owned)
    member.answer(member.send())
    member.now_ms += INTERVAL_MS
    member.answer(member.send(), owned)  # another task was given in a response that never came, and taken back
    member.now_ms += 1_000
    request = member.send()
    assert wire(request).active_tasks == tasks_to_wire(owned.active)
    assert wire(request).standby_tasks == tasks_to_wire(owned.standby)
    assert member.is_in(MembershipState.STABLE)
    member.answer(request, owned)  # a broker that answers all such heartbeats in this way is not asked again
    member.now_ms += INTERVAL_MS
    assert wire(member.send()).active_tasks is None


def test_a_heartbeat_from_before_the_confirmation_acknowledges_nothing() -> None:
    member = Member().joined(A, B)
    member.answer(member.heartbeat(), tasks(A))
    event = member.revoked()
    older = member.heartbeat()
    member.confirm(event)
    member.answer(older)
    assert member.is_in(MembershipState.ACKNOWLEDGING)
    member.now_ms += 1
    assert wire(member.send()).active_tasks == tasks_to_wire([A])


def test_a_target_that_changes_while_tasks_are_closed_is_followed_afterwards() -> None:
    member = Member().joined(A, B)
    member.answer(member.heartbeat(), tasks(A))
    first = member.revoked()
    member.answer(member.heartbeat(), tasks(B, C))
    assert member.membership.take_events() == ()
    member.confirm(first)
    second = member.revoked()
    assert second.tasks == tasks(A)
    assert member.is_in(MembershipState.RECONCILING)
    member.confirm(second)
    assert member.membership.owned == tasks(B, C)


def test_a_task_that_changes_its_role_is_revoked_and_the_event_tells_its_new_role() -> None:
    member = Member().joined(A, B)
    member.answer(member.heartbeat(), tasks(A, standby=(B,)))
    event = member.revoked()
    assert (event.tasks, event.then) == (tasks(B), tasks(standby=(B,)))


def test_tasks_that_change_are_expected_to_change_again_for_a_while() -> None:
    member = Member().joined(A)
    assert member.quiet_ms() <= 400
    member.now_ms += 2_000
    member.answer(member.send())
    assert member.quiet_ms() == INTERVAL_MS


# ------------------------------------------------------------------------------------- out of the group


@pytest.mark.parametrize("code", [ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID])
def test_a_fenced_member_rejoins_when_its_tasks_are_closed(code: ErrorCode) -> None:
    member = Member().joined(A)
    member.refuse(member.heartbeat(), code)
    assert member.is_in(MembershipState.FENCED)
    assert member.membership.epoch == 0
    event = member.lost()
    assert event.tasks == tasks(A)
    assert member.quiet_ms() == 30_000  # then the program is reminded to confirm the event
    member.confirm(event)
    assert member.is_in(MembershipState.JOINING)
    assert wire(member.send()) == JOINING


def test_a_fenced_member_without_tasks_rejoins_at_once_but_not_in_a_tight_loop() -> None:
    member = Member().joined()
    member.refuse(member.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID)
    member.refuse(member.send(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert member.is_in(MembershipState.JOINING)
    assert member.quiet_ms() > 0


def test_a_revocation_that_the_program_has_not_heard_of_becomes_part_of_the_loss() -> None:
    member = Member().joined(A, B)
    member.answer(member.heartbeat(), tasks(A))
    member.refuse(member.heartbeat(), ErrorCode.FENCED_MEMBER_EPOCH)
    lost = member.lost()
    assert lost.tasks == tasks(A, B)
    member.confirm(lost)
    assert member.is_in(MembershipState.JOINING)


@pytest.mark.parametrize("order", [1, -1])
def test_a_revocation_that_the_program_has_heard_of_stands_when_the_member_is_fenced(order: int) -> None:
    member = Member().joined(A, B)
    member.answer(member.heartbeat(), tasks(A))
    revoked = member.revoked()
    member.refuse(member.heartbeat(), ErrorCode.FENCED_MEMBER_EPOCH)
    lost = member.lost()
    assert lost.tasks == tasks(A)
    first, second = (revoked, lost)[::order]
    member.confirm(first)
    member.confirm(first)
    assert member.is_in(MembershipState.FENCED)  # the other tasks are not closed yet
    member.confirm(second)
    assert member.is_in(MembershipState.JOINING)


def test_a_member_that_was_giving_up_all_its_tasks_rejoins_when_they_are_closed() -> None:
    member = Member().joined(A)
    member.answer(member.heartbeat(), NO_TASKS)
    revoked = member.revoked()
    member.refuse(member.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert member.membership.take_events() == ()
    assert member.is_in(MembershipState.FENCED)
    member.confirm(revoked)
    assert member.is_in(MembershipState.JOINING)


def test_a_program_hears_nothing_of_tasks_that_it_got_and_lost_between_two_polls() -> None:
    member = Member().started()
    member.answer(member.send(), tasks(A, B))
    member.answer(member.send(), tasks(A))
    assert member.is_in(MembershipState.ACKNOWLEDGING)  # there was nothing to close
    assert wire(member.heartbeat()).active_tasks == tasks_to_wire([A])
    (assigned,) = member.membership.take_events()
    assert isinstance(assigned, TasksAssigned)
    assert assigned.tasks == tasks(A)

    member = Member().started()
    member.answer(member.send(), tasks(A, B))
    member.refuse(member.send(), ErrorCode.FENCED_MEMBER_EPOCH)
    assert member.is_in(MembershipState.JOINING)
    assert member.membership.take_events() == ()


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("i", -2)])
def test_a_program_that_stays_away_loses_its_tasks_and_rejoins_with_its_next_call(
    instance_id: str | None, epoch: int
) -> None:
    member = Member(instance_id).joined(A)
    member.now_ms += REBALANCE_MS
    leaving = member.send()
    assert wire(leaving) == StreamsGroupHeartbeatRequest(
        group_id="app", member_id="me", member_epoch=epoch, instance_id=instance_id
    )
    assert member.is_in(MembershipState.STALE)
    member.answer(leaving)
    assert member.quiet_ms() == 30_000  # then the program is reminded to confirm the event
    event = member.lost()
    member.membership.application_called(member.now_ms)
    assert member.is_in(MembershipState.STALE)  # its tasks are not closed yet
    member.confirm(event)
    member.membership.application_called(member.now_ms)
    assert wire(member.send()).member_epoch == 0


def test_calls_keep_the_member_in_the_group() -> None:
    member = Member().joined(A)
    member.now_ms += REBALANCE_MS - 1
    member.membership.application_called(member.now_ms)
    member.answer(member.send())
    member.now_ms += REBALANCE_MS - 1
    assert wire(member.send()).member_epoch == 2


def test_a_response_from_before_the_member_became_stale_is_ignored() -> None:
    member = Member().joined()
    late = member.heartbeat()
    member.now_ms += REBALANCE_MS
    assert member.quiet_ms() == NEVER_MS  # a heartbeat is in flight
    member.answer(late)
    member.answer(member.send())
    member.membership.application_called(member.now_ms)
    assert wire(member.send()) == JOINING


# ----------------------------------------------------------------------------------------- leaving

LEAVING = [
    (None, GroupMembershipOperation.DEFAULT, -1),
    (None, GroupMembershipOperation.LEAVE_GROUP, -1),
    ("i", GroupMembershipOperation.DEFAULT, -2),
    ("i", GroupMembershipOperation.LEAVE_GROUP, -1),
    ("i", GroupMembershipOperation.REMAIN_IN_GROUP, -2),
]


@pytest.mark.parametrize(("instance_id", "operation", "epoch"), LEAVING)
def test_leaving_sends_the_epoch_that_the_operation_means(
    instance_id: str | None, operation: GroupMembershipOperation, epoch: int
) -> None:
    member = Member(instance_id).joined(A)
    member.membership.leave(operation)
    assert member.membership.owned == NO_TASKS
    request = member.send()
    assert wire(request).member_epoch == epoch
    assert member.is_in(MembershipState.LEAVING)
    member.answer(request)
    assert member.membership.has_left
    assert member.membership.take_events() == ()


def test_a_dynamic_member_that_remains_says_nothing() -> None:
    member = Member().joined(A)
    member.membership.leave(GroupMembershipOperation.REMAIN_IN_GROUP)
    assert member.membership.has_left
    assert member.quiet_ms() == NEVER_MS


def test_leaving_before_the_first_heartbeat_sends_nothing() -> None:
    member = Member().started()
    member.membership.leave()
    assert member.membership.has_left


def test_leaving_while_joining_leaves_after_the_response() -> None:
    member = Member().started()
    joining = member.send()
    member.membership.leave()
    assert not member.membership.has_left
    member.answer(joining, tasks(A))
    assert member.membership.owned == NO_TASKS
    request = member.send()
    assert wire(request).member_epoch == -1
    member.refuse(request, ErrorCode.UNKNOWN_MEMBER_ID)
    assert member.membership.has_left


def test_a_static_member_that_is_away_can_leave_for_good_before_that_was_answered() -> None:
    member = Member("i").joined(A)
    member.now_ms += REBALANCE_MS
    away = member.send()
    member.membership.leave(GroupMembershipOperation.LEAVE_GROUP)
    member.answer(away, member_epoch=-2)
    for_good = member.send()
    assert (wire(away).member_epoch, wire(for_good).member_epoch) == (-2, -1)
    member.answer(for_good, member_epoch=-1)
    assert member.membership.has_left


def test_leaving_can_be_given_up() -> None:
    member = Member().joined(A)
    member.membership.leave()
    member.send()
    member.membership.give_up_leaving()
    assert member.membership.has_left
    assert any("remove the member when its session times out" in event.text for event in member.errors.events.take())
