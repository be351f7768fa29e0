"""Static members (KIP-345) whose session ends, and whose coordinator moves or dies: rows (j) and (m)."""

from collections.abc import Awaitable, Callable

import pytest

from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.classic_group import Group
from tests.support.members.classic_member import NONE, ClassicMember
from tests.support.requests.raw_client import RawClient
from tests.support.targets import Target, everywhere_in_own_time_with
from tests.support.three_brokers import Trio

FENCED, UNKNOWN, REBALANCING = "FENCED_INSTANCE_ID", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS"
SESSION_MS, LONG_SESSION_MS = 6_000, 60_000
End = Callable[[Trio, int], Awaitable[None]]
SHORT_SESSIONS = {"group.min.session.timeout.ms": "100"}


# --------------------------------------------------------------------------------------------------- sessions


async def group_on(target: Target) -> Group:
    group_id = unique("group")
    await target.cluster.coordinator_of(group_id)
    return Group(target.client, group_id)


@everywhere_in_own_time_with(SHORT_SESSIONS)
async def test_j_the_session_timeout_removes_member_and_instance_with_one_rebalance(target: Target) -> None:
    group = await group_on(target)
    leader, follower = await group.stable("one", "two")
    generation = leader.generation
    # Restarted with a shorter session, it has nothing to do before that ends, so a slow machine makes no difference. On
    # a real Kafka the shorter one begins with a heartbeat.
    again = follower.restarted(target.client())
    await again.join(session_timeout_ms=SESSION_MS)
    assert await again.sync() == (NONE, follower.member_id.encode())
    assert await again.heartbeat() == NONE

    await target.pass_time(SESSION_MS)
    assert await until(leader.heartbeat, lambda error: error != NONE) == REBALANCING
    await leader.join(session_timeout_ms=LONG_SESSION_MS)
    await group.synced(leader)
    assert leader.generation == generation + 1
    assert [each.group_instance_id for each in (await group.described()).members] == ["one"]
    assert await again.heartbeat() == UNKNOWN, "the instance is not known any more, so it is not fenced"
    assert await leader.heartbeat() == NONE


@everywhere_in_own_time_with(SHORT_SESSIONS)
async def test_j_nothing_moves_if_a_member_is_away_for_less(target: Target) -> None:
    group = await group_on(target)
    leader, follower = await group.stable("one", "two")
    again = follower
    # Restarted again and again, it is away for less than a session each time, and for several sessions in all.
    for _ in range(6):
        again = again.restarted(target.client())
        assert (await again.join(session_timeout_ms=SESSION_MS)).generation_id == leader.generation
        assert await again.sync() == (NONE, follower.member_id.encode())
        assert await leader.heartbeat() == NONE
        await target.pass_time(SESSION_MS // 3)
    assert await again.heartbeat() == NONE


# ---------------------------------------------------------------------------------------- moves of coordinators


async def coordinator(trio: Trio, group_id: str) -> RawClient:
    """A connection to the group's coordinator, once it has loaded the group."""
    host, port = await trio.client().coordinator_address(group_id)
    return trio.connection(host, port)


async def stable_pair(trio: Trio) -> tuple[ClassicMember, ClassicMember]:
    group_id = unique("group")
    address = await trio.client().coordinator_address(group_id)
    group = Group(lambda: trio.connection(*address), group_id)
    await until(
        lambda: group.described(5), lambda it: it.error_code.name == NONE
    )  # a real Kafka needs a moment to load it
    leader, follower = await group.stable("one", "two")
    return leader, follower


@pytest.mark.parametrize("end", [Trio.stop, Trio.kill])
async def test_m_without_its_coordinator_the_group_goes_on_and_a_restart_moves_nothing(trio: Trio, end: End) -> None:
    leader, follower = await stable_pair(trio)
    generation, assignment = leader.generation, follower.member_id.encode()
    before = await trio.coordinator_of(leader.group_id)
    await end(trio, before)
    await until(lambda: trio.coordinator_of(leader.group_id), lambda node_id: node_id != before)

    leader.client = await coordinator(trio, leader.group_id)
    await until(leader.heartbeat, lambda error: error == NONE)
    again = follower.restarted(await coordinator(trio, leader.group_id))
    response = await until(again.ask_to_join, lambda it: it.error_code.name == NONE)
    assert (response.generation_id, response.leader) == (generation, leader.member_id)
    assert await again.sync() == (NONE, assignment)
    follower.client = await coordinator(trio, leader.group_id)
    assert await follower.heartbeat() == FENCED
    assert await leader.heartbeat() == NONE

    leading = leader.restarted(await coordinator(trio, leader.group_id))
    response = await leading.ask_to_join()
    assert (response.generation_id, response.skip_assignment) == (generation, True)
    assert {each.member_id for each in response.members} == {leading.member_id, again.member_id}
    assert await again.heartbeat() == NONE


@pytest.mark.parametrize("version", [6, 7, 9])
async def test_another_broker_names_no_protocol(trio: Trio, version: int) -> None:
    group_id = unique("group")
    known = await trio.coordinator_of(group_id)
    other = next(address for node_id, address in trio.brokers.addresses.items() if node_id != known)
    response = await ClassicMember(trio.connection(*other), group_id, "one").ask_to_join(version)
    assert (response.error_code.name, response.member_id) == ("NOT_COORDINATOR", "")
    assert response.protocol_name == ("" if version < 7 else None)
