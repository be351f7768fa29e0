"""Rounds of a member of a classic group: joining, revocation, errors, the gate before commits, leaving."""

from typing import Any

import pytest

from kafka_groups.assignment.application.task_assignor import TaskAssignmentError
from kafka_groups.client.requests import Lane
from kafka_groups.errors import BrokerError, DisconnectedError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.heartbeat import HeartbeatResponse
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupRequestMember, LeaveGroupResponse
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsStatus
from kafka_groups.protocol.messages.sync_group import SyncGroupResponse
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StatusesChanged,
    TasksAssigned,
    TasksLost,
)
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.types import TopicPartition
from tests.unit.streams.member.classic.driven import (
    ENDPOINT,
    OTHER,
    REBALANCE_MS,
    SETTINGS,
    A,
    B,
    C,
    Member,
    assignment,
    input_of,
    inputs_of,
    joined_with,
    leading,
    subscription_in,
    synced_with,
    tasks,
    user_data_in,
)

_S = MembershipState
HEARTBEAT_MS = SETTINGS.heartbeat_ms

# --------------------------------------------------------------------------------------------- a first round


def test_a_member_joins_with_the_id_that_the_coordinator_gives_it_and_takes_its_tasks() -> None:
    member = Member(instance_id=None).started()
    first = member.send(ApiKey.JOIN_GROUP)
    request = joined_with(first)
    assert (request.group_id, request.protocol_type, request.member_id) == ("app", "consumer", "")
    assert (request.session_timeout_ms, request.rebalance_timeout_ms) == (45_000, REBALANCE_MS)
    assert [each.name for each in request.protocols] == ["stream"]
    member.refuse(first, ErrorCode.MEMBER_ID_REQUIRED, member_id="me-1")
    second = member.send(ApiKey.JOIN_GROUP)
    assert joined_with(second).member_id == "me-1"
    member.admit(second)
    sync = member.send(ApiKey.SYNC_GROUP)
    assert (synced_with(sync).generation_id, synced_with(sync).member_id) == (1, "me-1")
    assert (synced_with(sync).protocol_type, synced_with(sync).protocol_name) == ("consumer", "stream")
    assert synced_with(sync).assignments == ()
    member.answer(sync, SyncGroupResponse(assignment=assignment(inputs_of(A, C), standby=(B,))))
    assigned = member.assigned()
    assert assigned.tasks == member.membership.owned == tasks(A, C, standby=(B,))
    assert assigned.epoch == member.membership.epoch == 1
    assert assigned.inputs == {A: {input_of(A)}, C: {input_of(C)}}
    assert member.is_in(_S.STABLE)


def test_requests_of_a_round_have_a_lane_of_their_own_and_wait_as_long_as_others_may_take() -> None:
    member = Member().started()
    joining = member.joining()
    member.admit(joining)
    sync = member.send(ApiKey.SYNC_GROUP)
    member.answer(sync, SyncGroupResponse(assignment=assignment(inputs_of(A))))
    heartbeat = member.heartbeat()
    member.membership.leave()
    leave = member.send(ApiKey.LEAVE_GROUP)
    assert [each.lane for each in (joining, sync, heartbeat, leave)] == [Lane.GROUP] * 2 + [Lane.CONTROL] * 2
    assert [each.timeout_ms for each in (joining, sync)] == [REBALANCE_MS + 5_000] * 2
    assert [each.timeout_ms for each in (heartbeat, leave)] == [30_000] * 2


def test_a_round_waits_at_least_as_long_as_other_requests() -> None:
    member = Member(rebalance_timeout_ms=1_000).started()
    assert member.joining().timeout_ms == 30_000


