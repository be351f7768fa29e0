"""Offsets of streams groups: who may commit, fetch and delete them, and what becomes of them (KIP-1071)."""

from typing import Any

import pytest

from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_groups.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafka_groups.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from tests.support.cluster_client import Topic
from tests.support.members.classic_member import ClassicMember
from tests.support.members.listed_groups import listed_groups
from tests.support.members.raw_streams_group import A, B, C, RawStreamsGroup, new_group, tasks
from tests.support.members.streams_member import StreamsMember
from tests.support.streams_brokers import everywhere_at_once
from tests.support.targets import Target

NONE, UNKNOWN, STALE = "NONE", "UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH"
ALL = tasks(0, 1, 2, 3)
OUTSIDE: dict[str, Any] = {"member_id": "", "generation_id": -1}


async def fetched(group: RawStreamsGroup, **member: Any) -> tuple[str, list[int]]:
    """The error, and the offset of partition 0."""
    named = OffsetFetchRequestTopic(name=group.topic.name, topic_id=group.topic.topic_id, partition_indexes=(0,))
    asked = OffsetFetchRequestGroup(group_id=group.group_id, topics=(named,), **member)
    coordinator = await group.target.cluster.coordinator_of(group.group_id)
    [answer] = (await coordinator.ask(OffsetFetchRequest(groups=(asked,)), 9)).groups
    offsets = [each.committed_offset for topic in answer.topics for each in topic.partitions]
    return answer.error_code.name, offsets


async def deleted(group: RawStreamsGroup, topic: Topic) -> tuple[str, list[str]]:
    """The errors when the offset of partition 0 of a topic is deleted."""
    partition = OffsetDeleteRequestPartition(partition_index=0)
    named = OffsetDeleteRequestTopic(name=topic.name, partitions=(partition,))
    coordinator = await group.target.cluster.coordinator_of(group.group_id)
    answer = await coordinator.ask(OffsetDeleteRequest(group_id=group.group_id, topics=(named,)))
    return answer.error_code.name, [each.error_code.name for it in answer.topics for each in it.partitions]


async def listed(group: RawStreamsGroup) -> list[tuple[str, str]]:
    """State and type of the group in the list of groups."""
    coordinator = await group.target.cluster.coordinator_of(group.group_id)
    groups = await listed_groups(coordinator)
    return [(each.group_state, each.group_type) for each in groups if each.group_id == group.group_id]


def outside(group: RawStreamsGroup) -> ClassicMember:
    """Who commits without being a member."""
    return ClassicMember(group.target.client(), group.group_id)


# ---------------------------------------------------------------------------------------------------- commits


@everywhere_at_once
async def test_a_task_may_be_committed_while_it_is_revoked(target: Target) -> None:
    group = await new_group(target)
    first = await group.joined(A)
    await group.joined(B)
    kept = (await first.beat()).active
    assert kept is not None
    [revoked, *_] = sorted(ALL - kept)
    assert await first.commit(group.topic.name, revoked[1], epoch=2) == NONE
    await first.beat(owned=kept)
    assert await first.commit(group.topic.name, revoked[1], epoch=2) == STALE, "it has confirmed"
    assert await first.commit(group.topic.name, min(kept)[1], epoch=2) == NONE


@everywhere_at_once
async def test_a_topic_that_the_topology_does_not_read(target: Target) -> None:
    group = await new_group(target)
    other = await target.cluster.create_topic()
    first = await group.joined(A)
    await first.beat(rack_id="r")
    assert await first.commit(other.name, 0) == NONE, "in the current epoch"
    assert await first.commit(other.name, 0, epoch=2) == STALE


@everywhere_at_once
@pytest.mark.parametrize(("version", "expected"), [(2, "UNSUPPORTED_VERSION"), (8, "UNSUPPORTED_VERSION"), (9, NONE)])
async def test_commits_need_a_member_epoch(target: Target, version: int, expected: str) -> None:
    group = await new_group(target)
    member = await group.joined(A)
    assert await member.commit(group.topic.name, 0, version=version) == expected


