"""A member of a streams group when things go wrong: errors, lost responses; and what its heartbeats carry."""

import pytest

from kafka_groups.client.membership.group_metadata import AsMember
from kafka_groups.client.requests import NEVER_MS
from kafka_groups.errors import (
    BrokerError,
    TasksLostError,
    TopicAuthorizationFailedError,
    UnreleasedInstanceIdError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    LEAVE_GROUP_EPOCH,
    EndpointToPartitions,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatStatus,
    StreamsGroupHeartbeatTopicPartition,
    StreamsStatus,
)
from kafka_groups.protocol.messages.streams_group_parts import TaskOffset
from kafka_groups.streams.member.rules.committing_member import CommittingMember, member_of_all_tasks
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
from kafka_groups.streams.member.rules.member_events import TasksAssigned
from kafka_groups.streams.member.rules.member_tasks import NO_TASKS, tasks_to_wire
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.types import TopicPartition
from tests.unit.streams.member.driven import ENDPOINT, FULL, JOINING, SESSION_MS, A, B, C, Member, lists, tasks, wire


def test_after_an_error_the_next_heartbeat_is_full_and_goes_to_the_new_coordinator() -> None:
    member = Member().joined(A)
    member.refuse(member.heartbeat(), ErrorCode.NOT_COORDINATOR)
    assert member.coordinator.node_id is None
    member.coordinator.node_id = 3
    request = member.send()
    assert request.node_id == 3
    assert wire(request) == StreamsGroupHeartbeatRequest(member_epoch=2, **FULL, **lists(tasks(A)))
    member.answer(request, tasks(A))
    assert wire(member.heartbeat()).process_id is None
    assert member.is_in(MembershipState.STABLE)


