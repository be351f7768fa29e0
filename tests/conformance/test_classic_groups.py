"""Classic groups and static members (KIP-345), raw: each letter is a case of static membership."""

import asyncio
from typing import Any

import pytest

from kafka_groups.protocol.messages.leave_group import LeaveGroupRequestMember
from kafka_groups.testing.kafka_process import SINGLE_NODE_PROPERTIES
from tests.support.kafka.real_kafka import unique
from tests.support.members.classic_group import BOTH, Group, generations
from tests.support.members.classic_member import MEMBER_ID_REQUIRED, NONE, ClassicMember, subscription
from tests.support.members.listed_groups import listed_groups
from tests.support.targets import Target, everywhere, everywhere_in_own_time_with, everywhere_with

FENCED, UNKNOWN, REBALANCING = "FENCED_INSTANCE_ID", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS"
CHANGED = [("range", subscription("t", "another"))]
"""With the protocols that it has, a follower gets its answer at once."""
LEAST_SESSION_MS = int(SINGLE_NODE_PROPERTIES["group.min.session.timeout.ms"])


async def new_group(target: Target) -> Group:
    group_id = unique("group")
    await target.cluster.coordinator_of(group_id)
    return Group(target.client, group_id)


@everywhere
async def test_a_dynamic_member_gets_an_id_first(target: Target) -> None:
    group = await new_group(target)
    member = group.member()
    first = await member.ask_to_join()
    assert (first.error_code.name, first.generation_id, first.leader) == (MEMBER_ID_REQUIRED, -1, "")
    assert first.member_id.startswith("conformance-")
    response = await member.known_as(first.member_id).ask_to_join()
    assert (response.generation_id, response.leader, response.protocol_name) == (1, member.member_id, "range")
    assert response.protocol_type == "consumer"
    assert [each.member_id for each in response.members] == [member.member_id]
    old = group.member()
    joining = asyncio.create_task(old.ask_to_join(3, group_instance_id=None))
    await group.in_state("PreparingRebalance")
    await member.join()
    assert (await joining).error_code.name == NONE, "below version 4 nobody needs an id first"
    assert generations([old, member]) == {2}


@everywhere
@pytest.mark.parametrize("version", range(10))
async def test_every_version_joins(target: Target, version: int) -> None:
    group = await new_group(target)
    member = group.member()
    response = await member.join(version)
    assert (response.generation_id, response.leader, response.protocol_name) == (1, member.member_id, "range")
    assert response.protocol_type == ("consumer" if version >= 7 else None)
    await group.synced(member)
    assert await member.heartbeat() == NONE
    assert await member.leave() == [(member.member_id, None, NONE)]
    assert (await group.described()).group_state == "Empty"


@everywhere
async def test_members_rebalance_and_the_leader_assigns(target: Target) -> None:
    group = await new_group(target)
    [first] = await group.stable(None)
    second = group.member()
    joining = asyncio.create_task(second.join())
    assert (await group.in_state("PreparingRebalance")).protocol_data == ""
    assert await first.heartbeat() == REBALANCING
    await asyncio.gather(first.join(), joining)
    assert generations([first, second]) == {2}
    syncing = asyncio.create_task(second.sync())
    assert await first.sync({second.member_id: b"all"}) == (NONE, b"")
    assert await syncing == (NONE, b"all")
    described = await group.described()
    assert (described.group_state, described.protocol_type, described.protocol_data) == ("Stable", "consumer", "range")
    shown = {
        each.member_id: (each.client_id, each.member_metadata, each.member_assignment) for each in described.members
    }
    metadata = subscription("t")
    assert shown == {
        first.member_id: ("conformance", metadata, b""),
        second.member_id: ("conformance", metadata, b"all"),
    }
    assert await second.heartbeat(generation_id=1) == "ILLEGAL_GENERATION"
    assert await second.heartbeat(member_id="nobody") == UNKNOWN
    assert await second.leave() == [(second.member_id, None, NONE)]
    assert await first.heartbeat() == REBALANCING


@everywhere
async def test_the_protocol_is_one_that_all_know(target: Target) -> None:
    group = await new_group(target)
    [first] = await group.stable(None, protocols=[("a", b"1"), ("b", b"2")])
    other = group.member(protocols=[("b", b"3"), ("c", b"4")])
    await group.rebalanced(other, first)
    assert first.protocol == other.protocol == "b"
    refused = await group.member(protocols=[("c", b"5")]).ask_to_join()
    assert refused.error_code.name == "INCONSISTENT_GROUP_PROTOCOL"
    refused = await group.member().ask_to_join(protocol_type="connect")
    assert refused.error_code.name == "INCONSISTENT_GROUP_PROTOCOL"


