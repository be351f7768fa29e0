"""A member whose JoinGroup is not answered for longer than its session asks with heartbeats whether it will be."""

import pytest

from kafka_groups.client.requests import NEVER_MS, Lane, OutgoingRequest
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_groups.streams.member.classic.join_inquiry import JoinInquiry
from kafka_groups.streams.member.rules.member_events import TasksLost
from kafka_groups.streams.member.rules.states import MembershipState
from tests.unit.streams.member.classic.driven import SETTINGS, A, Member, assignment, inputs_of, joined_with

SESSION_MS, GRACE_MS = SETTINGS.session_ms, SETTINGS.heartbeat_ms
WAITING = ErrorCode.REBALANCE_IN_PROGRESS


def waiting() -> tuple[Member, OutgoingRequest]:
    """A member with a generation and a task, whose JoinGroup has just been sent."""
    member = Member().joined(A)
    member.rebalance()
    return member, member.joining()


def asked(member: Member) -> OutgoingRequest:
    """The next heartbeat, at its time."""
    for _ in range(20):  # warnings have their times, too
        wait_ms = member.quiet_ms()
        assert 0 < wait_ms < NEVER_MS
        member.wait(wait_ms)
        requests = member.requests()
        if requests:
            assert requests.keys() == {ApiKey.HEARTBEAT}
            return requests[ApiKey.HEARTBEAT]
    pytest.fail("It does not ask.")


def test_a_member_asks_when_it_has_waited_for_its_session_and_then_at_its_interval() -> None:
    member, _ = waiting()
    since_ms = member.now_ms
    first = asked(member)
    assert member.now_ms - since_ms == SESSION_MS
    message = first.build(4)
    assert isinstance(message, HeartbeatRequest)
    assert (message.member_id, message.generation_id, first.lane) == ("me-1", 1, Lane.CONTROL)
    member.refuse(first, WAITING)
    second = asked(member)
    assert member.now_ms - since_ms == SESSION_MS + GRACE_MS
    member.answer(second, HeartbeatResponse())
    assert member.is_in(MembershipState.JOINING)


@pytest.mark.parametrize("code", [WAITING, ErrorCode.NONE])
def test_a_group_that_waits_for_others_is_waited_for(code: ErrorCode) -> None:
    member, joining = waiting()
    for _ in range(20):
        member.refuse(asked(member), code)
    member.admit(joining)
    member.sync(assignment(inputs_of(A)))
    assert member.is_in(MembershipState.STABLE)
    assert member.events() == []


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
def test_a_group_that_has_gone_on_is_joined_again_on_another_connection(code: ErrorCode) -> None:
    member, lost = waiting()
    member.refuse(asked(member), code)
    assert member.quiet_ms() == GRACE_MS
    member.wait(GRACE_MS)
    again = member.send(ApiKey.JOIN_GROUP)
    assert (again.on_new_connection, again.lane) == (True, Lane.GROUP)
    assert not lost.on_new_connection
    assert joined_with(again).member_id == "me-1"
    assert [line for line in member.log() if "has gone on without member me-1" in line]
    member.admit(lost)  # too late
    assert member.is_in(MembershipState.JOINING)
    assert member.membership.epoch == 1
    # The coordinator decides whether the member keeps its tasks.
    member.refuse(again, ErrorCode.UNKNOWN_MEMBER_ID)
    assert isinstance(member.lost(), TasksLost)


def test_a_member_that_joins_again_keeps_its_tasks_if_the_coordinator_has_it() -> None:
    member, _ = waiting()
    member.refuse(asked(member), ErrorCode.ILLEGAL_GENERATION)
    member.wait(GRACE_MS)
    again = member.requests()[ApiKey.JOIN_GROUP]
    assert not member.may_commit()
    member.generation += 1
    member.admit(again)
    request = member.send(ApiKey.SYNC_GROUP)
    assert not request.on_new_connection
    assert member.events() == []
    assert member.membership.owned.active == {A}


def test_an_answer_that_still_comes_counts() -> None:
    member, joining = waiting()
    member.refuse(asked(member), ErrorCode.ILLEGAL_GENERATION)
    member.wait(GRACE_MS - 1)
    member.admit(joining)
    member.sync(assignment(inputs_of(A)))
    assert member.is_in(MembershipState.STABLE)
    member.wait(10)
    assert ApiKey.JOIN_GROUP not in member.requests()


def test_a_newcomer_has_no_generation_that_could_be_illegal() -> None:
    member = Member().started()
    member.joining()
    for _ in range(3):
        member.refuse(asked(member), ErrorCode.ILLEGAL_GENERATION)
    member.refuse(asked(member), ErrorCode.UNKNOWN_MEMBER_ID)
    member.wait(GRACE_MS)
    assert joined_with(member.requests()[ApiKey.JOIN_GROUP]).member_id == "me-1"


def test_a_member_without_an_id_cannot_ask() -> None:
    member = Member(instance_id="one").started()
    member.send(ApiKey.JOIN_GROUP)
    member.wait(2 * SESSION_MS)
    assert member.requests() == {}


def test_a_member_waits_for_no_answer_of_a_broker_that_coordinates_the_group_no_more() -> None:
    member, lost = waiting()
    member.refuse(asked(member), ErrorCode.NOT_COORDINATOR)
    assert member.coordinator.node_id is None
    member.coordinator.node_id = 3
    beat = asked(member)
    assert (beat.node_id, lost.node_id) == (3, 2)
    member.answer(beat, HeartbeatResponse())
    member.wait(GRACE_MS)
    assert member.requests()[ApiKey.JOIN_GROUP].node_id == 3


def test_a_member_that_another_process_has_replaced_ends() -> None:
    member, _ = waiting()
    member.refuse(asked(member), ErrorCode.FENCED_INSTANCE_ID)
    assert member.is_in(MembershipState.FATAL)


def test_what_is_sent_after_a_request_that_nobody_waits_for_has_a_connection_of_its_own() -> None:
    member = Member().joined(A)
    member.rebalance()
    member.admit(member.joining())
    assert not member.send(ApiKey.SYNC_GROUP).on_new_connection
    member.refuse(member.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID)  # SyncGroup is not answered
    member.confirm(member.lost())
    member.wait(1_000)
    assert member.send(ApiKey.JOIN_GROUP).on_new_connection


def test_an_inquiry_that_is_over_asks_nothing() -> None:
    inquiry = JoinInquiry(1_000, 100)
    assert inquiry.begins_in_ms(0) == inquiry.remaining_ms(0) == NEVER_MS
    inquiry.sent(5)
    assert (inquiry.begins_in_ms(5), inquiry.begins_in_ms(1_005)) == (1_000, 0)
    inquiry.heard(1_005, waits=False)
    inquiry.heard(1_050, waits=False)
    assert (inquiry.remaining_ms(1_050), inquiry.remaining_ms(1_105)) == (55, 0)
    inquiry.heard(1_060, waits=True)
    assert inquiry.remaining_ms(1_060) == NEVER_MS
    inquiry.heard(1_070, waits=False)
    inquiry.over()
    assert inquiry.begins_in_ms(2_000) == inquiry.remaining_ms(2_000) == NEVER_MS