@pytest.mark.parametrize("code", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.TOPIC_AUTHORIZATION_FAILED])
def test_errors_that_may_pass_are_retried_after_a_back_off(code: ErrorCode) -> None:
    member = Member().joined(A)
    member.refuse(member.heartbeat(), code)
    member.now_ms += member.quiet_ms()
    assert wire(member.send()).process_id == "p"
    assert bool(member.errors) == (code is ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if member.errors:
        with pytest.raises(TopicAuthorizationFailedError):
            member.errors.raise_first()


FATAL = [
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.STREAMS_INVALID_TOPOLOGY,
    ErrorCode.STREAMS_INVALID_TOPOLOGY_EPOCH,
    ErrorCode.STREAMS_TOPOLOGY_FENCED,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.UNKNOWN_SERVER_ERROR,
]


@pytest.mark.parametrize("code", FATAL)
def test_other_errors_end_the_member(code: ErrorCode) -> None:
    member = Member().joined(A)
    member.refuse(member.heartbeat(), code)
    assert member.is_in(MembershipState.FATAL)
    assert isinstance(member.errors.fatal, BrokerError)
    assert member.errors.fatal.code == code
    assert member.lost().tasks == tasks(A)
    assert member.quiet_ms() == NEVER_MS


def test_a_group_that_vanished_says_what_happened_and_what_to_do() -> None:
    member = Member().joined(A)
    member.refuse(member.heartbeat(), ErrorCode.GROUP_ID_NOT_FOUND)
    error = str(member.errors.fatal)
    for told in ("'app' does not exist any more", "deleted it", "lost their data", "offset_reset"):
        assert told in error


def test_a_broker_without_streams_groups_ends_the_member() -> None:
    member = Member().started()
    member.membership.on_failure(member.send(), UnsupportedVersionError("too old"), member.now_ms)
    assert member.is_in(MembershipState.FATAL)


def test_a_static_member_waits_for_its_old_session_for_one_session() -> None:
    member = Member("i").started()
    start_ms, waits = member.now_ms, []
    while member.is_in(MembershipState.JOINING):
        member.refuse(member.send(), ErrorCode.UNRELEASED_INSTANCE_ID)
        waits.append(member.quiet_ms())
        member.now_ms += waits[-1] % NEVER_MS
    assert isinstance(member.errors.fatal, UnreleasedInstanceIdError)
    assert member.now_ms == start_ms + SESSION_MS
    assert waits[:4] == sorted(waits[:4])
    assert 800 <= waits[0] <= 1_200
    assert max(waits[:-1]) <= 12_000
    logged = [event.text for event in member.errors.events.take() if event.subject == "unreleased"]
    assert len(logged) == len(waits) - 1
    assert f"joins again in {waits[0]} ms" in logged[0]


def test_a_static_member_joins_when_its_old_session_is_over() -> None:
    member = Member("i").started()
    member.refuse(member.send(), ErrorCode.UNRELEASED_INSTANCE_ID)
    member.now_ms += member.quiet_ms()
    request = member.send()
    assert wire(request).instance_id == "i"
    member.answer(request, NO_TASKS)
    assert member.is_in(MembershipState.STABLE)


# ------------------------------------------------------------------------------------ lost responses


def test_a_lost_response_to_a_join_is_asked_for_again() -> None:
    member = Member().started()
    member.lose(member.send())
    assert wire(member.send()) == JOINING


def test_tasks_that_come_after_a_lost_response_are_all_there_are() -> None:
    member = Member().joined(A)
    member.lose(member.heartbeat())
    member.answer(member.send(), tasks(A, B))
    assert member.is_in(MembershipState.ACKNOWLEDGING)
    assert member.membership.owned == tasks(A, B)


@pytest.mark.parametrize("error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_is_gone_may_have_changed_the_tasks_before(error: ErrorCode) -> None:
    member = Member().joined(A)
    member.refuse(member.heartbeat(), error)
    member.coordinator.node_id = 2
    member.answer(member.send(), member_epoch=3)
    again = member.send()
    assert wire(again) == JOINING
    member.answer(again, tasks(A, B), member_epoch=3)
    assert member.membership.owned == tasks(A, B)


def test_a_dynamic_member_that_may_have_missed_tasks_joins_again_and_keeps_its_own() -> None:
    member = Member().joined(A, B)
    member.lose(member.heartbeat())
    retry = member.send()
    assert wire(retry).active_tasks == tasks_to_wire([A, B])
    member.answer(retry, member_epoch=3)
    assert member.membership.owned == tasks(A, B)
    assert member.membership.epoch == 3  # for commits until the join is answered
    again = member.send()
    assert wire(again) == JOINING
    member.answer(again, tasks(A, C), member_epoch=3)
    event = member.lost()
    assert event.tasks == tasks(B)  # the coordinator may have given it to another member
    member.confirm(event)
    assert member.membership.owned == tasks(A, C)
    member.now_ms += 1_000
    assert wire(member.send()).active_tasks == tasks_to_wire([A, C])


@pytest.mark.parametrize("epoch", [3, 4])
def test_a_member_that_cannot_have_been_removed_keeps_its_tasks(epoch: int) -> None:
    member = Member().joined(A)
    member.lose(member.heartbeat())
    member.answer(member.send(), member_epoch=3)
    member.answer(member.send(), tasks(A), member_epoch=epoch)
    assert member.membership.owned == tasks(A)
    assert member.membership.take_events() == ()


@pytest.mark.parametrize("epoch", [1, 2, 5, 9])
def test_tasks_that_others_may_have_had_before_the_member_joined_again_are_lost_and_assigned_anew(epoch: int) -> None:
    member = Member().joined(A)
    member.lose(member.heartbeat())
    member.answer(member.send(), member_epoch=3)
    before = CommittingMember(member.membership)
    member.answer(member.send(), tasks(A, B), member_epoch=epoch)  # it was paused for longer than its session
    event = member.lost()
    assert event.tasks == member.membership.lost == tasks(A)
    with pytest.raises(TasksLostError, match="lost its tasks"):
        before()
    member.confirm(event)
    (assigned,) = member.membership.take_events()
    assert isinstance(assigned, TasksAssigned)
    assert (assigned.tasks, assigned.epoch) == (tasks(A, B), epoch)
    member.now_ms += 1_000
    assert wire(member.send()).active_tasks == tasks_to_wire([A, B])


def test_a_program_that_has_not_heard_of_its_outdated_tasks_hears_of_the_new_ones_only() -> None:
    member = Member().started()
    member.answer(member.send(), tasks(A))
    member.answer(member.send())
    member.lose(member.heartbeat())
    member.answer(member.send())
    member.answer(member.send(), tasks(A), member_epoch=9)
    (assigned,) = member.membership.take_events()
    assert isinstance(assigned, TasksAssigned)
    assert assigned.epoch == 9


def test_a_member_that_rejoined_has_no_metadata_for_transactions_before_it_has_closed_what_it_lost() -> None:
    member = Member().joined(A, B)
    assert member_of_all_tasks(member.membership) == AsMember("me", 2)
    member.lose(member.heartbeat())
    member.answer(member.send(), member_epoch=3)
    member.answer(member.send(), tasks(A), member_epoch=4)
    assert member.membership.epoch == 4  # the coordinator would accept it, also for what the program did with task B
    with pytest.raises(TasksLostError, match="active 0_1"):
        member_of_all_tasks(member.membership)
    member.confirm(member.lost())
    assert member_of_all_tasks(member.membership) == AsMember("me", 4)


def test_a_member_that_still_closes_tasks_does_not_join_again_before_that() -> None:
    member = Member().joined(A, B)
    member.answer(member.heartbeat(), tasks(A))
    event = member.revoked()
    member.lose(member.heartbeat())
    member.answer(member.send())
    assert member.membership.owned == tasks(A, B)
    assert not member.is_in(MembershipState.JOINING)
    member.confirm(event)
    member.now_ms += 1_000
    member.answer(member.send())
    assert member.is_in(MembershipState.JOINING)


@pytest.mark.parametrize("epoch", [2, 3])
def test_a_static_member_leaves_for_a_while_if_it_may_have_missed_tasks(epoch: int) -> None:
    member = Member("i").joined(A)
    member.lose(member.heartbeat())
    member.answer(member.send(), member_epoch=epoch)  # tasks that were free later come without a new epoch
    assert member.is_in(MembershipState.STALE)
    assert member.lost().tasks == tasks(A)
    assert wire(member.send()).member_epoch == -2


@pytest.mark.parametrize(("epoch", "state"), [(2, MembershipState.STABLE), (3, MembershipState.STALE)])
def test_a_static_member_keeps_its_tasks_when_the_coordinator_moves(epoch: int, state: MembershipState) -> None:
    member = Member("i").joined(A)
    member.refuse(member.heartbeat(), ErrorCode.NOT_COORDINATOR)
    member.coordinator.node_id = 2
    member.answer(member.send(), member_epoch=epoch)
    assert member.is_in(state)


# --------------------------------------------------------------------------------- offsets, shutdown


def test_offsets_go_to_coordinators_that_know_them_and_to_no_others() -> None:
    member = Member()
    member.positions = {A: TaskPosition(5, 9), B: TaskPosition(2)}
    request = member.started().send()
    assert wire(request, 1).task_offsets == (
        TaskOffset(subtopology_id="0", partition=0, offset=5),
        TaskOffset(subtopology_id="0", partition=1, offset=2),
    )
    assert wire(request, 1).task_end_offsets == (TaskOffset(subtopology_id="0", partition=0, offset=9),)
    assert wire(request, 0).task_offsets is None
    assert wire(request, 0).task_end_offsets is None


def test_what_only_an_old_coordinator_has_heard_is_said_again_to_a_new_one() -> None:
    member = Member()
    member.positions = {A: TaskPosition(5)}
    member.started().answer(member.send(), NO_TASKS, version=0)
    assert wire(member.heartbeat(), 1).task_offsets is not None


def test_a_shutdown_is_requested_until_the_coordinator_has_heard_it() -> None:
    member = Member().joined(A)
    member.membership.request_shutdown()
    request = member.send()
    assert wire(request).shutdown_application
    member.refuse(request, ErrorCode.NOT_COORDINATOR)
    member.coordinator.node_id = 2
    request = member.send()
    assert wire(request).shutdown_application
    status = StreamsGroupHeartbeatStatus(status_code=StreamsStatus.SHUTDOWN_APPLICATION)
    member.answer(request, status=(status,))
    assert member.membership.group.shutdown_requested
    assert not wire(member.heartbeat()).shutdown_application


def test_a_member_that_leaves_at_once_still_requests_the_shutdown() -> None:
    member = Member().joined(A)
    member.membership.request_shutdown()
    member.membership.leave()
    request = member.send()
    assert wire(request).member_epoch == LEAVE_GROUP_EPOCH
    assert wire(request).shutdown_application


def test_endpoints_are_kept_with_their_epoch() -> None:
    member = Member()
    partitions = (StreamsGroupHeartbeatTopicPartition(topic="in", partitions=(0,)),)
    entry = EndpointToPartitions(user_endpoint=ENDPOINT, active_partitions=partitions)
    member.joined(A, endpoint_information_epoch=4, partitions_by_user_endpoint=(entry,))
    member.answer(request := member.heartbeat(), endpoint_information_epoch=4)
    assert wire(request).endpoint_information_epoch == 4
    assert member.membership.group.endpoints == {ENDPOINT: EndpointPartitions(frozenset({TopicPartition("in", 0)}))}