def test_a_subscription_tells_what_the_member_owns_and_how_far_its_state_is() -> None:
    member = Member(user_endpoint=ENDPOINT, rack_id="r1", client_tags={"zone": "z1"}).started()
    member.positions = {A: TaskPosition(5)}
    first = member.joining()
    said, info = subscription_in(first), user_data_in(first)
    assert (said.topics, said.owned_partitions, said.generation_id, said.rack_id) == (("in", "in2", "r"), {}, -1, "r1")
    assert (info.version, info.latest_supported_version, info.unique_field, info.error_code) == (11, 11, 2, 0)
    assert (info.user_endpoint, info.client_tags) == ("h:80", (("zone", "z1"),))
    assert info.task_offset_sums == ((A, 5),)
    member.admit(first)
    member.sync(assignment(inputs_of(A, C)))
    member.positions = {A: TaskPosition(9, 9, is_running=True), B: TaskPosition(3)}
    member.rebalance()
    again = member.send(ApiKey.JOIN_GROUP)
    assert subscription_in(again).owned_partitions == {"in": (0,), "r": (0,)}
    assert subscription_in(again).generation_id == 1
    assert user_data_in(again).task_offset_sums == ((A, RUNNING_TASK), (B, 3))
    assert user_data_in(again).unique_field == 3


# ---------------------------------------------------------------------------------------------- revocation


def test_revoked_tasks_are_closed_before_others_are_taken_and_then_the_member_joins_again() -> None:
    member = Member().joined(A, B)
    member.rebalance()
    member.round(B, C)
    assert member.is_in(_S.RECONCILING)
    assert member.membership.owned == tasks(A, B)
    revoked = member.revoked()
    assert revoked.tasks == tasks(A)
    assert member.send_nothing_but_heartbeats()
    member.confirm(revoked)
    assert member.assigned().tasks == tasks(C)
    assert member.is_in(_S.STABLE)
    joining = member.send(ApiKey.JOIN_GROUP)
    assert subscription_in(joining).owned_partitions == {"in": (1,), "r": (0,)}


def test_a_rebalance_waits_until_the_tasks_are_closed() -> None:
    member = Member().joined(A)
    member.rebalance()
    member.round()
    revoked = member.revoked()
    member.rebalance()
    assert member.is_in(_S.RECONCILING)
    member.confirm(revoked)
    assert member.requests().keys() == {ApiKey.JOIN_GROUP}


def test_a_group_that_waits_for_tasks_to_close_is_mentioned_at_half_of_the_time() -> None:
    member = Member().joined(A)
    member.rebalance()
    member.round()
    member.revoked()
    member.log()
    member.rebalance()
    for _ in range(REBALANCE_MS // 2 // HEARTBEAT_MS):
        member.membership.calls.called(member.now_ms)
        member.answer(member.heartbeat(), HeartbeatResponse())
    (line,) = [each for each in member.log() if "waits for member" in each]
    assert "active 0_0" in line
    assert "150 s" in line


def test_a_standby_task_that_becomes_active_is_no_reason_to_join_again() -> None:
    member = Member().started()
    member.admit(member.joining())
    member.sync(assignment({}, standby=(A,)))
    member.events()
    member.rebalance()
    member.round(A)
    revoked = member.revoked()
    assert (revoked.tasks, revoked.then) == (tasks(standby=(A,)), tasks(A))
    member.confirm(revoked)
    assert member.assigned().tasks == tasks(A)
    assert member.quiet_ms() <= HEARTBEAT_MS


def test_a_task_whose_partitions_have_changed_ends_and_begins_again() -> None:
    member = Member().joined(A, B)
    grown = {A: (input_of(A), TopicPartition("in2", 0)), B: (input_of(B),)}
    member.rebalance()
    member.admit(member.send(ApiKey.JOIN_GROUP))
    member.sync(assignment(grown))
    revoked = member.revoked()
    assert revoked.tasks == tasks(A)
    member.confirm(revoked)
    assigned = member.assigned()
    assert (assigned.tasks, assigned.inputs[A]) == (tasks(A), frozenset(grown[A]))
    assert member.membership.owned == tasks(A, B)
    assert member.quiet_ms() <= HEARTBEAT_MS  # that is no reason to join again
    member.rebalance()
    owned = subscription_in(member.send(ApiKey.JOIN_GROUP)).owned_partitions
    assert owned == {"in": (0, 1), "in2": (0,)}


def test_tasks_of_which_the_program_never_heard_go_without_an_event() -> None:
    member = Member().started().round(A)
    member.rebalance()
    member.round(B)
    assert member.is_in(_S.STABLE)
    (event,) = member.events()
    assert isinstance(event, TasksAssigned)
    assert event.tasks == tasks(B)
    assert member.requests().keys() == {ApiKey.JOIN_GROUP}  # others wait for the partition all the same


# ----------------------------------------------------------------------------------------- bad assignments


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "cannot be read"),
        (ConsumerProtocolAssignment({"in": (0,)}).encode(), "cannot be read"),
        (ConsumerProtocolAssignment({"in": (0,)}, b"\x00\x00\x00\x0b\x00").encode(), "cannot be read"),
        (ConsumerProtocolAssignment({"in": (0,)}, b"\x00\x00\x00\x02\x00").encode(), "2.3"),
        (assignment(inputs_of(A), active_tasks=()), "has 1 partition, and names the tasks of 0"),
        (assignment({**inputs_of(A)}, active_tasks=(C._replace(subtopology_id="7"),)), "the task 7_0"),
        (assignment({A: (TopicPartition("elsewhere", 0),)}), "the partition elsewhere-0 for task 0_0"),
        (assignment({}, standby=(), version=3, commonly_supported_version=12), "12 as the version"),
    ],
    ids=["no bytes", "no user data", "cut", "old", "unequal", "unknown task", "unknown topic", "future"],
)
def test_an_assignment_that_cannot_be_used_ends_the_member_and_is_never_an_empty_one(data: bytes, text: str) -> None:
    member = Member().joined(A)
    member.rebalance()
    member.admit(member.send(ApiKey.JOIN_GROUP))
    member.sync(data)
    assert isinstance(member.lost(), TasksLost)
    assert member.fatal() is None  # it leaves first
    member.answer(member.send(ApiKey.LEAVE_GROUP), LeaveGroupResponse())
    fatal = member.fatal()
    assert isinstance(fatal, StreamsError)
    assert text in str(fatal)
    assert OTHER in str(fatal) or "leader" in str(fatal)
    assert member.is_in(_S.FATAL)


