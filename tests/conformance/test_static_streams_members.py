"""Static members of streams groups (KIP-345 for KIP-1071, from Kafka 4.4 on): who comes back, and who may not."""

from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupRequestMember
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, UserEndpoint
from tests.support.conditions import until
from tests.support.members.raw_streams_group import A, B, C, RawStreamsGroup, new_group, tasks
from tests.support.members.streams_member import StreamsMember
from tests.support.streams_brokers import everywhere_at_once
from tests.support.targets import Target

NONE, UNKNOWN, FENCED, STALE = "NONE", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "STALE_MEMBER_EPOCH"
ALL = tasks(0, 1, 2, 3)
D = "D" * 22


async def away(group: RawStreamsGroup, **fields: Any) -> StreamsMember:
    """A static member that has all tasks, and has left for a while."""
    member = group.member(A, "i")
    assert (await member.join(group.simple, **fields)).active == ALL
    left = await member.leave_for_a_while()
    assert (left.error, left.epoch) == (NONE, -2)
    return member


@everywhere_at_once
async def test_a_member_that_is_away_keeps_its_tasks(target: Target) -> None:
    group = await new_group(target)
    await away(group)
    assert await group.state() == ("Reconciling", 2, 2)
    seen = (await group.members())[A]
    assert (seen.epoch, seen.active, seen.target_active) == (-2, ALL, ALL)
    other = group.member(B)
    await other.join(group.simple)
    assert (await other.beat()).active is None, "it waits for what the other one has"
    assert (await group.members())[A].active == ALL


@everywhere_at_once
async def test_a_member_that_returns_has_a_new_id_and_its_former_tasks(target: Target) -> None:
    group = await new_group(target)
    await away(group)
    again = await group.member(B, "i").join(group.simple, process_id=A)
    assert (again.epoch, again.active) == (2, ALL)
    assert list(await group.members()) == [B]
    assert await group.state() == ("Stable", 2, 2)
    assert (await group.member(A, "i").beat(2)).error == FENCED
    assert (await group.member(A).beat(2)).error == UNKNOWN


@everywhere_at_once
async def test_a_member_may_return_with_its_own_id(target: Target) -> None:
    group = await new_group(target)
    member = await away(group)
    again = await member.join(group.simple)
    assert (again.epoch, again.active) == (2, ALL)


TAG = KeyValue(key="zone", value="a")
NEWS: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "nothing": ({}, 0),
    "an endpoint": ({"user_endpoint": UserEndpoint(host="h", port=1)}, 0),
    "a rebalance timeout": ({"rebalance_timeout_ms": 7}, 0),
    "a rack": ({"rack_id": "r"}, 1),
    "a process": ({"process_id": "p"}, 1),
    "a tag": ({"client_tags": (TAG,)}, 1),
}


@everywhere_at_once
@pytest.mark.parametrize("news", NEWS)
async def test_what_a_member_that_returns_changes(target: Target, news: str) -> None:
    group = await new_group(target)
    await away(group)
    fields, more = NEWS[news]
    again = await group.member(B, "i").join(group.simple, **{"process_id": A, **fields})
    assert (again.error, again.active) == (NONE, ALL)
    assert await group.state() == ("Stable", 2 + more, 2 + more)


@everywhere_at_once
async def test_a_member_that_returns_with_another_topology_epoch(target: Target) -> None:
    group = await new_group(target)
    member = await group.joined(A, "i", evolve(group.simple, epoch=3))
    await member.leave_for_a_while()
    again = await group.member(B, "i").join(evolve(group.simple, epoch=2), process_id=A)
    assert (again.error, again.epoch, again.active) == (NONE, 3, ALL)


@everywhere_at_once
async def test_a_member_that_is_away_has_a_place_in_the_group(target: Target) -> None:
    group = await new_group(target)
    await away(group)
    await group.joined(B)
    await group.joined(C)
    assert (await group.member(D).join(group.simple)).error == "GROUP_MAX_SIZE_REACHED"
    assert (await group.member(D, "i").join(group.simple)).error == NONE, "it does not need another place"


@everywhere_at_once
async def test_a_member_that_is_away_may_leave_for_good(target: Target) -> None:
    group = await new_group(target)
    member = await away(group)
    assert (await group.member(B, "i").beat(-1)).error == FENCED
    assert (await member.leave()).epoch == -1
    assert await group.state() == ("Empty", 3, 3)
    assert (await group.joined(B, "i")).epoch == 4


@everywhere_at_once
async def test_a_member_may_say_twice_that_it_is_away(target: Target) -> None:
    group = await new_group(target)
    member = await away(group)
    assert (await member.leave_for_a_while()).error == NONE
    assert (await member.beat(2)).error == "FENCED_MEMBER_EPOCH", "it has to join to come back"


@everywhere_at_once
async def test_leave_group_does_not_know_members_of_streams_groups(target: Target) -> None:
    group = await new_group(target)
    await group.joined(A, "i")
    coordinator = await target.cluster.coordinator_of(group.group_id)
    named = (
        LeaveGroupRequestMember(member_id="", group_instance_id="i"),
        LeaveGroupRequestMember(member_id=A, group_instance_id="i"),
        LeaveGroupRequestMember(member_id=A),
    )
    response = await coordinator.ask(LeaveGroupRequest(group_id=group.group_id, members=named))
    assert response.error_code.name == NONE
    assert [each.error_code.name for each in response.members] == [UNKNOWN] * 3
    assert await group.state() == ("Stable", 2, 2)


@everywhere_at_once
async def test_commits_of_a_member_that_is_away(target: Target) -> None:
    group = await new_group(target)
    member = await away(group)
    topic = group.topic.name
    assert await member.commit(topic, 0, epoch=2) == STALE
    assert await member.commit(topic, 0, epoch=-2) == NONE


@pytest.mark.slow
@everywhere_at_once
async def test_a_member_that_stays_away_is_removed(target: Target) -> None:
    group = await new_group(target)
    await group.configure({"session.timeout.ms": "1000", "heartbeat.interval.ms": "100"})
    await away(group)
    await until(group.state, lambda found: found == ("Empty", 3, 3))
    again = await group.member(B, "i").join(group.simple)
    assert (again.epoch, again.active) == (4, ALL), "as a new member"