@everywhere
async def test_a_a_new_instance_needs_no_id_first(target: Target) -> None:
    group = await new_group(target)
    member = group.member("one")
    response = await member.ask_to_join()
    assert response.error_code.name == NONE
    assert member.member_id.startswith("one-")
    assert [each.group_instance_id for each in response.members] == ["one"]


@everywhere
async def test_b_a_restarted_follower_gets_a_new_id_and_moves_nothing(target: Target) -> None:
    group = await new_group(target)
    leader, follower = await group.stable("one", "two")
    again = follower.restarted(target.client())
    response = await again.ask_to_join()
    assert (response.error_code.name, response.generation_id) == (NONE, leader.generation)
    assert again.member_id not in {"", follower.member_id}
    assert (response.leader, response.members, response.skip_assignment) == (leader.member_id, (), False)
    assert await again.sync() == (NONE, follower.member_id.encode())
    assert await leader.heartbeat() == NONE
    assert await follower.heartbeat() == FENCED


@everywhere
@pytest.mark.parametrize("version", [8, 9])
async def test_c_a_restarted_leader_moves_nothing(target: Target, version: int) -> None:
    group = await new_group(target)
    leader, follower = await group.stable("one", "two")
    again = leader.restarted(target.client())
    response = await again.ask_to_join(version)
    assert response.generation_id == follower.generation
    if version == 9:
        assert (response.leader, response.skip_assignment) == (again.member_id, True)
        assert {each.group_instance_id for each in response.members} == {leader.instance, follower.instance}
    else:
        assert (response.leader, response.members) == (leader.member_id, ())
    assert await again.sync() == (NONE, leader.member_id.encode())
    assert await follower.heartbeat() == NONE


@everywhere
async def test_d_another_selected_protocol_is_a_rebalance(target: Target) -> None:
    group = await new_group(target)
    leader, follower = await group.stable("one", "two", protocols=BOTH)
    again = follower.restarted(target.client(), protocols=[("roundrobin", subscription("t"))])
    joining = asyncio.create_task(again.join())
    await group.in_state("PreparingRebalance")
    await asyncio.gather(leader.join(), joining)
    assert generations([leader, again]) == {follower.generation + 1}
    assert again.protocol == "roundrobin"


@everywhere
async def test_e_a_restart_before_the_leader_has_assigned_is_a_rebalance(target: Target) -> None:
    group = await new_group(target)
    leader, follower = await group.stable("one", "two")
    third = group.member("three")
    await group.rebalanced(third, leader, follower)
    waiting = asyncio.create_task(follower.sync())
    await group.in_state("CompletingRebalance")
    again = follower.restarted(target.client())
    joining = asyncio.create_task(again.join())
    assert (await waiting)[0] == FENCED
    await group.in_state("PreparingRebalance")
    await asyncio.gather(leader.join(), third.join(), joining)
    assert generations([leader, third, again]) == {follower.generation + 1}


@everywhere
async def test_f_a_restart_during_a_rebalance_joins_the_round(target: Target) -> None:
    group = await new_group(target)
    leader, follower = await group.stable("one", "two")
    waiting = asyncio.create_task(follower.ask_to_join(protocols=BOTH[1:] + BOTH[:1]))
    third = asyncio.create_task(group.member("three").join())
    await group.in_state("PreparingRebalance")
    again = follower.restarted(target.client())
    joining = asyncio.create_task(again.join())
    assert (await waiting).error_code.name == FENCED
    await asyncio.gather(leader.join(), third, joining)
    assert generations([leader, again]) == {leader.generation}


@everywhere
async def test_g_a_known_member_joins_again(target: Target) -> None:
    group = await new_group(target)
    leader, follower = await group.stable("one", "two")
    generation = leader.generation
    same = await follower.ask_to_join()
    assert (same.generation_id, same.leader) == (generation, leader.member_id)
    assert await leader.heartbeat() == NONE
    changed = asyncio.create_task(follower.ask_to_join(protocols=BOTH[:1] + BOTH[1:]))
    await group.in_state("PreparingRebalance")
    await asyncio.gather(leader.join(), changed)
    await group.synced(*sorted([leader, follower], key=lambda member: not member.leads))
    rejoining = asyncio.create_task(leader.ask_to_join())
    await group.in_state("PreparingRebalance")
    await asyncio.gather(follower.join(), rejoining)
    assert generations([leader, follower]) == {generation + 2}