def test_a_group_without_a_leader_is_of_another_kind() -> None:
    member = Member().started()
    member.admit(member.joining(), leader="")
    member.answer(member.send(ApiKey.LEAVE_GROUP), LeaveGroupResponse())
    fatal = member.fatal()
    assert isinstance(fatal, BrokerError)
    assert fatal.code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert "of another kind" in str(fatal)


def test_a_member_that_an_error_ends_does_not_wait_for_the_answer_of_a_lost_coordinator() -> None:
    member = Member().started()
    member.admit(member.joining(), leader="")
    member.fail(member.send(ApiKey.LEAVE_GROUP))
    assert member.fatal() is not None
    assert member.is_in(_S.FATAL)


# -------------------------------------------------------------------------------------------------- errors


def test_topics_that_are_missing_end_the_application_without_patience_and_the_member_keeps_its_tasks() -> None:
    member = Member().joined(A)
    member.rebalance()
    member.admit(member.send(ApiKey.JOIN_GROUP))
    member.sync(assignment({}, error_code=1))
    (event,) = member.events()
    assert isinstance(event, StatusesChanged)
    assert event.is_final
    assert [each.status_code for each in event.statuses] == [StreamsStatus.MISSING_SOURCE_TOPICS]
    assert OTHER in (event.statuses[0].status_detail or "")
    assert (member.state, member.membership.owned) == (_S.STABLE, tasks(A))


def test_a_leader_tells_which_topics_are_missing() -> None:
    member = leading()
    generation = member.membership.to_lead
    assert generation is not None
    member.membership.assign(generation, {}, "The topics in are missing.")
    member.sync(assignment({}, error_code=1))
    (event,) = member.events()
    assert isinstance(event, StatusesChanged)
    assert event.statuses[0].status_detail == "The topics in are missing."


def test_an_assignor_that_failed_ends_the_member_with_its_leader_or_the_cause() -> None:
    member = Member().started()
    member.admit(member.joining())
    member.sync(assignment({}, error_code=3))
    member.answer(member.send(ApiKey.LEAVE_GROUP), LeaveGroupResponse())
    assert isinstance(member.fatal(), TaskAssignmentError)
    assert OTHER in str(member.fatal())
    leader = leading()
    assert leader.membership.to_lead is not None
    leader.membership.assign(leader.membership.to_lead, {}, "Division by zero.")
    leader.sync(assignment({}, error_code=3))
    leader.answer(leader.send(ApiKey.LEAVE_GROUP), LeaveGroupResponse())
    assert "Division by zero" in str(leader.fatal())


