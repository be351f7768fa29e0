"""A shard with streams groups: their offsets, and how an empty group changes its type."""

from typing import Any

import pytest

from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.groups.streams.effects import CreateInternalTopics
from kafka_groups.errors import GroupIdNotFoundError, GroupSubscribedToTopicError, UnknownMemberIdError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatTopology,
)
from kafka_groups.types import TopicPartition
from tests.support.members.classic_member import subscription
from tests.support.members.streams_topologies import internal, sent, subtopology
from tests.unit.broker.coordinators.groups.scenes import MINUTE_MS, Groups

CLIENT = MemberClient("c", "/h")
RETENTION_MINUTES, SESSION_MS = 10, 45_000
TOPOLOGY = sent(subtopology("0", sources=("t",)))


@pytest.fixture
def groups() -> Groups:
    groups = Groups(
        offsets_retention_minutes=RETENTION_MINUTES,
        offsets_retention_check_interval_ms=MINUTE_MS,
    )
    for topic in ("t", "u"):
        groups.topics.create(topic, 2)
    return groups


def request(epoch: int, topology: StreamsGroupHeartbeatTopology = TOPOLOGY) -> StreamsGroupHeartbeatRequest:
    values: dict[str, Any] = {"group_id": "g", "member_id": "m", "member_epoch": epoch}
    if epoch == 0:
        values |= {"rebalance_timeout_ms": 5_000, "topology": topology, "process_id": "p"}
        values |= dict.fromkeys(("active_tasks", "standby_tasks", "warmup_tasks"), ())
    return StreamsGroupHeartbeatRequest(**values)


def beat(groups: Groups, epoch: int) -> Any:
    return groups.store(groups.shard.streams_group_heartbeat(request(epoch), CLIENT, 1, groups.now_ms))


def join_classic(groups: Groups) -> Any:
    protocols = (JoinGroupRequestProtocol(name="range", metadata=subscription("t")),)
    joining = JoinGroupRequest(
        group_id="g", session_timeout_ms=30_000, rebalance_timeout_ms=30_000, member_id="", protocol_type="consumer",
        protocols=protocols,
    )  # fmt: skip
    return groups.store(groups.shard.join_group(joining, CLIENT, 9, groups.now_ms))


def types(groups: Groups) -> list[tuple[str, str, str]]:
    return [(each.group_id, each.type.value, each.state) for each in groups.shard.listed()]


def test_a_group_with_offsets_becomes_a_streams_group_and_back_and_keeps_them(groups: Groups) -> None:
    groups.commit("g", {("t", 0): 5})
    assert beat(groups, 0).member_epoch == 1
    for _ in range(2):
        assert types(groups) == [("g", "streams", "Assigning")]
        assert groups.offsets("g") == {("t", 0): 5}
        groups.reload()
    assert join_classic(groups).error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    beat(groups, -1)
    assert types(groups) == [("g", "streams", "Empty")]
    assert join_classic(groups).error_code is ErrorCode.MEMBER_ID_REQUIRED
    for _ in range(2):
        assert [each[:2] for each in types(groups)] == [("g", "classic")]
        assert groups.offsets("g") == {("t", 0): 5}
        groups.reload()


def test_other_groups_stay_what_they_are(groups: Groups) -> None:
    join_classic(groups)
    with pytest.raises(GroupIdNotFoundError, match="not a streams group"):
        beat(groups, 1)
    beat(groups, 0)
    for describe in (groups.shard.consumer_group_describe, groups.shard.describe_group):
        with pytest.raises(GroupIdNotFoundError, match="Group g is not a c"):
            describe("g")
    assert groups.shard.streams_groups_with("g").describe("g").group_state == "Assigning"


def test_offsets_of_a_streams_group_are_fenced_kept_and_deleted_with_it(groups: Groups) -> None:
    beat(groups, 0)
    with pytest.raises(UnknownMemberIdError):
        groups.commit("g", {("t", 0): 5})
    beat(groups, -1)
    groups.commit("g", {("t", 0): 5, ("u", 0): 6})
    beat(groups, 0)
    with pytest.raises(GroupSubscribedToTopicError):
        groups.shard.offsets.delete("g", [TopicPartition("t", 0)])
    with pytest.raises(UnknownMemberIdError):
        groups.shard.offsets.check_fetch("g", "stranger", 1)
    groups.store(groups.shard.offsets.delete("g", [TopicPartition("u", 0)]))
    assert groups.offsets("g") == {("t", 0): 5}
    beat(groups, -1)
    groups.store(groups.shard.delete_group("g"))
    assert (types(groups), groups.offsets("g")) == ([], {})


def test_an_empty_group_goes_with_its_last_expired_offset(groups: Groups) -> None:
    beat(groups, 0)
    beat(groups, -1)
    groups.commit("g", {("t", 0): 5})
    groups.after((RETENTION_MINUTES + 2) * MINUTE_MS)

    assert (types(groups), groups.offsets("g")) == ([], {})


def test_sessions_end_and_first_assignments_are_made_by_the_clock(groups: Groups) -> None:
    beat(groups, 0)
    beat(groups, 1)
    groups.after(3_000)
    assert types(groups) == [("g", "streams", "Reconciling")]
    groups.after(SESSION_MS)
    assert types(groups) == [("g", "streams", "Empty")]


def test_internal_topics_are_an_effect(groups: Groups) -> None:
    counting = sent(subtopology("0", sources=("t",), changelogs=(internal("store"),)))
    result = groups.shard.streams_group_heartbeat(request(0, counting), CLIENT, 1, groups.now_ms)

    [effect] = result.effects
    assert isinstance(effect, CreateInternalTopics)
    assert [(info.name, info.partitions) for info in effect.topics] == [("store", 2)]
