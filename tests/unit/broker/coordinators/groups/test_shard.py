"""What a shard of groups of several types does with committed offsets, and with the ids of groups."""

import pytest

from kafka_groups.broker.coordinators.groups.group_type import GroupType
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.errors import GroupIdNotFoundError
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.types import TopicPartition
from tests.unit.broker.coordinators.groups.scenes import MINUTE_MS, OUTSIDE, Groups

DAY_MS = 24 * 60 * MINUTE_MS


@pytest.fixture
def groups() -> Groups:
    made = Groups()
    made.topics.create("t", 2)
    made.topics.create("u", 1)
    return made


def join_share_group(groups: Groups, group_id: str) -> None:
    request = ShareGroupHeartbeatRequest(
        group_id=group_id, member_id="ann", member_epoch=0, subscribed_topic_names=("t",)
    )
    share = groups.shard.share_groups_with(group_id)
    groups.store(share.heartbeat(request, MemberClient("c", "/h"), groups.now_ms))


def test_the_next_coordinator_knows_them(groups: Groups) -> None:
    groups.commit("g", {("t", 0): 7, ("t", 1): 8, ("u", 0): 9})
    groups.commit("g", {("t", 0): 5})
    groups.commit("other", {("t", 0): 1})
    groups.reload()
    assert groups.offsets("g") == {("t", 0): 5, ("t", 1): 8, ("u", 0): 9}
    assert groups.offsets("other") == {("t", 0): 1}
    assert groups.shard.type_of("g") is GroupType.CLASSIC


def test_a_group_of_one_type_is_of_no_other(groups: Groups) -> None:
    groups.commit("g", {("t", 0): 1})
    with pytest.raises(GroupIdNotFoundError, match="Group g is not a share group"):
        join_share_group(groups, "g")
    join_share_group(groups, "s")
    with pytest.raises(GroupIdNotFoundError, match="Group s is not a consumer group"):
        groups.shard.offsets.commit("s", OUTSIDE, 9, {}, groups.now_ms)
    with pytest.raises(GroupIdNotFoundError):
        groups.shard.offsets.delete("s", [TopicPartition("t", 0)])
    groups.store(groups.shard.delete_group("g"))
    assert groups.shard.type_of("g") is None
    join_share_group(groups, "g")
    assert {each.group_id: each.type for each in groups.shard.listed()} == {"g": GroupType.SHARE, "s": GroupType.SHARE}


def test_a_deleted_group_leaves_no_offsets(groups: Groups) -> None:
    groups.commit("g", {("t", 0): 1, ("u", 0): 2})
    groups.store(groups.shard.delete_group("g"))
    groups.reload()
    assert groups.offsets("g") == {}
    with pytest.raises(GroupIdNotFoundError):
        groups.shard.delete_group("g")


@pytest.mark.parametrize("is_loaded_later", [False, True])
def test_offsets_of_a_deleted_topic_are_forgotten(groups: Groups, is_loaded_later: bool) -> None:
    groups.commit("g", {("t", 0): 1, ("u", 0): 2})
    groups.commit("only", {("t", 1): 3})
    groups.topics.delete("t")
    if is_loaded_later:
        groups.reload()
    else:
        groups.store(groups.shard.metadata_changed(groups.now_ms, groups.wall_ms))
    assert (groups.offsets("g"), groups.offsets("only")) == ({("u", 0): 2}, {})
    assert groups.shard.offsets.table.topics == {"u"}


def test_old_offsets_expire_and_the_group_goes_with_the_last(groups: Groups) -> None:
    groups.commit("g", {("t", 0): 1})
    groups.after(4 * DAY_MS)
    groups.commit("g", {("t", 1): 2})
    groups.after(3 * DAY_MS - MINUTE_MS)
    assert groups.offsets("g") == {("t", 0): 1, ("t", 1): 2}
    groups.after(11 * MINUTE_MS)
    assert groups.offsets("g") == {("t", 1): 2}
    groups.after(4 * DAY_MS)
    assert groups.offsets("g") == {}
    assert groups.shard.type_of("g") is None
    assert groups.shard.next_deadline_ms() is None
    groups.reload()
    assert groups.shard.type_of("g") is None


def test_an_offset_may_have_its_own_time_to_live(groups: Groups) -> None:
    groups.commit("g", {("t", 0): 1}, expires_ms=groups.wall_ms + MINUTE_MS)
    groups.commit("g", {("t", 1): 2})
    groups.after(11 * MINUTE_MS)
    assert groups.offsets("g") == {("t", 1): 2}


def test_retention_and_interval_are_settings() -> None:
    groups = Groups(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    groups.topics.create("t", 1)
    groups.commit("g", {("t", 0): 1})
    groups.after(MINUTE_MS - 1)
    assert groups.offsets("g") == {("t", 0): 1}
    groups.after(1_000)
    assert groups.offsets("g") == {}


@pytest.mark.slow
def test_many_groups_are_looked_at_some_at_a_time(groups: Groups) -> None:
    for number in range(450):
        groups.commit(f"g{number}", {("t", 0): number})
    groups.after(7 * DAY_MS - 1)
    records = len(groups.records)
    due_ms = groups.shard.next_deadline_ms()
    assert due_ms is not None
    found = groups.shard.expire(due_ms, groups.wall_ms + 10 * MINUTE_MS)
    assert len(found.records) == 2 * 200, "an offset and a group each"
    groups.store(found)
    assert groups.shard.next_deadline_ms() == due_ms + 1
    groups.after(10 * MINUTE_MS)
    assert not groups.shard.classic.groups
    assert len(groups.records) == records + 2 * 450


def test_a_group_whose_offsets_were_deleted_goes_with_the_next_look(groups: Groups) -> None:
    groups.commit("g", {("t", 0): 1})
    groups.store(groups.shard.offsets.delete("g", [TopicPartition("t", 0), TopicPartition("t", 1)]))
    assert groups.offsets("g") == {}
    assert groups.shard.type_of("g") is GroupType.CLASSIC
    groups.after(10 * MINUTE_MS)
    assert groups.shard.type_of("g") is None