def test_an_unknown_error_ends_the_member() -> None:
    member = Member().started()
    member.admit(member.joining())
    member.sync(assignment({}, error_code=99))
    member.answer(member.send(ApiKey.LEAVE_GROUP), LeaveGroupResponse())
    assert "error 99" in str(member.fatal())


def test_a_shutdown_that_another_member_asked_for_is_told_and_passed_on() -> None:
    member = Member().joined(A)
    member.rebalance()
    member.admit(member.send(ApiKey.JOIN_GROUP))
    member.sync(assignment({}, error_code=4))
    (event,) = member.events()
    assert isinstance(event, StatusesChanged)
    assert [each.status_code for each in event.statuses] == [StreamsStatus.SHUTDOWN_APPLICATION]
    assert member.membership.owned == tasks(A)
    member.rebalance()
    assert user_data_in(member.send(ApiKey.JOIN_GROUP)).error_code == 4


def test_a_member_heartbeats_more_often_for_two_seconds_after_each_assignment() -> None:
    member = Member().joined(A)
    for _ in range(2):
        since_ms, pauses = member.now_ms, []
        while member.now_ms < since_ms + 2_000:
            pauses.append(member.quiet_ms())
            member.wait(pauses[-1])
            member.answer(member.send(ApiKey.HEARTBEAT), HeartbeatResponse())
        assert 5 <= len(pauses) <= 8
        assert all(250 <= each <= 400 for each in pauses)
        assert member.quiet_ms() == HEARTBEAT_MS
        member.rebalance()
        member.round(A)


def test_a_shutdown_is_asked_for_until_the_group_has_heard_it() -> None:
    member = Member().joined(A)
    member.membership.request_shutdown()
    joining = member.send(ApiKey.JOIN_GROUP)
    assert user_data_in(joining).error_code == 4
    member.admit(joining)
    member.sync(assignment(inputs_of(A)))  # from a leader that has not read it
    member.wait(SETTINGS.pause_ms - 1)
    assert member.requests().keys() == {ApiKey.HEARTBEAT}
    member.wait(1)
    assert user_data_in(member.send(ApiKey.JOIN_GROUP)).error_code == 4


def test_old_members_cannot_be_told_to_shut_down() -> None:
    member = Member().joined(A, version=8, commonly_supported_version=8)
    member.membership.request_shutdown()
    member.round(A, version=8, commonly_supported_version=8)
    (event,) = member.events()
    assert isinstance(event, StatusesChanged)
    assert event.statuses[0].status_code == StreamsStatus.SHUTDOWN_APPLICATION
    assert any("Kafka Streams 2.7" in line for line in member.log())


# ------------------------------------------------------------------------------------------- the commit gate


def test_a_commit_that_has_begun_holds_the_join_back_while_heartbeats_go_on() -> None:
    member = Member().joined(A)
    assert member.membership.hold()
    member.rebalance()
    assert member.is_in(_S.JOINING)
    assert member.requests() == {}
    heartbeat = member.heartbeat()
    member.answer(heartbeat, HeartbeatResponse())
    assert heartbeat.context.generation == 1
    assert member.membership.hold()  # nothing is built yet
    member.membership.release()
    assert member.requests() == {}
    member.membership.release()
    assert member.requests().keys() == {ApiKey.JOIN_GROUP}


def test_no_commit_begins_from_building_the_join_until_the_assignment_is_known() -> None:
    member = Member().joined(A)
    member.rebalance()
    assert member.may_commit()
    joining = member.send(ApiKey.JOIN_GROUP)
    assert not member.membership.hold()
    member.fail(joining)  # the coordinator may have taken it
    assert not member.may_commit()
    member.wait(2_000)
    member.admit(member.send(ApiKey.JOIN_GROUP))
    assert not member.may_commit()
    sync = member.send(ApiKey.SYNC_GROUP)
    assert not member.may_commit()
    member.answer(sync, SyncGroupResponse(assignment=assignment(inputs_of(A))))
    assert member.may_commit()


