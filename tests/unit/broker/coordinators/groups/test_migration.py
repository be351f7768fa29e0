"""Groups with members change their type, in virtual time."""

from typing import Any

import pytest
from attrs import evolve

from kafka_groups.broker.coordinators.groups.classic.states import ClassicGroupState
from kafka_groups.broker.coordinators.groups.member_client import MemberClient
from kafka_groups.broker.coordinators.result import Reply
from kafka_groups.errors import GroupIdNotFoundError, UnknownMemberIdError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.support.members.classic_member import subscription
from tests.unit.broker.coordinators.groups.scenes import Groups

CLIENT = MemberClient("c", "/h")
SESSION_MS, REBALANCE_MS, CONSUMER_SESSION_MS = 30_000, 20_000, 45_000
JOIN = JoinGroupRequest(
    group_id="g", session_timeout_ms=SESSION_MS, rebalance_timeout_ms=REBALANCE_MS, member_id="",
    protocol_type="consumer", protocols=(JoinGroupRequestProtocol(name="range", metadata=subscription("t")),),
)  # fmt: skip
OLD_VERSION = 3


class Scene(Groups):
    """A shard, and the requests that members send."""

    def beat(self, epoch: int, member_id: str = "new") -> Any:
        """A heartbeat of a member of a consumer group."""
        fields: dict[str, Any] = {}
        if epoch == 0:
            fields = {"rebalance_timeout_ms": 5_000, "subscribed_topic_names": ("t",), "topic_partitions": ()}
        request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=epoch, **fields)
        return self.store(self.shard.consumer_group_heartbeat(request, CLIENT, 1, self.now_ms))

    def join(self, member_id: str = "") -> Any:
        """JoinGroup in a version in which nobody needs an id first. The result has the replies."""
        result = self.shard.join_group(evolve(JOIN, member_id=member_id), CLIENT, OLD_VERSION, self.now_ms)
        self.store(result)
        return result

    def sync(self, member_id: str, generation: int, assignment: bytes | None = None) -> Any:
        """SyncGroup."""
        given = () if assignment is None else (
            SyncGroupRequestAssignment(member_id=member_id, assignment=assignment),
        )  # fmt: skip
        request = SyncGroupRequest(group_id="g", generation_id=generation, member_id=member_id, assignments=given)
        return self.store(self.shard.sync_group(request, self.now_ms))

    def heartbeat(self, member_id: str, generation: int) -> ErrorCode:
        """A heartbeat of a classic member."""
        request = HeartbeatRequest(group_id="g", generation_id=generation, member_id=member_id)
        response = self.store(self.shard.heartbeat(request, self.now_ms))
        code: ErrorCode = response.error_code
        return code

    def stable_classic(self) -> str:
        """A classic group with one member. Returns its id."""
        return self.stable_classic_with(b"")

    def stable_classic_with(self, assignment: bytes) -> str:
        """A classic group with one member that has an assignment. Returns its id."""
        self.join()
        self.after(5_000)
        [member_id] = self.shard.classic.group("g").members
        assert self.sync(member_id, 1, assignment).error_code is ErrorCode.NONE
        return member_id


@pytest.fixture
def scene() -> Scene:
    scene = Scene(initial_rebalance_delay_ms=100)
    scene.topics.create("t", 2)
    return scene


def test_a_group_with_members_becomes_a_consumer_group_and_another_coordinator_goes_on(scene: Scene) -> None:
    old = scene.stable_classic()
    assert scene.beat(0).member_epoch == 2
    assert scene.heartbeat(old, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    scene.reload()
    assert [each.type.value for each in scene.shard.listed()] == ["consumer"]
    assert scene.heartbeat(old, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert scene.join(old).response.generation_id == 2
    assert scene.sync(old, 2).error_code is ErrorCode.NONE
    assert scene.heartbeat(old, 2) is ErrorCode.NONE


def test_requests_that_wait_are_answered(scene: Scene) -> None:
    old = scene.stable_classic()
    waiting = scene.join()
    assert waiting.parked is not None
    request = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="new", member_epoch=0, rebalance_timeout_ms=1, subscribed_topic_names=("t",),
        topic_partitions=(),
    )  # fmt: skip
    result = scene.shard.consumer_group_heartbeat(request, CLIENT, 1, scene.now_ms)
    scene.store(result)
    [reply] = result.effects
    assert isinstance(reply, Reply)
    assert reply.token == waiting.parked
    assert reply.outcome.error_code is ErrorCode.REBALANCE_IN_PROGRESS  # type: ignore[attr-defined]
    assert len(scene.shard.consumer.group("g").members) == 3
    assert old in scene.shard.consumer.group("g").members


@pytest.mark.parametrize("leaves", [True, False])
def test_a_group_whose_last_new_member_is_gone_is_a_classic_one(scene: Scene, leaves: bool) -> None:
    old = scene.stable_classic()
    scene.beat(0)
    scene.join(old)
    scene.sync(old, 2)
    if leaves:
        scene.beat(-1)
    else:
        while scene.shard.consumer.groups:
            scene.after(SESSION_MS // 2)
            scene.heartbeat(old, 2)
    group = scene.shard.classic.group("g")
    assert (group.state, group.generation, set(group.members)) == (ClassicGroupState.PREPARING_REBALANCE, 2, {old})
    assert scene.heartbeat(old, 2) is ErrorCode.REBALANCE_IN_PROGRESS
    scene.reload()
    assert set(scene.shard.classic.group("g").members) == {old}
    assert scene.heartbeat(old, 2) is ErrorCode.NONE, "the next coordinator has only the record"


def test_classic_members_that_are_silent_are_removed(scene: Scene) -> None:
    old = scene.stable_classic()
    scene.beat(0)
    scene.after(SESSION_MS)
    assert set(scene.shard.consumer.group("g").members) == {"new"}
    scene.after(CONSUMER_SESSION_MS)
    with pytest.raises(UnknownMemberIdError):
        scene.beat(2)
    assert scene.heartbeat(old, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_classic_members_that_do_not_join_again_are_removed(scene: Scene) -> None:
    old = scene.stable_classic()
    scene.beat(0)
    begun_ms = scene.now_ms
    while scene.heartbeat(old, 1) is ErrorCode.REBALANCE_IN_PROGRESS and scene.now_ms < begun_ms + 10 * REBALANCE_MS:
        scene.after(SESSION_MS // 4)
        scene.beat(scene.shard.consumer.group("g").current["new"].member_epoch)
    assert scene.heartbeat(old, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_cannot_be_read_stays_as_it_is(scene: Scene) -> None:
    broken = evolve(JOIN, protocols=(JoinGroupRequestProtocol(name="range", metadata=b"?"),))
    scene.store(scene.shard.join_group(broken, CLIENT, OLD_VERSION, scene.now_ms))
    with pytest.raises(GroupIdNotFoundError, match="the embedded consumer protocol is malformed"):
        scene.beat(0)
    assert [each.type.value for each in scene.shard.listed()] == ["classic"]
