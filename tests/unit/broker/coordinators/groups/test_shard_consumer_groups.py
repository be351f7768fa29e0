"""A shard with consumer groups: their offsets, and how an empty group changes its type."""

from typing import Any

import pytest

from kafka_groups.broker.coordinators.groups.group_type import GroupType
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.errors import GroupIdNotFoundError
from kafka_groups.protocol.coordinator_records.consumer_group import OfConsumerGroup
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.support.members.classic_member import subscription
from tests.unit.broker.coordinators.groups.scenes import MINUTE_MS, Groups

CLIENT = MemberClient("c", "/h")
RETENTION_MINUTES = 10


@pytest.fixture
def groups() -> Groups:
    groups = Groups(offsets_retention_minutes=RETENTION_MINUTES, offsets_retention_check_interval_ms=MINUTE_MS)
    for topic in ("t", "u"):
        groups.topics.create(topic, 2)
    return groups


def beat(groups: Groups, epoch: int, *, group_id: str = "g", **fields: Any) -> Any:
    values: dict[str, Any] = {
        "rebalance_timeout_ms": 5_000,
        "subscribed_topic_names": ("t",),
        "topic_partitions": (),
    } | fields
    given = values if epoch == 0 else {}
    request = ConsumerGroupHeartbeatRequest(group_id=group_id, member_id="m", member_epoch=epoch, **given)
    return groups.store(groups.shard.consumer_group_heartbeat(request, CLIENT, 1, groups.now_ms))


def join_classic(groups: Groups, member_id: str = "", protocol_type: str = "consumer") -> Any:
    request = JoinGroupRequest(
        group_id="g", session_timeout_ms=30_000, rebalance_timeout_ms=30_000, member_id=member_id,
        protocol_type=protocol_type, protocols=(JoinGroupRequestProtocol(name="range", metadata=subscription("t")),),
    )  # fmt: skip
    return groups.store(groups.shard.join_group(request, CLIENT, 9, groups.now_ms))


def types(groups: Groups) -> list[tuple[str, str]]:
    return [(each.group_id, each.type.value) for each in groups.shard.listed()]


def test_a_group_with_offsets_becomes_a_consumer_group_and_keeps_them(groups: Groups) -> None:
    groups.commit("g", {("t", 0): 5})
    assert types(groups) == [("g", "classic")]
    assert beat(groups, 0).member_epoch == 2
    assert types(groups) == [("g", "consumer")]
    for _ in range(2):
        assert groups.offsets("g") == {("t", 0): 5}
        groups.reload()
        assert types(groups) == [("g", "consumer")]
        assert beat(groups, 2).member_epoch == 2


def test_a_group_that_loses_its_records_is_a_classic_one_with_its_offsets(groups: Groups) -> None:
    beat(groups, 0)
    beat(groups, -1)
    groups.commit("g", {("t", 0): 5})
    first = join_classic(groups)
    assert first.error_code is ErrorCode.MEMBER_ID_REQUIRED
    assert types(groups) == [("g", "classic")]
    groups.reload()
    assert types(groups) == [("g", "classic")]
    assert groups.offsets("g") == {("t", 0): 5}
    assert not any(isinstance(each, OfConsumerGroup) for each in groups.shard.consumer.groups)


def test_only_a_prefix_of_a_conversion_is_stored(groups: Groups) -> None:
    beat(groups, 0)
    beat(groups, -1)
    groups.commit("g", {("t", 0): 5})
    stored = len(groups.records)
    join_classic(groups)
    converted = groups.records[stored:]
    for kept in range(len(converted)):
        del groups.records[stored:]
        groups.records += converted[:kept]
        groups.reload()
        assert [name for name, _ in types(groups)] == ["g"]
        assert groups.offsets("g") == {("t", 0): 5}


def test_groups_that_cannot_change(groups: Groups) -> None:
    member_id = join_classic(groups, protocol_type="connect").member_id
    join_classic(groups, member_id, protocol_type="connect")
    groups.after(5_000)
    with pytest.raises(GroupIdNotFoundError, match="does not use the consumer embedded protocol"):
        beat(groups, 0)
    with pytest.raises(GroupIdNotFoundError, match=r"Group g is not a consumer group\."):
        beat(groups, -1)
    assert groups.shard.type_of("g") is GroupType.CLASSIC


def test_offsets_expire_unless_members_subscribe(groups: Groups) -> None:
    beat(groups, 0)
    committed = {("t", 0): 5, ("u", 0): 6}
    for (topic, partition), offset in committed.items():
        request = {(topic, partition): offset}
        with pytest.raises(Exception, match="not a member"):
            groups.commit("g", request)
    beat(groups, -1)
    groups.commit("g", committed)
    beat(groups, 0)
    for _ in range(RETENTION_MINUTES + 2):
        groups.after(MINUTE_MS // 2)
        beat(groups, groups.shard.consumer.group("g").current["m"].member_epoch)
        groups.after(MINUTE_MS // 2)
        beat(groups, groups.shard.consumer.group("g").current["m"].member_epoch)
    assert groups.offsets("g") == {("t", 0): 5}
    beat(groups, -1)
    groups.after(2 * MINUTE_MS)
    assert groups.offsets("g") == {}
    assert types(groups) == []