def test_a_commit_of_revoked_tasks_may_begin() -> None:
    member = Member().joined(A)
    member.rebalance()
    member.round()
    assert member.is_in(_S.RECONCILING)
    assert member.membership.hold()


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_AUTHORIZATION_FAILED])
def test_a_member_without_a_generation_commits_nothing(code: ErrorCode) -> None:
    member = Member().joined(A)
    member.refuse(member.heartbeat(), code)
    assert not member.membership.hold()
    assert not Member().started().membership.may_commit


# ------------------------------------------------------------------------------------------- waiting, being late


def test_a_join_that_is_not_answered_is_mentioned_at_growing_intervals() -> None:
    member = Member().joined(A)
    member.rebalance()
    joining = member.send(ApiKey.JOIN_GROUP)
    times = []
    for _ in range(300):
        member.wait(1_000)
        member.membership.calls.called(member.now_ms)
        member.membership.poll(member.now_ms)
        times += [line.split(" s. ")[0].rsplit(" ", 1)[1] for line in member.log() if "not answered" in line]
    assert times == ["10", "20", "40", "80", "160"]
    member.admit(joining)
    member.wait(1_000_000)
    member.membership.calls.called(member.now_ms)
    member.membership.poll(member.now_ms)
    assert not [line for line in member.log() if "not answered" in line]


def test_each_round_is_one_line() -> None:
    member = Member().started().round(A, B)
    (first,) = member.log()
    assert "Generation 1 of group app: member me-1 follows." in first
    assert "it starts" in first
    assert "takes active 0_0, 0_1, and gives up no tasks" in first
    member.events()
    member.rebalance()
    member.round(B, C)
    (second,) = member.log()
    assert "Generation 2" in second
    assert "the coordinator asks for it" in second
    assert "takes active 1_0, and gives up active 0_0" in second


def test_a_program_that_stays_away_costs_a_dynamic_member_its_place_and_its_next_call_brings_it_back() -> None:
    member = Member().joined(A)
    member.wait(REBALANCE_MS)
    leave = member.send(ApiKey.LEAVE_GROUP)
    assert member.is_in(_S.STALE)
    message = leave.build(5)
    assert isinstance(message, LeaveGroupRequest)
    assert [each.member_id for each in message.members] == ["me-1"]
    event = member.lost()
    member.membership.application_called(member.now_ms)
    assert member.is_in(_S.STALE)  # its tasks are still open
    member.confirm(event)
    member.membership.application_called(member.now_ms)
    assert member.requests() == {}
    member.answer(leave, LeaveGroupResponse())
    assert joined_with(member.send(ApiKey.JOIN_GROUP)).member_id == ""


def test_a_static_member_whose_program_stays_away_is_silent_and_keeps_its_id() -> None:
    member = Member(instance_id="w-1").joined(A)
    member.wait(REBALANCE_MS)
    assert member.requests() == {}
    assert member.is_in(_S.STALE)
    member.confirm(member.lost())
    member.membership.application_called(member.now_ms)
    request = joined_with(member.send(ApiKey.JOIN_GROUP))
    assert (request.member_id, request.group_instance_id) == ("me-1", "w-1")


# ------------------------------------------------------------------------------------------------- leaving

_O = GroupMembershipOperation


@pytest.mark.parametrize(
    ("instance_id", "operation", "tells"),
    [
        (None, _O.DEFAULT, True),
        (None, _O.LEAVE_GROUP, True),
        (None, _O.REMAIN_IN_GROUP, False),
        ("w-1", _O.DEFAULT, False),
        ("w-1", _O.LEAVE_GROUP, True),
        ("w-1", _O.REMAIN_IN_GROUP, False),
    ],
)
def test_who_leaves_tells_the_coordinator(instance_id: str | None, operation: Any, tells: bool) -> None:
    member = Member(instance_id=instance_id).joined(A)
    member.membership.leave(operation)
    if tells:
        assert not member.membership.has_left
        leave = member.send(ApiKey.LEAVE_GROUP)
        message = leave.build(5)
        assert isinstance(message, LeaveGroupRequest)
        wanted = LeaveGroupRequestMember(
            member_id="me-1", group_instance_id=instance_id, reason="the member was closed"
        )
        assert message.members == (wanted,)
        assert leave.build(2) == LeaveGroupRequest(group_id="app", member_id="me-1")
        member.answer(leave, LeaveGroupResponse())
    assert member.membership.has_left
    assert member.requests() == {}


