"""A member of a share group, driven by hand: joining, heartbeats, errors, leaving, applications that stay away."""

import random
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.membership.heartbeat import HeartbeatTimer
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import NEVER_MS, ClientResponse, OutgoingRequest
from kafka_groups.errors import (
    BrokerError,
    DisconnectedError,
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    GroupMaxSizeReachedError,
    InvalidRequestError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from kafka_groups.share.membership.membership import MemberIdentity, ShareMembership
from kafka_groups.share.membership.states import MemberState
from kafka_groups.types import TopicIdPartition

TOPIC = UUID(int=7)
INTERVAL_MS = 5_000
MAX_POLL_MS = 300_000


class Member:
    """A membership with a coordinator that is known, and a clock."""

    def __init__(self, rack: str | None = "r1") -> None:
        self.now_ms = 10_000
        self.errors = BackgroundErrors()
        backoff = BackoffTimer(100, 1000, random.Random(1))
        self.coordinator = CoordinatorManager("g", Metadata(), self.errors, backoff=backoff, timeout_ms=30_000)
        self.coordinator.node_id = 2
        self.timer = HeartbeatTimer(BackoffTimer(100, 1000, random.Random(2)))
        self.membership = ShareMembership(
            MemberIdentity("g", "me", rack),
            coordinator=self.coordinator,
            errors=self.errors,
            timer=self.timer,
            timeout_ms=30_000,
            max_poll_interval_ms=MAX_POLL_MS,
        )

    @property
    def state(self) -> MemberState:
        return self.membership.state

    def send(self) -> OutgoingRequest:
        (request,) = self.membership.poll(self.now_ms).requests
        return request

    def quiet_ms(self) -> int:
        result = self.membership.poll(self.now_ms)
        assert result.requests == ()
        return result.wait_ms

    def answer(self, request: OutgoingRequest, *, epoch: int = 1, **values: Any) -> None:
        values = dict[str, Any](member_id="me", member_epoch=epoch, heartbeat_interval_ms=INTERVAL_MS) | values
        self.membership.on_response(request, ClientResponse(ShareGroupHeartbeatResponse(**values), 1, 1), self.now_ms)

    def lose(self, request: OutgoingRequest) -> None:
        self.membership.on_failure(request, DisconnectedError("gone"), self.now_ms)

    def joined(self, *partitions: int) -> "Member":
        self.membership.subscribe(["orders"])
        self.membership.application_polled(self.now_ms)
        self.answer(self.send(), assignment=assigned(*(partitions or (0,))))
        return self

    def heartbeat(self) -> OutgoingRequest:
        self.now_ms += INTERVAL_MS
        return self.send()


def assigned(*partitions: int) -> Assignment:
    return Assignment(topic_partitions=(TopicPartitions(topic_id=TOPIC, partitions=partitions),))


def wire(request: OutgoingRequest) -> ShareGroupHeartbeatRequest:
    message = request.build(1)
    assert isinstance(message, ShareGroupHeartbeatRequest)
    return message


# ------------------------------------------------------------------------------------------ joining


def test_nothing_is_sent_before_subscribing() -> None:
    member = Member()
    assert member.quiet_ms() == NEVER_MS
    assert member.membership.has_left


def test_joining_sends_epoch_0_with_rack_and_topics_in_order_to_the_coordinator() -> None:
    member = Member()
    member.membership.subscribe(["b", "a"])
    request = member.send()
    assert request.node_id == 2
    assert wire(request) == ShareGroupHeartbeatRequest(
        group_id="g", member_id="me", member_epoch=0, rack_id="r1", subscribed_topic_names=("a", "b")
    )
    assert member.quiet_ms() == NEVER_MS  # never two at a time


def test_without_a_coordinator_it_waits_and_has_it_looked_up() -> None:
    member = Member()
    member.coordinator.node_id = None
    member.membership.subscribe(["orders"])
    assert member.coordinator.wanted
    assert member.quiet_ms() == NEVER_MS
    assert len(member.coordinator.poll(member.now_ms).requests) == 1


def test_after_joining_rack_and_topics_are_not_repeated_and_the_interval_is_the_coordinators() -> None:
    member = Member().joined(0, 1)
    assert member.state is MemberState.STABLE
    assert member.membership.assignment == {TopicIdPartition(TOPIC, 0), TopicIdPartition(TOPIC, 1)}
    assert member.quiet_ms() == INTERVAL_MS

    request = member.heartbeat()
    assert wire(request) == ShareGroupHeartbeatRequest(group_id="g", member_id="me", member_epoch=1)
    member.answer(request, heartbeat_interval_ms=1_000)
    assert member.quiet_ms() == 1_000


def test_the_interval_counts_from_the_sending_of_the_heartbeat() -> None:
    member = Member().joined()
    request = member.heartbeat()
    member.now_ms += 400
    member.answer(request)
    assert member.quiet_ms() == INTERVAL_MS - 400


def test_a_null_assignment_changes_nothing_and_another_counts_as_a_rebalance() -> None:
    member = Member().joined(0)
    assert member.membership.sensors.rebalances == 1
    member.answer(member.heartbeat(), epoch=2)
    assert member.membership.assignment == {TopicIdPartition(TOPIC, 0)}
    assert (member.membership.epoch, member.membership.sensors.rebalances) == (2, 1)
    member.answer(member.heartbeat(), epoch=3, assignment=assigned(1))
    assert member.membership.assignment == {TopicIdPartition(TOPIC, 1)}
    member.answer(member.heartbeat(), epoch=3, assignment=assigned(1))
    assert member.membership.sensors.rebalances == 2


def test_an_empty_first_assignment_is_asked_after_soon_and_less_soon_each_time() -> None:
    member = Member()
    member.membership.subscribe(["orders"])
    request, waits = member.send(), []
    for _ in range(8):
        member.answer(request, assignment=Assignment())
        waits.append(member.quiet_ms())
        member.now_ms += waits[-1]
        request = member.send()
    assert waits == [100, 200, 400, 800, 1600, 3200, 5000, 5000]


def test_a_throttle_time_is_kept_even_by_an_impatient_member() -> None:
    member = Member()
    member.membership.subscribe(["orders"])
    member.answer(member.send(), throttle_time_ms=900, assignment=Assignment())
    assert member.quiet_ms() == 900


# ------------------------------------------------------------------------------- changed subscription


def test_a_changed_subscription_goes_at_once_and_only_once() -> None:
    member = Member().joined()
    member.membership.subscribe(["orders", "more"])
    request = member.send()
    assert wire(request).subscribed_topic_names == ("more", "orders")
    assert wire(request).rack_id is None
    member.answer(request)
    assert wire(member.heartbeat()).subscribed_topic_names is None


def test_the_same_subscription_again_is_not_sent() -> None:
    member = Member().joined()
    member.membership.subscribe(["orders"])
    assert member.quiet_ms() == INTERVAL_MS


def test_a_subscription_changed_while_joining_follows_the_join() -> None:
    member = Member()
    member.membership.subscribe(["orders"])
    join = member.send()
    member.membership.subscribe(["more"])
    member.answer(join, assignment=assigned(0))
    assert wire(member.send()).subscribed_topic_names == ("more",)


def test_a_changed_subscription_that_got_lost_is_sent_again() -> None:
    member = Member().joined()
    member.membership.subscribe(["more"])
    member.lose(member.send())
    member.coordinator.node_id = 2
    member.now_ms += member.quiet_ms()
    assert wire(member.send()).subscribed_topic_names == ("more",)


# -------------------------------------------------------------------------------------------- errors


def test_a_lost_answer_sends_the_same_epoch_again_after_the_back_off_to_the_coordinator_found_anew() -> None:
    member = Member().joined()
    member.lose(member.heartbeat())
    assert member.coordinator.node_id is None
    member.coordinator.node_id = 4
    wait_ms = member.quiet_ms()
    assert 80 <= wait_ms <= 120
    member.now_ms += wait_ms
    request = member.send()
    assert (wire(request).member_epoch, request.node_id) == (1, 4)
    assert member.membership.assignment


def test_after_a_lost_answer_the_topics_are_named_so_that_an_assignment_in_it_is_repeated() -> None:
    member = Member().joined()
    member.lose(member.heartbeat())
    member.coordinator.node_id = 2
    member.now_ms += member.quiet_ms()
    request = member.send()
    assert wire(request).subscribed_topic_names == ("orders",)
    member.answer(request, epoch=2, assignment=assigned(1, 2))
    assert {part.partition for part in member.membership.assignment} == {1, 2}
    assert wire(member.heartbeat()).subscribed_topic_names is None


def test_an_epoch_that_moves_on_without_an_assignment_is_asked_about_once() -> None:
    member = Member().joined()
    member.answer(member.heartbeat(), epoch=2)
    assert member.quiet_ms() == INTERVAL_MS
    request = member.heartbeat()
    assert wire(request).subscribed_topic_names == ("orders",)
    member.answer(request, epoch=2, assignment=assigned(3))
    assert {part.partition for part in member.membership.assignment} == {3}
    assert wire(member.heartbeat()).subscribed_topic_names is None


@pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_another_coordinator_is_looked_for_and_asked_without_back_off(code: ErrorCode) -> None:
    member = Member().joined()
    member.answer(member.heartbeat(), error_code=code)
    assert member.coordinator.node_id is None
    member.coordinator.node_id = 5
    request = member.send()
    assert (wire(request).member_epoch, request.node_id) == (1, 5)
    assert member.state is MemberState.STABLE
    assert not member.errors


@pytest.mark.parametrize(
    "code", [ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
)
def test_an_answer_that_never_changes_is_not_asked_for_without_end(code: ErrorCode) -> None:
    member = Member().joined()
    end_ms, requests = member.now_ms + 10_000, 0
    while member.now_ms < end_ms:
        result = member.membership.poll(member.now_ms)
        if result.requests:
            requests += 1
            member.answer(result.requests[0], error_code=code)
            member.coordinator.node_id = 2
        else:
            member.now_ms += result.wait_ms
    assert 6 <= requests <= 20


def test_a_coordinator_that_loads_keeps_the_place_and_gets_a_back_off() -> None:
    member = Member().joined()
    member.answer(member.heartbeat(), error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert member.coordinator.node_id == 2
    assert 80 <= member.quiet_ms() <= 120
    assert member.membership.assignment
    assert not member.errors


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH])
def test_a_fenced_member_drops_its_assignment_and_joins_again_under_the_same_id(code: ErrorCode) -> None:
    member = Member().joined()
    member.answer(member.heartbeat(), error_code=code)
    assert member.membership.assignment == frozenset()
    assert wire(member.send()) == ShareGroupHeartbeatRequest(
        group_id="g", member_id="me", member_epoch=0, rack_id="r1", subscribed_topic_names=("orders",)
    )
    assert not member.errors


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, GroupAuthorizationFailedError),
        (ErrorCode.INVALID_REQUEST, InvalidRequestError),
        (ErrorCode.GROUP_MAX_SIZE_REACHED, GroupMaxSizeReachedError),
        (ErrorCode.UNSUPPORTED_VERSION, UnsupportedVersionError),
        (ErrorCode.GROUP_ID_NOT_FOUND, GroupIdNotFoundError),
        (ErrorCode(1234), BrokerError),
    ],
)
def test_any_other_error_ends_the_member(code: ErrorCode, error: type[BrokerError]) -> None:
    member = Member().joined()
    member.answer(member.heartbeat(), error_code=code, error_message="why")
    assert type(member.errors.fatal) is error
    assert member.state is MemberState.FATAL
    assert member.membership.assignment == frozenset()
    assert member.quiet_ms() == NEVER_MS
    member.membership.subscribe(["more"])
    member.membership.application_polled(member.now_ms)
    assert member.quiet_ms() == NEVER_MS