@everywhere
async def test_h_a_wrong_pair_is_fenced_and_an_unknown_instance_unknown(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    group = await new_group(target)
    leader, follower = await group.stable("one", "two")
    for instance, error in ((leader.instance, FENCED), ("nobody", UNKNOWN)):
        named: dict[str, Any] = {"group_instance_id": instance}
        assert (await follower.ask_to_join(**named)).error_code.name == error
        assert (await follower.sync(**named))[0] == error
        assert await follower.heartbeat(**named) == error
        assert await follower.commit(topic, 1, **named) == error
        wrong = LeaveGroupRequestMember(member_id=follower.member_id, group_instance_id=instance)
        assert await follower.leave(wrong) == [(follower.member_id, instance, error)]
    assert await follower.commit(topic, 1) == NONE
    assert await leader.heartbeat() == NONE


@everywhere
async def test_i_the_rebalance_timeout_removes_dynamic_members_only(target: Target) -> None:
    group = await new_group(target)
    members = [group.member("one"), group.member(), group.member("three")]
    for number, member in enumerate(members):
        await group.rebalanced(member, *members[:number], rebalance_timeout_ms=1_500)
    await group.synced(*members)
    static, dynamic, joiner = members
    response = await joiner.join(rebalance_timeout_ms=1_500, protocols=BOTH)
    left = {each.member_id for each in (await group.described()).members}
    assert left == {static.member_id, joiner.member_id}
    assert response.leader == joiner.member_id, "an absent leader is replaced"
    assert dynamic.member_id not in left


@everywhere
async def test_k_a_batch_of_leavers_gets_a_result_each(target: Target) -> None:
    group = await new_group(target)
    members = await group.stable("one", "two", "three", None, None)
    by_instance = {member.instance: member for member in members}
    dynamic = [member for member in members if member.instance is None]
    leaver = LeaveGroupRequestMember
    batch = (
        leaver(member_id="", group_instance_id="one", reason="a restart"),
        leaver(member_id="", group_instance_id="nobody"),
        leaver(member_id="wrong", group_instance_id="two"),
        leaver(member_id=dynamic[0].member_id),
        leaver(member_id=""),
        leaver(member_id=by_instance["three"].member_id),
    )
    found = await group.member().leave(*batch)
    assert [error for _, _, error in found] == [NONE, UNKNOWN, FENCED, NONE, UNKNOWN, NONE]
    left = {each.group_instance_id for each in (await group.described()).members}
    assert left == {"two", None}
    assert await by_instance["two"].heartbeat() == REBALANCING


@everywhere
async def test_k_leaving_a_group_that_is_none(target: Target) -> None:
    topic = await target.cluster.create_topic(1)
    share_group = await target.group_of(topic)
    for group_id in (unique("missing"), share_group):
        await target.cluster.coordinator_of(group_id)
        member = ClassicMember(target.client(), group_id).known_as("ann")
        assert await member.leave() == [("ann", None, UNKNOWN)]
        assert await member.heartbeat() == UNKNOWN
        assert (await member.sync())[0] in {UNKNOWN, "INCONSISTENT_GROUP_PROTOCOL"}
    joining = await ClassicMember(target.client(), share_group).ask_to_join()
    assert joining.error_code.name == "INCONSISTENT_GROUP_PROTOCOL"
    described = await Group(target.client, share_group).described()
    assert (described.error_code.name, described.group_state) == ("GROUP_ID_NOT_FOUND", "Dead")
    described = await Group(target.client, unique("missing")).described(5)
    assert (described.error_code.name, described.group_state) == (NONE, "Dead")


@everywhere
async def test_p_the_session_timeout_has_bounds(target: Target) -> None:
    group = await new_group(target)
    for timeout_ms in (LEAST_SESSION_MS - 1, 1_800_001):
        refused = await group.member("one").ask_to_join(session_timeout_ms=timeout_ms)
        assert refused.error_code.name == "INVALID_SESSION_TIMEOUT"
    for timeout_ms in (LEAST_SESSION_MS, 1_800_000):
        member = (await new_group(target)).member("one")
        assert (await member.ask_to_join(session_timeout_ms=timeout_ms)).error_code.name == NONE
    assert (await ClassicMember(target.client(), "").ask_to_join()).error_code.name == "INVALID_GROUP_ID"


@everywhere
async def test_q_instance_ids_are_shown_from_version_4_on(target: Target) -> None:
    group = await new_group(target)
    await group.stable("one")
    for version in range(7):
        [member] = (await group.described(version)).members
        assert member.group_instance_id == ("one" if version >= 4 else None)


@everywhere_with({"group.max.size": "2"})
async def test_r_a_full_group_lets_a_static_member_restart(target: Target) -> None:
    group = await new_group(target)
    leader, follower = await group.stable("one", "two")
    refused = await group.member().ask_to_join()
    assert refused.error_code.name in {"GROUP_MAX_SIZE_REACHED", MEMBER_ID_REQUIRED}
    again = await follower.restarted(target.client()).ask_to_join()
    assert again.error_code.name == "GROUP_MAX_SIZE_REACHED", "as in Kafka 4.4.0"
    assert await leader.heartbeat() == NONE


@everywhere
async def test_a_group_with_members_is_listed_and_cannot_be_deleted(target: Target) -> None:
    group = await new_group(target)
    [member] = await group.stable(None)
    listed = await listed_groups(member.client)
    [found] = [each for each in listed if each.group_id == group.group_id]
    assert (found.group_type, found.protocol_type, found.group_state) == ("classic", "consumer", "Stable")


@everywhere
async def test_heartbeats_of_a_member_that_waits_tell_whether_its_group_does_and_change_nothing(target: Target) -> None:
    group = await new_group(target)
    leader, follower = await group.stable(None, None)
    beside = group.member().known_as(follower.member_id)  # on another connection
    beside.generation = follower.generation
    joining = asyncio.create_task(follower.join(protocols=CHANGED))
    await group.in_state("PreparingRebalance")
    assert [await beside.heartbeat() for _ in range(3)] == [REBALANCING] * 3
    assert not joining.done()
    await asyncio.gather(leader.join(), joining)
    assert generations([leader, follower]) == {beside.generation + 1}
    # The group has gone on, whether the member has its answer or not.
    assert await beside.heartbeat() == "ILLEGAL_GENERATION"
    await group.synced(*sorted((leader, follower), key=lambda member: not member.leads))
    assert await beside.heartbeat() == "ILLEGAL_GENERATION"
    assert [await each.heartbeat() for each in (leader, follower)] == [NONE, NONE]
    await follower.leave()
    assert await beside.heartbeat() == UNKNOWN


@everywhere
async def test_a_heartbeat_of_a_newcomer_that_waits_is_refused_and_changes_nothing(target: Target) -> None:
    group = await new_group(target)
    [first] = await group.stable(None)
    second = group.member()
    asked = await second.ask_to_join()
    beside = group.member().known_as(asked.member_id)
    beside.generation = 0
    assert await beside.heartbeat() == UNKNOWN, "it has an id, but has not joined"
    joining = asyncio.create_task(second.known_as(asked.member_id).join())
    await group.in_state("PreparingRebalance")
    assert [await beside.heartbeat() for _ in range(3)] == ["ILLEGAL_GENERATION"] * 3
    assert not joining.done()
    await asyncio.gather(first.join(), joining)
    assert generations([first, second]) == {2}


@everywhere_in_own_time_with({"group.min.session.timeout.ms": "1000"})
async def test_heartbeats_do_not_keep_a_member_whose_answer_was_lost(target: Target) -> None:
    group = await new_group(target)
    leader, follower = await group.stable(None, None)
    beside = group.member().known_as(follower.member_id)
    beside.generation = follower.generation
    session_ms = 1_500
    joining = asyncio.create_task(follower.join(protocols=CHANGED, session_timeout_ms=session_ms))
    await group.in_state("PreparingRebalance")
    await asyncio.gather(leader.join(), joining)
    for _ in range(4):  # as if the follower had no answer
        await target.pass_time(session_ms // 3)
        said = await beside.heartbeat()
        if said == UNKNOWN:
            break
        assert said == "ILLEGAL_GENERATION"
        await leader.heartbeat()
    assert said == UNKNOWN
