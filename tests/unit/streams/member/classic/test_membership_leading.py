"""A member of a classic group that leads it, its further rounds, and the versions of what members send."""

import pytest

from kafka_groups.errors import KafkaGroupsError, UnknownServerError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_groups.protocol.messages.leave_group import LeaveGroupResponse
from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint
from kafka_groups.protocol.messages.sync_group import SyncGroupResponse
from kafka_groups.protocol.streams_user_data.host_maps import HostMaps
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.member.rules.endpoints import EndpointPartitions
from kafka_groups.streams.member.rules.states import MembershipState
from tests.unit.streams.member.classic.driven import (
    ENDPOINT,
    OTHER,
    SETTINGS,
    WALL_MS,
    A,
    Member,
    assignment,
    input_of,
    inputs_of,
    joined_with,
    leading,
    synced_with,
    tasks,
    user_data_in,
)

_S = MembershipState
HEARTBEAT_MS = SETTINGS.heartbeat_ms

# ------------------------------------------------------------------------------------------------ leading


def test_a_leader_sends_what_it_is_given_and_heartbeats_meanwhile() -> None:
    member = leading()
    generation = member.membership.to_lead
    assert generation is not None
    assert (generation.generation, [each.member_id for each in generation.members]) == (2, ["me-1"])
    heartbeat = member.heartbeat()
    message = heartbeat.build(4)
    assert isinstance(message, HeartbeatRequest)
    assert (message.generation_id, message.member_id) == (2, "me-1")
    member.answer(heartbeat, HeartbeatResponse())
    member.membership.assign(generation, {"me-1": assignment(inputs_of(A)), OTHER: b"x"})
    sync = member.send(ApiKey.SYNC_GROUP)
    assert {each.member_id: each.assignment for each in synced_with(sync).assignments}.keys() == {"me-1", OTHER}
    member.answer(sync, SyncGroupResponse(assignment=assignment(inputs_of(A))))
    assert member.is_in(_S.STABLE)
    assert member.membership.to_lead is generation  # it watches the topics


def test_the_assignment_of_a_generation_that_is_over_is_dropped() -> None:
    member = leading()
    old = member.membership.to_lead
    assert old is not None
    member.rebalance()
    assert member.membership.to_lead is None
    joining = member.send(ApiKey.JOIN_GROUP)
    member.membership.assign(old, {"me-1": b"old"})
    member.membership.could_not_lead(old, KafkaGroupsError("old"), member.now_ms, is_final=True)
    assert member.is_in(_S.JOINING)
    member.admit_as_leader(joining)
    member.membership.assign(old, {"me-1": b"old"})
    assert member.is_in(_S.LEADING)


def test_a_leader_that_was_restarted_assigns_nothing_and_knows_that_it_leads() -> None:
    member = Member(instance_id="w-1").started()
    member.admit_as_leader(member.send(ApiKey.JOIN_GROUP), skip_assignment=True)
    assert member.is_in(_S.SYNCING)
    sync = member.send(ApiKey.SYNC_GROUP)
    assert synced_with(sync).assignments == ()
    member.answer(sync, SyncGroupResponse(assignment=assignment(inputs_of(A))))
    assert member.membership.owned == tasks(A)
    assert member.membership.to_lead is not None
    assert member.membership.to_lead.skip_assignment


def test_a_leader_joins_again_when_it_is_told_to() -> None:
    member = leading()
    generation = member.membership.to_lead
    assert generation is not None
    member.membership.assign(generation, {"me-1": assignment(inputs_of(A))})
    member.sync(assignment(inputs_of(A)))
    member.membership.request_round("the topic in has grown")
    assert joined_with(member.send(ApiKey.JOIN_GROUP)).reason == "the topic in has grown"


def test_a_leader_that_cannot_assign_leaves_so_that_another_leads_and_joins_again() -> None:
    member = leading()
    generation = member.membership.to_lead
    assert generation is not None
    member.membership.could_not_lead(generation, KafkaGroupsError("brokers away"), member.now_ms, is_final=False)
    event = member.lost()
    member.confirm(event)
    assert member.is_in(_S.JOINING)
    leave = member.send(ApiKey.LEAVE_GROUP)
    assert leave.context.member_id == "me-1"
    assert member.requests() == {}  # not before the group has let it go
    member.answer(leave, LeaveGroupResponse())
    assert joined_with(member.send(ApiKey.JOIN_GROUP)).member_id == ""
    assert any("brokers away" in line for line in member.log())


def test_a_final_error_of_a_leader_ends_it_after_it_has_left() -> None:
    member = leading()
    generation = member.membership.to_lead
    assert generation is not None
    member.membership.could_not_lead(generation, StreamsError("wrong counts"), member.now_ms, is_final=True)
    member.answer(member.send(ApiKey.LEAVE_GROUP), LeaveGroupResponse())
    assert str(member.fatal()) == "wrong counts"