def test_a_group_that_vanished_says_what_happened_and_what_to_do() -> None:
    member = Member().joined()
    member.answer(member.heartbeat(), error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message="Share group g not found.")
    text = str(member.errors.fatal)
    assert isinstance(member.errors.fatal, GroupIdNotFoundError)
    for told in ("'g' does not exist any more", "deleted the group", "empty disks", "share.auto.offset.reset"):
        assert told in text


def test_a_broker_that_does_not_serve_share_groups_ends_the_member() -> None:
    member = Member()
    member.membership.subscribe(["orders"])
    member.membership.on_failure(member.send(), UnsupportedVersionError("no ShareGroupHeartbeat"), member.now_ms)
    assert isinstance(member.errors.fatal, UnsupportedVersionError)
    assert member.quiet_ms() == NEVER_MS


def test_an_unauthorised_topic_is_reported_but_the_member_goes_on_trying() -> None:
    member = Member().joined()
    member.answer(member.heartbeat(), error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message="orders")
    with pytest.raises(TopicAuthorizationFailedError, match="orders"):
        member.errors.raise_first()
    assert member.errors.fatal is None
    member.now_ms += member.quiet_ms()
    member.answer(member.send())
    assert member.state is MemberState.STABLE


# ------------------------------------------------------------------------------------------- leaving


