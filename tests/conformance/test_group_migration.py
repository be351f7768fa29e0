"""Groups that change their type, raw: empty ones, and those with members (KIP-848)."""

from typing import Any

import pytest

from kafka_groups.protocol.messages.describe_groups import DescribeGroupsRequest
from tests.conformance.test_consumer_groups import A, B, Group, at_once, new_group, told
from tests.support.conditions import until
from tests.support.members.classic_member import NONE, ClassicMember, subscription
from tests.support.members.consumer_member import described
from tests.support.targets import Target, everywhere_with

REBALANCING, ILLEGAL, UNKNOWN = "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"
INCONSISTENT, NOT_FOUND = "INCONSISTENT_GROUP_PROTOCOL", "GROUP_ID_NOT_FOUND"
NOT_OF_CONSUMERS = "the group does not use the consumer embedded protocol"
NO_PARTITIONS = b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"


def classic(group: Group, instance: str | None = None, **keywords: Any) -> ClassicMember:
    """A member that joins by JoinGroup, and subscribes to the first topic."""
    protocols = (("range", subscription(group.topic.name)),)
    return ClassicMember(group.target.client(), group.group_id, instance, **({"protocols": protocols} | keywords))


def assigned(group: Group, *numbers: int) -> bytes:
    """An assignment of partitions of the first topic."""
    name = group.topic.name.encode()
    written = b"".join(number.to_bytes(4, "big") for number in numbers)
    return (
        b"\x00\x00\x00\x00\x00\x01"
        + len(name).to_bytes(2, "big") + name
        + len(numbers).to_bytes(4, "big") + written
        + b"\xff\xff\xff\xff"
    )  # fmt: skip


async def stable_classic(group: Group, assignment: bytes | None = None, **keywords: Any) -> ClassicMember:
    """A classic group with one member, which has all partitions unless told otherwise."""
    member = classic(group, **keywords)
    await member.join()
    if assignment is None:
        assignment = assigned(group, 0, 1, 2, 3)
    assert await member.sync({member.member_id: assignment}) == (NONE, assignment)
    return member


async def state_by_describe_groups(group: Group) -> str:
    [shown] = (await group.target.client().ask(DescribeGroupsRequest(groups=(group.group_id,)))).groups
    return str(shown.group_state)


@at_once
async def test_an_empty_classic_group_becomes_a_consumer_group_and_back(target: Target) -> None:
    group = await new_group(target)
    one = group.member(A)
    outside: dict[str, Any] = {"member_id": "", "generation_id_or_member_epoch": -1}
    assert await one.commit(group.topic, **outside) == [NONE]
    assert await group.listed() == [("", "Empty", "classic")]
    assert told(await one.join(group.topic.name)) == (NONE, 2, group.of(0, 1, 2, 3))
    assert await group.listed() == [("consumer", "Stable", "consumer")]
    assert await one.fetch_offset(group.topic) == (NONE, [5])
    await one.leave()
    member = classic(group)
    first = await member.ask_to_join()
    assert first.error_code.name == "MEMBER_ID_REQUIRED"
    assert first.member_id.startswith("conformance-")
    # A real Kafka answers before it has written that the consumer group is gone.
    await until(group.listed, lambda shown: [each[2] for each in shown] == ["classic"])
    response = await member.known_as(first.member_id).ask_to_join()
    assert (response.error_code.name, response.generation_id) == (NONE, 1)
    assert (await described(target.client(), group.group_id)).error_code.name == NOT_FOUND
    assert await one.fetch_offset(group.topic, member_id=None, member_epoch=-1) == (NONE, [5])