def test_large_assignments_explain_a_refusal() -> None:
    member = leading()
    generation = member.membership.to_lead
    assert generation is not None
    member.membership.assign(generation, {"me-1": bytes(900_001)})
    member.refuse(member.send(ApiKey.SYNC_GROUP), ErrorCode.UNKNOWN_SERVER_ERROR)
    member.answer(member.send(ApiKey.LEAVE_GROUP), LeaveGroupResponse())
    assert isinstance(member.fatal(), UnknownServerError)
    assert "message.max.bytes" in str(member.fatal())


def test_a_small_assignment_that_is_refused_is_sent_again_in_another_round() -> None:
    member = leading()
    generation = member.membership.to_lead
    assert generation is not None
    member.membership.assign(generation, {"me-1": bytes(900_000)})
    member.refuse(member.send(ApiKey.SYNC_GROUP), ErrorCode.UNKNOWN_SERVER_ERROR)
    assert (member.state, member.membership.owned) == (_S.JOINING, tasks(A))


# --------------------------------------------------------------------------------------------- follow-ups


def test_a_member_joins_again_at_once_if_the_leader_says_so() -> None:
    member = Member().joined(A, next_rebalance_ms=0)
    assert "another round" in (joined_with(member.send(ApiKey.JOIN_GROUP)).reason or "")


def test_the_next_round_is_at_a_time_of_the_leaders_clock_and_waited_for_on_our_own() -> None:
    member = Member().started()
    member.admit(member.joining())
    member.sync(assignment(inputs_of(A), next_rebalance_ms=WALL_MS + member.now_ms + 60_000))
    for _ in range(60_000 // HEARTBEAT_MS - 1):
        member.answer(member.heartbeat(), HeartbeatResponse())
    assert not any("clocks" in line for line in member.log())
    member.wait(HEARTBEAT_MS)
    assert ApiKey.JOIN_GROUP in member.requests()


def test_a_round_in_the_far_future_is_mentioned() -> None:
    far_ms = WALL_MS + 10_000 + SETTINGS.probing_interval_ms + 3_600_001
    member = Member().started().round(A, next_rebalance_ms=far_ms)
    assert any("Compare the clocks" in line for line in member.log())


def test_a_round_is_not_asked_for_twice() -> None:
    member = Member().joined(A, next_rebalance_ms=0)
    member.round(A)
    assert member.quiet_ms() <= HEARTBEAT_MS


def hosts(*endpoints: UserEndpoint) -> HostMaps:
    return HostMaps(active=tuple(((each.host, each.port), (input_of(A),)) for each in endpoints))


def test_host_maps_tell_which_process_has_which_partitions() -> None:
    member = Member(user_endpoint=ENDPOINT).joined(A, host_maps=hosts(ENDPOINT))
    assert member.membership.endpoints == {ENDPOINT: EndpointPartitions(active=frozenset({input_of(A)}))}
    assert member.quiet_ms() <= HEARTBEAT_MS


def test_a_member_whose_endpoint_is_missing_joins_again_three_times_and_then_pauses() -> None:
    elsewhere = UserEndpoint(host="other", port=1)
    member = Member(user_endpoint=ENDPOINT).joined(A, host_maps=hosts(elsewhere))
    for _ in range(3):
        assert not member.log()
        member.round(A, host_maps=hosts(elsewhere))
        member.events()
        assert len(member.log()) >= 1
    # The fourth round in a row has ended: from now on it waits.
    member.wait(SETTINGS.pause_ms - 1)
    member.answer(member.send(ApiKey.HEARTBEAT), HeartbeatResponse())
    member.wait(1)
    member.round(A, host_maps=hosts(ENDPOINT))
    assert member.quiet_ms() <= HEARTBEAT_MS
    member.log()


def test_the_pause_is_mentioned() -> None:
    elsewhere = UserEndpoint(host="other", port=1)
    member = Member(user_endpoint=ENDPOINT).joined(A, host_maps=hosts(elsewhere))
    lines: list[str] = []
    for _ in range(3):
        member.round(A, host_maps=hosts(elsewhere))
        lines += member.log()
    assert sum("application.server" in line for line in lines) == 4  # three reasons, and one warning
    assert sum("1000 ms" in line for line in lines) == 1


@pytest.mark.parametrize("host_maps", [HostMaps(), hosts(ENDPOINT)])
def test_a_member_without_an_endpoint_needs_none(host_maps: HostMaps) -> None:
    assert Member().joined(A, host_maps=host_maps).quiet_ms() <= HEARTBEAT_MS


def test_a_group_without_endpoints_is_not_asked_for_one() -> None:
    assert Member(user_endpoint=ENDPOINT).joined(A).quiet_ms() <= HEARTBEAT_MS


# ------------------------------------------------------------------------------------------------ versions


def test_a_member_uses_the_version_that_all_have_and_joins_again_with_it() -> None:
    member = Member().joined(A, version=6, commonly_supported_version=6)
    joining = member.send(ApiKey.JOIN_GROUP)
    info = user_data_in(joining)
    assert (info.version, info.latest_supported_version) == (6, 11)
    member.admit(joining)
    member.sync(assignment(inputs_of(A), version=6, commonly_supported_version=6))
    assert member.quiet_ms() <= HEARTBEAT_MS
    member.rebalance()
    assert user_data_in(member.send(ApiKey.JOIN_GROUP)).version == 6