def test_leaving_sends_epoch_minus_1_at_once_and_drops_the_assignment() -> None:
    member = Member().joined()
    member.membership.leave()
    assert member.membership.assignment == frozenset()
    request = member.send()
    assert wire(request) == ShareGroupHeartbeatRequest(group_id="g", member_id="me", member_epoch=-1)
    member.answer(request, epoch=-1)
    assert member.membership.has_left
    assert member.quiet_ms() == NEVER_MS


def test_a_group_that_is_gone_is_no_error_while_leaving() -> None:
    member = Member().joined()
    member.membership.leave()
    member.answer(member.send(), error_code=ErrorCode.GROUP_ID_NOT_FOUND)
    assert member.membership.has_left
    assert not member.errors


def test_leaving_before_the_join_was_sent_says_nothing() -> None:
    member = Member()
    member.membership.subscribe(["orders"])
    member.membership.leave()
    assert member.membership.has_left
    assert member.quiet_ms() == NEVER_MS


@pytest.mark.parametrize("lost", [False, True], ids=["answered", "lost"])
def test_leaving_while_the_join_is_under_way_waits_for_its_fate_and_then_leaves(lost: bool) -> None:
    member = Member()
    member.membership.subscribe(["orders"])
    join = member.send()
    member.membership.leave()
    assert member.quiet_ms() == NEVER_MS
    if lost:
        member.lose(join)
        member.coordinator.node_id = 2
        member.now_ms += member.quiet_ms()
    else:
        member.answer(join, assignment=assigned(0))
    assert member.membership.assignment == frozenset()
    assert wire(member.send()).member_epoch == -1