@at_once
async def test_a_classic_group_with_members_becomes_a_consumer_group_and_back(target: Target) -> None:
    group = await new_group(target)
    old = await stable_classic(group)
    new = group.member(A)
    assert told(await new.join(group.topic.name)) == (NONE, 2, {})
    assert await group.state() == ("Reconciling", 2, 2)
    assert await group.assignments() == {
        A: (2, {}, group.of(2, 3)),
        old.member_id: (1, group.of(0, 1, 2, 3), group.of(0, 1)),
    }
    kinds = {each.member_id: each.member_type for each in (await described(target.client(), group.group_id)).members}
    assert kinds == {A: 1, old.member_id: 0}
    assert await old.heartbeat() == REBALANCING
    assert await old.sync() == (REBALANCING, b"")
    assert await old.commit(group.topic, 5) == NONE
    assert await old.commit(group.topic, 5, generation_id=2) == ILLEGAL
    assert told(await new.beat()) == (NONE, 2, None)
    joined = await old.join()
    assert (joined.generation_id, joined.protocol_name, joined.leader, joined.members) == (2, "range", "", ())
    assert await old.sync() == (NONE, assigned(group, 0, 1))
    assert await old.heartbeat() == NONE
    assert told(await new.beat()) == (NONE, 2, group.of(2, 3))
    assert await group.state() == ("Stable", 2, 2)
    assert await old.heartbeat(generation_id=1) == ILLEGAL
    assert await old.heartbeat(generation_id=3) == ILLEGAL
    assert await old.heartbeat(member_id="nobody") == UNKNOWN
    assert await old.heartbeat(member_id=A) == UNKNOWN, "it speaks the other protocol"

    assert (await new.leave()).error == NONE
    assert await group.listed() == [("consumer", "PreparingRebalance", "classic")]
    assert await state_by_describe_groups(group) == "PreparingRebalance"
    assert await old.heartbeat() == REBALANCING
    assert await old.heartbeat(generation_id=3) == ILLEGAL
    joined = await old.join()
    assert (joined.generation_id, joined.leader, len(joined.members)) == (3, old.member_id, 1)
    assert await old.sync({}) == (NONE, b"")
    assert await group.listed() == [("consumer", "Stable", "classic")]


@at_once
async def test_classic_members_join_a_consumer_group(target: Target) -> None:
    group = await new_group(target)
    new = await group.joined(A)
    old = classic(group)
    first = await old.ask_to_join()
    assert (first.error_code.name, len(first.member_id)) == ("MEMBER_ID_REQUIRED", 22)
    joined = await old.known_as(first.member_id).ask_to_join()
    assert (joined.error_code.name, joined.generation_id, joined.leader) == (NONE, 3, "")
    assert await old.sync() == (NONE, NO_PARTITIONS)
    assert await old.heartbeat() == NONE
    assert told(await new.beat()) == (NONE, 2, group.of(0, 1))
    assert await old.heartbeat() == NONE, "nothing is free yet"
    assert told(await new.beat(owned=group.of(0, 1))) == (NONE, 3, None)
    assert await old.heartbeat() == REBALANCING
    assert (await old.ask_to_join()).generation_id == 3
    assert await old.sync() == (NONE, assigned(group, 2, 3))
    assert await group.state() == ("Stable", 3, 3)
    assert [error for _, _, error in await old.leave()] == [NONE]
    assert await group.state() == ("Assigning", 4, 3)
    assert told(await new.beat()) == (NONE, 4, group.of(0, 1, 2, 3))


@at_once
async def test_which_classic_members_may_join_a_consumer_group(target: Target) -> None:
    group = await new_group(target)
    await group.joined(A)
    other = classic(group)
    for fields in ({"protocol_type": "connect"}, {"protocols": ()}):
        refused = await other.ask_to_join(**fields)
        assert (refused.error_code.name, refused.member_id) == (INCONSISTENT, "")
    assert (await other.ask_to_join(session_timeout_ms=1)).error_code.name == "INVALID_SESSION_TIMEOUT"
    assert (await classic(group).known_as("nobody").ask_to_join()).generation_id == 3
    static = classic(group, "i")
    joined = await static.ask_to_join()
    assert (joined.error_code.name, joined.generation_id) == (NONE, 4)
    stranger = await static.restarted(target.client()).known_as(B).ask_to_join()
    assert stranger.error_code.name == "FENCED_INSTANCE_ID"


@pytest.mark.slow
@everywhere_with({"group.consumer.assignment.interval.ms": "0", "group.consumer.migration.policy": "disabled"})
async def test_groups_that_must_not_change(target: Target) -> None:
    group = await new_group(target)
    old = await stable_classic(group)
    refused = await group.member(A).join(group.topic.name)
    assert (refused.error, refused.message) == (
        NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because online upgrade is disabled.",
    )
    assert await old.heartbeat() == NONE
    consumers = await new_group(target)
    new = await consumers.joined(A)
    for member_id in ("", "x"):
        answer = await classic(consumers).known_as(member_id).ask_to_join()
        assert (answer.error_code.name, answer.member_id) == (INCONSISTENT, "")
    assert told(await new.beat()) == (NONE, 2, None)


@at_once
async def test_groups_that_cannot_change(target: Target) -> None:
    group = await new_group(target)
    member = classic(group)
    first = await member.ask_to_join(protocol_type="connect")
    await member.known_as(first.member_id).ask_to_join(protocol_type="connect")
    refused = await group.member(A).join(group.topic.name)
    assert (refused.error, refused.message) == (
        NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {NOT_OF_CONSUMERS}.",
    )
    await until(group.listed, lambda it: [each[2] for each in it] == ["classic"])