@everywhere_at_once
async def test_others_commit_only_while_the_group_is_empty(target: Target) -> None:
    group = await new_group(target)
    member = await group.joined(A)
    assert await outside(group).commit(group.topic, 3, **OUTSIDE) == UNKNOWN
    await member.leave()
    assert await outside(group).commit(group.topic, 3, **OUTSIDE) == NONE
    assert await fetched(group) == (NONE, [3])
    assert await member.commit(group.topic.name, 0, epoch=3) == UNKNOWN


# ---------------------------------------------------------------------------------------------------- fetches


@everywhere_at_once
async def test_members_fetch_offsets_with_their_epoch(target: Target) -> None:
    group = await new_group(target)
    member = await group.joined(A)
    await member.commit(group.topic.name, 0, offset=7)
    assert await fetched(group, member_id=A, member_epoch=2) == (NONE, [7])
    assert await fetched(group) == (NONE, [7]), "everybody else"
    for epoch in (1, 3):
        assert await fetched(group, member_id=A, member_epoch=epoch) == (STALE, [])
    assert await fetched(group, member_id=B, member_epoch=2) == (UNKNOWN, [])


# -------------------------------------------------------------------------------------------------- deletions


@everywhere_at_once
async def test_offsets_of_topics_that_are_read_stay(target: Target) -> None:
    group = await new_group(target)
    other = await target.cluster.create_topic()
    member = await group.joined(A)
    for topic in (group.topic, other):
        await member.commit(topic.name, 0)
    assert await deleted(group, group.topic) == (NONE, ["GROUP_SUBSCRIBED_TO_TOPIC"])
    assert await deleted(group, other) == (NONE, [NONE])
    await member.leave()
    assert await deleted(group, group.topic) == (NONE, [NONE])
    assert await fetched(group) == (NONE, [-1])


@everywhere_at_once
async def test_offsets_go_with_the_group(target: Target) -> None:
    group = await new_group(target)
    member = await group.joined(A)
    await member.commit(group.topic.name, 0)
    coordinator = await target.cluster.coordinator_of(group.group_id)
    request = DeleteGroupsRequest(groups_names=(group.group_id,))
    assert (await coordinator.ask(request)).results[0].error_code.name == "NON_EMPTY_GROUP"
    await member.leave()
    assert (await coordinator.ask(request)).results[0].error_code.name == NONE
    assert await fetched(group) == (NONE, [-1])
    assert (await coordinator.ask(request)).results[0].error_code.name == "GROUP_ID_NOT_FOUND"
    again = await group.joined(C)
    assert again.epoch == 2, "a new group"


# -------------------------------------------------------------------------------------------------- migration


@everywhere_at_once
async def test_an_empty_classic_group_becomes_a_streams_group(target: Target) -> None:
    group = await new_group(target)
    classic = outside(group)
    await classic.join()
    assert (await group.member(A).join(group.simple)).error == "GROUP_ID_NOT_FOUND", "it has a member"
    await classic.sync({classic.member_id: b""})
    assert await classic.commit(group.topic, 4) == NONE
    await classic.leave()
    assert await listed(group) == [("Empty", "classic")]
    assert (await group.member(A).join(group.simple)).active == ALL
    assert await listed(group) == [("Stable", "streams")]
    assert await fetched(group, member_id=A, member_epoch=2) == (NONE, [4])


@everywhere_at_once
async def test_an_empty_streams_group_becomes_a_classic_group(target: Target) -> None:
    group = await new_group(target)
    member: StreamsMember = await group.joined(A)
    await member.commit(group.topic.name, 0, offset=6)
    classic = outside(group)
    assert (await classic.ask_to_join()).error_code.name == "INCONSISTENT_GROUP_PROTOCOL"
    await member.leave()
    await classic.join()
    assert [each[1] for each in await listed(group)] == ["classic"]
    assert await group.state_name() == "GROUP_ID_NOT_FOUND"
    assert await fetched(group) == (NONE, [6])
    assert (await member.beat(2)).error == "GROUP_ID_NOT_FOUND"