def test_a_member_that_closes_does_not_wait_for_others_to_join() -> None:
    member = Member().joined(A)
    member.rebalance()
    joining = member.send(ApiKey.JOIN_GROUP)
    member.membership.leave()
    leave = member.send(ApiKey.LEAVE_GROUP)
    member.answer(leave, LeaveGroupResponse())
    assert member.membership.has_left
    member.refuse(joining, ErrorCode.UNKNOWN_MEMBER_ID)
    assert member.is_in(_S.UNJOINED)
    assert member.fatal() is None


def test_a_leave_that_is_lost_or_met_the_wrong_broker_is_repeated_until_it_is_given_up() -> None:
    member = Member().joined(A)
    member.membership.leave()
    member.fail(member.send(ApiKey.LEAVE_GROUP))
    member.wait(2_000)
    member.refuse(member.send(ApiKey.LEAVE_GROUP), ErrorCode.NOT_COORDINATOR)
    assert member.coordinator.node_id is None
    member.coordinator.node_id = 3
    member.wait(2_000)
    leave = member.send(ApiKey.LEAVE_GROUP)
    member.membership.give_up_leaving()
    assert member.membership.has_left
    member.answer(leave, LeaveGroupResponse())
    assert member.requests() == {}


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_AUTHORIZATION_FAILED])
def test_any_other_answer_ends_the_membership(code: ErrorCode) -> None:
    member = Member().joined(A)
    member.membership.leave()
    member.refuse(member.send(ApiKey.LEAVE_GROUP), code)
    assert member.membership.has_left


def test_a_member_that_never_joined_leaves_at_once() -> None:
    member = Member()
    member.membership.leave()
    assert member.membership.has_left
    joining = Member().started()
    joining.membership.leave()
    assert joining.membership.has_left


# -------------------------------------------------------------------------------------------------- counting


def test_lives_are_counted_so_that_commits_of_a_former_one_are_recognised() -> None:
    member = Member().joined(A)
    assert member.membership.life == 0
    member.refuse(member.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert (member.membership.life, member.membership.epoch) == (1, 0)


def test_heartbeats_that_are_asked_for_are_counted_when_they_are_accepted() -> None:
    member = Member().joined(A)
    assert member.membership.ask_again() == 1
    heartbeat = member.send(ApiKey.HEARTBEAT)
    assert member.membership.ask_again() == 2  # the one in flight was sent before
    member.answer(heartbeat, HeartbeatResponse())
    member.answer(member.send(ApiKey.HEARTBEAT), HeartbeatResponse())
    assert member.membership.heard == 2


def test_a_repeated_failure_waits_longer() -> None:
    member = Member().started()
    waits = []
    for _ in range(5):
        member.fail(member.send(ApiKey.JOIN_GROUP), DisconnectedError("gone"))
        wait_ms = member.quiet_ms()
        waits.append(wait_ms)
        member.wait(wait_ms)
    assert waits[-1] > 3 * waits[0]


# -------------------------------------------------------------------------------------------------- metrics


def test_rounds_are_measured_and_refused_requests_are_not() -> None:
    member = Member().joined(A, B)
    rounds = member.membership.round_sensors
    assert (rounds.joins.total, rounds.syncs.total, rounds.partitions, rounds.is_leader) == (1, 1, 2, False)
    member.rebalance()
    member.refuse(member.joining(), ErrorCode.REBALANCE_IN_PROGRESS)
    assert rounds.joins.total == 1
    member.wait(HEARTBEAT_MS)
    member.admit_as_leader(member.send(ApiKey.JOIN_GROUP))
    assert (rounds.joins.total, rounds.is_leader) == (2, True)
    assert rounds.joins.times.largest(member.now_ms) == 1
    member.refuse(member.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID)
    assert (rounds.partitions, rounds.is_leader) == (0, False)
    assert member.membership.sensors.rebalances.failed == 1