def test_a_join_whose_answer_was_lost_may_have_taken_effect_so_the_member_leaves() -> None:
    member = Member()
    member.membership.subscribe(["orders"])
    member.lose(member.send())
    member.coordinator.node_id = 2
    member.membership.leave()
    assert not member.membership.has_left
    member.now_ms += member.quiet_ms()
    assert wire(member.send()).member_epoch == -1


def test_a_fenced_member_need_not_leave() -> None:
    member = Member().joined()
    member.answer(member.heartbeat(), error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    member.membership.leave()
    assert member.membership.has_left


def test_an_error_of_the_join_does_not_matter_to_a_member_that_leaves() -> None:
    member = Member()
    member.membership.subscribe(["orders"])
    join = member.send()
    member.membership.leave()
    member.answer(join, error_code=ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert not member.errors
    member.answer(member.send(), epoch=-1)
    assert member.membership.has_left


def test_a_leave_that_got_lost_is_tried_again_until_given_up() -> None:
    member = Member().joined()
    member.membership.leave()
    member.lose(member.send())
    member.coordinator.node_id = 2
    member.now_ms += member.quiet_ms()
    member.send()
    still_there = not member.membership.has_left
    member.membership.give_up_leaving()
    assert still_there
    assert member.membership.has_left


@pytest.mark.parametrize("sent", [False, True], ids=["leave not sent yet", "leave under way"])
def test_subscribing_while_leaving_joins_again_with_all_topics(sent: bool) -> None:
    member = Member().joined()
    member.membership.leave()
    leave = member.send() if sent else None
    member.membership.subscribe(["orders"])
    if leave is not None:
        assert member.quiet_ms() > 0
        member.answer(leave, epoch=-1)
    join = member.send()
    assert (wire(join).member_epoch, wire(join).subscribed_topic_names) == (0, ("orders",))
    member.answer(join, epoch=9, assignment=assigned(3))
    assert (member.state, member.membership.epoch) == (MemberState.STABLE, 9)


def test_leaving_for_good_after_a_fatal_error() -> None:
    member = Member().joined()
    member.answer(member.heartbeat(), error_code=ErrorCode.INVALID_REQUEST)
    member.membership.leave()
    assert member.membership.has_left


# ------------------------------------------------------------------------- applications that stay away


def test_an_application_that_does_not_poll_leaves_the_group_and_joins_again_when_it_does() -> None:
    member = Member().joined()
    while member.now_ms < 10_000 + MAX_POLL_MS - INTERVAL_MS:
        member.answer(member.heartbeat())
    member.now_ms = 10_000 + MAX_POLL_MS
    request = member.send()
    assert wire(request).member_epoch == -1
    assert (member.state, member.membership.assignment) == (MemberState.STALE, frozenset())
    member.answer(request, epoch=-1)
    member.now_ms += 10 * INTERVAL_MS
    assert member.quiet_ms() == NEVER_MS

    member.membership.application_polled(member.now_ms)
    join = member.send()
    assert (wire(join).member_epoch, wire(join).member_id) == (0, "me")
    assert wire(join).subscribed_topic_names == ("orders",)
    member.answer(join, epoch=3, assignment=assigned(0))
    assert member.membership.assignment


def test_polling_again_before_the_leave_was_answered_joins_after_it() -> None:
    member = Member().joined()
    member.now_ms += MAX_POLL_MS
    leave = member.send()
    member.membership.application_polled(member.now_ms)
    assert member.quiet_ms() > 0
    member.answer(leave, epoch=-1)
    assert wire(member.send()).member_epoch == 0


def test_the_answer_of_a_heartbeat_before_the_rejoin_does_not_count() -> None:
    member = Member().joined()
    heartbeat = member.heartbeat()
    member.membership.leave()
    member.membership.subscribe(["orders"])
    member.answer(heartbeat, epoch=1, assignment=assigned(0))
    assert member.membership.assignment == frozenset()
    assert wire(member.send()).member_epoch == 0


def test_the_poll_deadline_is_the_longest_wait() -> None:
    member = Member().joined()
    member.answer(member.heartbeat(), heartbeat_interval_ms=MAX_POLL_MS * 2)
    assert member.quiet_ms() == MAX_POLL_MS - INTERVAL_MS


def test_a_member_whose_application_never_polled_has_no_deadline() -> None:
    member = Member()
    member.membership.subscribe(["orders"])
    member.answer(member.send(), assignment=assigned(0))
    member.now_ms += 2 * MAX_POLL_MS
    assert wire(member.send()).member_epoch == 1


def test_leaving_while_stale_says_nothing_when_the_leave_was_answered() -> None:
    member = Member().joined()
    member.now_ms += MAX_POLL_MS
    member.answer(member.send(), epoch=-1)
    member.membership.leave()
    assert member.membership.has_left
