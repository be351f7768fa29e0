"""Members of consumer groups that speak the classic protocol, in virtual time: what is expected of them, and when."""

from typing import Any

import pytest
from attrs import evolve

from kafka_groups.broker.coordinators.groups.consumer.states import ConsumerMemberState
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.join_group import JoinGroupRequestProtocol
from tests.support.members.classic_member import subscription
from tests.unit.broker.coordinators.groups.test_migration import (
    CLIENT,
    JOIN,
    OLD_VERSION,
    REBALANCE_MS,
    SESSION_MS,
    Scene,
)

LATER = b"\x00\x01"
OWNS_ALL = b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01"
REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS
UNREVOKED = ConsumerMemberState.UNREVOKED_PARTITIONS


@pytest.fixture
def scene() -> Scene:
    scene = Scene(initial_rebalance_delay_ms=100)
    scene.topics.create("t", 2)
    return scene


def join(scene: Scene, member_id: str, **fields: Any) -> Any:
    """JoinGroup of a member that says what it owns."""
    request = evolve(JOIN, member_id=member_id, **fields)
    return scene.store(scene.shard.join_group(request, CLIENT, OLD_VERSION, scene.now_ms))


def members(scene: Scene) -> set[str]:
    return set(scene.shard.consumer.group("g").members)


def alive(scene: Scene, ms: int) -> None:
    """Let time pass in which the new member is not silent."""
    for _ in range(ms // 10_000):
        scene.after(10_000)
        scene.beat(scene.shard.consumer.group("g").current["new"].member_epoch)


def test_a_member_that_must_revoke_has_time_until_it_is_told_to(scene: Scene) -> None:
    old = scene.stable_classic_with(b"\x00\x00" + OWNS_ALL + b"\xff\xff\xff\xff")
    scene.beat(0)
    owning = (JoinGroupRequestProtocol(name="range", metadata=LATER + subscription("t")[2:] + OWNS_ALL),)
    assert join(scene, old, protocols=owning, session_timeout_ms=10 * SESSION_MS).generation_id == 1
    assert scene.sync(old, 1).error_code is ErrorCode.NONE
    assert scene.shard.consumer.group("g").current[old].state is UNREVOKED
    alive(scene, 2 * REBALANCE_MS)
    assert members(scene) == {old, "new"}
    assert scene.heartbeat(old, 1) is REBALANCING
    alive(scene, REBALANCE_MS - 10_000)
    assert scene.heartbeat(old, 1) is REBALANCING, "this does not give it more time"
    alive(scene, 10_000)
    assert members(scene) == {"new"}


def test_a_member_that_does_not_ask_for_its_partitions_is_removed(scene: Scene) -> None:
    old = scene.stable_classic()
    scene.beat(0)
    assert join(scene, old).generation_id == 2
    alive(scene, REBALANCE_MS - 10_000)
    assert scene.heartbeat(old, 2) is ErrorCode.NONE
    alive(scene, 10_000)
    assert members(scene) == {"new"}


def test_a_member_that_asked_for_its_partitions_only_has_its_session(scene: Scene) -> None:
    old = scene.stable_classic()
    scene.beat(0)
    join(scene, old)
    assert scene.sync(old, 2).error_code is ErrorCode.NONE
    for _ in range(5):
        alive(scene, REBALANCE_MS)
        assert scene.heartbeat(old, 2) is ErrorCode.NONE
    alive(scene, SESSION_MS - 10_000)
    assert members(scene) == {old, "new"}
    alive(scene, 10_000)
    assert members(scene) == {"new"}


def test_members_whose_sessions_end_together(scene: Scene) -> None:
    old = scene.stable_classic()
    scene.beat(0)
    scene.after(2 * SESSION_MS)
    assert not members(scene)
    assert scene.heartbeat(old, 1) is ErrorCode.UNKNOWN_MEMBER_ID
