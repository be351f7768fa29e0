"""Consumer groups whose members speak both protocols, raw: what each of them is answered (KIP-848)."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from kafka_groups.protocol.messages.leave_group import LeaveGroupRequestMember
from tests.conformance.test_consumer_groups import A, B, C, Group, at_once, new_group, told
from tests.conformance.test_group_migration import NO_PARTITIONS, assigned, classic, stable_classic
from tests.support.conditions import until
from tests.support.members.classic_member import MEMBER_ID_REQUIRED, NONE, ClassicMember, subscription
from tests.support.members.consumer_member import described
from tests.support.targets import Target, everywhere_with

REBALANCING, ILLEGAL, UNKNOWN = "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"
INCONSISTENT, NOT_FOUND, FENCED = "INCONSISTENT_GROUP_PROTOCOL", "GROUP_ID_NOT_FOUND", "FENCED_INSTANCE_ID"
FULL = "GROUP_MAX_SIZE_REACHED"
NO_BYTES, NO_GENERATION = b"\xff\xff\xff\xff", b"\xff\xff\xff\xff"
MALFORMED = "the embedded consumer protocol is malformed"


def said(topic: str, version: int, *fields: bytes) -> bytes:
    """A subscription in a later version."""
    return version.to_bytes(2, "big") + subscription(topic)[2:] + b"".join(fields)


def owned(topic: str, *numbers: int) -> bytes:
    """Partitions as a later version of a subscription has them."""
    name = topic.encode()
    written = b"".join(number.to_bytes(4, "big") for number in numbers)
    return b"\x00\x00\x00\x01" + len(name).to_bytes(2, "big") + name + len(numbers).to_bytes(4, "big") + written


def cooperative(group: Group, *numbers: int) -> tuple[tuple[str, bytes], ...]:
    """The protocols of a member that gives up only what it must."""
    return (("cooperative-sticky", said(group.topic.name, 2, owned(group.topic.name, *numbers), NO_GENERATION)),)


async def ask(member: ClassicMember, **fields: Any) -> tuple[str, int]:
    """The error and the generation of a JoinGroup."""
    response = await member.ask_to_join(**fields)
    return response.error_code.name, response.generation_id


async def member_types(group: Group) -> dict[str, int]:
    """By member, which protocol it speaks: 0 is the classic one."""
    shown = await described(group.target.client(), group.group_id)
    return {each.member_id: each.member_type for each in shown.members}


async def two_classic(group: Group, *instances: str | None, **keywords: Any) -> list[ClassicMember]:
    """A stable classic group of two members, which have two partitions each; the leader comes first."""
    members = [classic(group, instance, **keywords) for instance in instances or (None, None)]
    await members[0].join()
    joining = asyncio.create_task(members[1].join())
    await until(members[0].heartbeat, lambda it: it == REBALANCING)
    await asyncio.gather(members[0].join(), joining)
    leader, follower = sorted(members, key=lambda it: not it.leads)
    given = {leader.member_id: assigned(group, 0, 1), follower.member_id: assigned(group, 2, 3)}
    assert await leader.sync(given) == (NONE, assigned(group, 0, 1))
    assert await follower.sync() == (NONE, assigned(group, 2, 3))
    return [leader, follower]


# ------------------------------------------------------------------------------------- to a consumer group


SUBSCRIPTIONS: Mapping[str, bytes] = {
    "nothing": b"",
    "garbage": b"x",
    "without user data": subscription("t")[:-4],
    "negative version": b"\xff\xff" + subscription("t")[2:],
    "ends before the owned partitions": said("t", 1),
}


@at_once
@pytest.mark.parametrize("metadata", SUBSCRIPTIONS.values(), ids=SUBSCRIPTIONS)
async def test_members_whose_subscription_cannot_be_read(target: Target, metadata: bytes) -> None:
    group = await new_group(target)
    member = await stable_classic(group, protocols=(("range", metadata),))
    refused = await group.member(A).join(group.topic.name)
    assert (refused.error, refused.message) == (
        NOT_FOUND, f"Cannot upgrade classic group {group.group_id} to consumer group because {MALFORMED}.",
    )  # fmt: skip
    assert await member.heartbeat() == NONE
    consumers = await new_group(target)
    await consumers.joined(A)
    assert await ask(classic(consumers, "i", protocols=(("range", metadata),))) == (INCONSISTENT, -1)
    assert (await classic(consumers, protocols=(("range", metadata),)).ask_to_join()).error_code.name == (
        MEMBER_ID_REQUIRED
    ), "its id comes first"


@at_once
async def test_members_whose_assignment_cannot_be_read(target: Target) -> None:
    for data in (b"x", b"\xff" * 8, assigned(await new_group(target), 0)[:-4]):
        group = await new_group(target)
        member = await stable_classic(group, assignment=data)
        refused = await group.member(A).join(group.topic.name)
        assert (refused.error, str(refused.message).endswith(f"{MALFORMED}.")) == (NOT_FOUND, True)
        assert await member.heartbeat() == NONE


@at_once
async def test_members_without_partitions_and_with_those_of_a_topic_that_does_not_exist(target: Target) -> None:
    elsewhere = b"\x00\x00" + owned("nowhere", 0) + NO_BYTES
    for data in (b"", NO_PARTITIONS, elsewhere):
        group = await new_group(target)
        member = await stable_classic(group, assignment=data)
        joined = await group.member(A).join(group.topic.name)
        assert (joined.error, joined.epoch, len((joined.assignment or {})[group.topic.name])) == (NONE, 2, 2)
        assert (await group.assignments())[member.member_id][:2] == (1, {})
        assert await member.heartbeat() == REBALANCING


@at_once
async def test_the_protocol_counts_that_the_members_have_chosen(target: Target) -> None:
    group = await new_group(target)
    first, other = ("mine", subscription(group.other.name)), ("range", subscription(group.topic.name))
    members = [classic(group, "i", protocols=(first, other)), classic(group, "j", protocols=(other,))]
    await members[0].join()
    joining = asyncio.create_task(members[1].join())
    await until(members[0].heartbeat, lambda it: it == REBALANCING)
    await asyncio.gather(members[0].join(), joining)
    await next(each for each in members if each.leads).sync({})
    assert (await group.member(A).join(group.topic.name)).error == NONE
    shown = await described(target.client(), group.group_id)
    assert {each.subscribed_topic_names for each in shown.members} == {(group.topic.name,)}
    joined = await members[0].ask_to_join()
    assert joined.protocol_name == "mine", "afterwards, the one that the member likes best"
    shown = await described(target.client(), group.group_id)
    names = {each.member_id: each.subscribed_topic_names for each in shown.members}
    assert names[members[0].member_id] == (group.other.name,)


@at_once
async def test_the_rack_of_a_classic_member(target: Target) -> None:
    group = await new_group(target)
    await group.joined(A)
    racked = said(group.topic.name, 3, b"\x00\x00\x00\x00", NO_GENERATION, b"\x00\x01r")
    member = classic(group, "i", protocols=(("range", racked),))
    assert await ask(member) == (NONE, 3)
    shown = await described(target.client(), group.group_id)
    assert {each.member_id: each.rack_id for each in shown.members} == {A: None, member.member_id: "r"}
    assert await member.sync() == (NONE, b"\x00\x03" + NO_PARTITIONS[2:]), "in the version of the subscription"


@at_once
async def test_requests_that_wait_are_told_to_join_again(target: Target) -> None:
    group = await new_group(target)
    old = await stable_classic(group)
    joining = asyncio.create_task(classic(group, "new").ask_to_join())
    await until(old.heartbeat, lambda it: it == REBALANCING)
    assert told(await group.member(A).join(group.topic.name)) == (NONE, 2, {})
    assert (await joining).error_code.name == REBALANCING
    has = {member_id: (epoch, numbers) for member_id, (epoch, numbers, _) in (await group.assignments()).items()}
    assert has.pop(A) == (2, {})
    assert has.pop(old.member_id) == (1, group.of(0, 1, 2, 3))
    assert list(has.values()) == [(1, {})]

    group = await new_group(target)
    [leader, follower] = await two_classic(group)
    other = (("range", subscription(group.topic.name, "more")),)
    joining = asyncio.create_task(leader.ask_to_join(protocols=other))
    await until(follower.heartbeat, lambda it: it == REBALANCING)
    await follower.ask_to_join()
    await joining
    syncing = asyncio.create_task(follower.sync())
    await until(leader.heartbeat, lambda it: it == NONE)
    assert told(await group.member(A).join(group.topic.name)) == (NONE, 4, {})
    assert await syncing == (REBALANCING, b"")
    assert await leader.heartbeat() == REBALANCING
    assert (await group.assignments())[follower.member_id][:2] == (3, group.of(2, 3))


@at_once
async def test_a_group_that_is_too_large(target: Target) -> None:
    for number, error in ((3, FULL), (4, NOT_FOUND)):
        group = await new_group(target)
        members = [classic(group, f"i{each}") for each in range(number)]
        await rebalanced(members)
        refused = await group.member(A).join(group.topic.name)
        assert refused.error == error
        assert await group.listed() == [("consumer", "Stable", "classic")]
        back = await group.member(A, "i0").join(group.topic.name)
        assert back.error == (NONE if number == 3 else NOT_FOUND), "it takes the place of a member"


async def rebalanced(members: list[ClassicMember]) -> None:
    """Let members join until all of them are in one generation, and sync."""
    tasks = {each: asyncio.create_task(each.join()) for each in members}

    async def together() -> bool:
        for each in members:
            if tasks[each].done() and await each.heartbeat() == REBALANCING:
                tasks[each] = asyncio.create_task(each.join())
        return all(task.done() for task in tasks.values()) and len({each.generation for each in members}) == 1

    await until(together, bool)
    for each in sorted(members, key=lambda it: not it.leads):
        assert (await each.sync({}))[0] == NONE


# ------------------------------------------------------------------------------------------ members of it


@at_once
async def test_a_member_that_gives_up_only_what_it_must(target: Target) -> None:
    group = await new_group(target)
    old = classic(group, protocols=cooperative(group))
    await old.join()
    await old.sync({old.member_id: assigned(group, 0, 1, 2, 3)})
    new = group.member(A)
    assert told(await new.join(group.topic.name)) == (NONE, 2, {})
    for _ in range(2):
        assert await ask(old, protocols=cooperative(group, 0, 1, 2, 3)) == (NONE, 1)
        assert await old.heartbeat() == REBALANCING
        assert await old.sync() == (NONE, b"\x00\x02" + assigned(group, 0, 1)[2:])
        assert await old.heartbeat() == REBALANCING, "it has to say that it owns less"
        assert told(await new.beat()) == (NONE, 2, None)
    assert await ask(old, protocols=cooperative(group, 0, 1)) == (NONE, 2)
    assert await old.heartbeat() == NONE
    assert told(await new.beat()) == (NONE, 2, group.of(2, 3))
    assert await group.state() == ("Stable", 2, 2)


@at_once
async def test_a_newer_group_epoch_alone_does_not_make_members_join_again(target: Target) -> None:
    group = await new_group(target)
    [one, two] = await two_classic(group)
    new = group.member(A)
    await new.join(group.topic.name)
    for member in (one, two):
        assert await ask(member) == (NONE, 3)
        assert (await member.sync())[0] == NONE
    assert [error for _, _, error in await one.leave()] == [NONE]
    assert await group.state() == ("Assigning", 4, 3)
    assert await two.heartbeat() == NONE
    assert (await two.sync())[0] == NONE
    await new.beat()
    assert await two.heartbeat() == REBALANCING
    assert (await two.sync())[0] == REBALANCING


@at_once
async def test_protocols_of_members_that_join_again(target: Target) -> None:
    group = await new_group(target)
    await group.joined(A)
    names = subscription(group.topic.name)
    one, two = classic(group, "i"), classic(group, "j", protocols=(("other", names), ("range", names)))
    assert await ask(one) == (NONE, 3)
    assert await ask(classic(group, "k", protocols=(("other", names),))) == (INCONSISTENT, -1)
    joined = await two.ask_to_join()
    assert (joined.protocol_name, joined.generation_id) == ("other", 4)
    assert await ask(one, protocols=(("other", names),)) == (INCONSISTENT, -1), "it had no such protocol itself"
    assert await ask(one, protocols=(("other", names), ("range", names))) == (NONE, 4)
    assert one.protocol == "other"
    assert (await one.sync(generation_id=9, protocol_name="nope"))[0] == ILLEGAL
    assert (await one.sync(protocol_name="nope"))[0] == INCONSISTENT
    assert (await one.sync(protocol_type="connect"))[0] == INCONSISTENT
    assert (await one.sync(member_id="nobody", group_instance_id=None))[0] == UNKNOWN
    assert (await one.sync(member_id=A, group_instance_id=None))[0] == UNKNOWN


@at_once
async def test_which_ids_are_known(target: Target) -> None:
    group = await new_group(target)
    await group.joined(A)
    static = classic(group, "i")
    assert await ask(static) == (NONE, 3)
    for instance, error in (("i", FENCED), ("j", UNKNOWN)):
        refused = await classic(group, instance).known_as("nobody").ask_to_join()
        assert (refused.error_code.name, refused.member_id) == (error, "")
    assert await ask(classic(group).known_as(static.member_id)) == (NONE, 3), "without its instance id"
    assert await ask(classic(group).known_as("somebody")) == (NONE, 4)
    full = await classic(group).ask_to_join(protocol_type="connect")
    assert (full.error_code.name, full.member_id) == (FULL, ""), "that comes first"
    again = static.restarted(target.client())
    assert await ask(again) == (NONE, 4), "it takes its own place"
    assert await static.heartbeat() == FENCED
    assert await static.heartbeat(group_instance_id=None) == UNKNOWN


@at_once
async def test_a_consumer_heartbeat_makes_a_classic_member_a_consumer(target: Target) -> None:
    group = await new_group(target)
    old = await stable_classic(group)
    await group.joined(A)
    same = group.member(old.member_id)
    assert (await same.beat(1)).error == NONE
    assert await member_types(group) == {A: 1, old.member_id: 1}
    assert await old.heartbeat() == UNKNOWN
    assert await ask(classic(group).known_as(A)) == (NONE, 2)
    assert await member_types(group) == {A: 0, old.member_id: 1}, "and the other way round"


@at_once
async def test_offsets_of_a_classic_member(target: Target) -> None:
    group = await new_group(target)
    old = await stable_classic(group)
    await group.joined(A)
    same = group.member(old.member_id)

    async def committed(*epochs: int, version: int) -> list[str]:
        results = [
            await same.commit(group.topic, version=version, generation_id_or_member_epoch=each) for each in epochs
        ]
        return [error for [error] in results]

    for version in (2, 8, 9):
        assert await committed(-1, 0, 1, 2, version=version) == [ILLEGAL, ILLEGAL, NONE, ILLEGAL]
    assert await ask(old) == (NONE, 2)
    for version in (2, 8, 9):
        assert await committed(0, 1, 2, 3, version=version) == [ILLEGAL, NONE, NONE, ILLEGAL]
    answers = [await same.fetch_offset(group.topic, member_epoch=each) for each in (-1, 1, 2, 3)]
    assert answers == [(ILLEGAL, []), (ILLEGAL, []), (NONE, [5]), (ILLEGAL, [])]


# ---------------------------------------------------------------------------------------- static members


@at_once
async def test_a_static_member_changes_the_protocol(target: Target) -> None:
    group = await new_group(target)
    [leader, follower] = await two_classic(group, "i", "j")
    new = group.member(A, follower.instance)
    assert told(await new.join(group.topic.name)) == (NONE, 2, group.of(2, 3))
    assert await group.state() == ("Stable", 2, 2), "nothing moves"
    assert await leader.heartbeat() == NONE
    assert await follower.heartbeat() == FENCED
    assert (await follower.sync())[0] == FENCED
    assert await follower.commit(group.topic, 1) == UNKNOWN
    assert [error for _, _, error in await follower.leave()] == [FENCED]
    assert await ask(follower) == (FENCED, -1)
    assert await member_types(group) == {A: 1, leader.member_id: 0}


@at_once
async def test_a_static_member_changes_the_protocol_in_a_mixed_group(target: Target) -> None:
    group = await new_group(target)
    other = await group.joined(A)
    old = classic(group, "i")
    assert await ask(old) == (NONE, 3)
    assert told(await other.beat()) == (NONE, 2, group.of(0, 1))
    assert told(await other.beat(owned=group.of(0, 1))) == (NONE, 3, None)
    assert await ask(old) == (NONE, 3)
    new = group.member(B, "i")
    assert told(await new.join(group.topic.name)) == (NONE, 3, group.of(2, 3))
    assert (await group.member(C, "i").join(group.topic.name)).error == "UNRELEASED_INSTANCE_ID"
    again = classic(group, "i")
    assert await ask(again) == (NONE, 3), "a classic member need not wait until the other one has left"
    assert await again.sync() == (NONE, assigned(group, 2, 3))
    assert (await new.beat()).error == FENCED
    assert await group.state() == ("Stable", 3, 3)
    assert await member_types(group) == {A: 1, again.member_id: 0}
    moved = classic(group, "i", protocols=(("range", subscription(group.other.name)),))
    assert await ask(moved) == (NONE, 4), "with other topics"
    assert await again.leave(LeaveGroupRequestMember(member_id="", group_instance_id="i")) == [("", "i", NONE)]
    assert (await group.state())[:2] == ("Assigning", 5)


@at_once
@pytest.mark.parametrize("is_away", [False, True])
async def test_a_classic_member_takes_the_place_of_the_last_consumer(target: Target, is_away: bool) -> None:
    group = await new_group(target)
    [leader, follower] = await two_classic(group, "i", "j")
    new = group.member(A, follower.instance)
    await new.join(group.topic.name)
    if is_away:
        await new.leave_for_a_while()
    again = classic(group, follower.instance)
    joined = await again.ask_to_join()
    assert (joined.error_code.name, joined.generation_id, joined.leader, joined.members) == (NONE, 2, "", ())
    assert await group.listed() == [("consumer", "Stable", "classic")], "without a rebalance"
    assert await again.sync() == (NONE, assigned(group, 2, 3))
    assert await again.heartbeat() == NONE
    assert await leader.heartbeat() == NONE
    assert (await new.beat()).error == NOT_FOUND
    assert await leader.commit(group.topic, 1) == NONE


# ------------------------------------------------------------------------------------- to a classic group


@at_once
async def test_an_administrator_removes_the_last_consumer(target: Target) -> None:
    group = await new_group(target)
    [leader, follower] = await two_classic(group)
    await group.joined(A)
    assert await group.leave((A, None)) == [NONE]
    assert await group.listed() == [("consumer", "PreparingRebalance", "classic")]
    for member in (leader, follower):
        assert await member.heartbeat() == ILLEGAL, "they did not join the last generation"
        assert (await member.sync())[0] == ILLEGAL
    assert await leader.heartbeat(generation_id=3) == REBALANCING
    await asyncio.gather(leader.join(), follower.join())
    assert (leader.generation, follower.generation) == (4, 4)


@at_once
async def test_a_group_stays_as_long_as_a_static_consumer_is_only_away(target: Target) -> None:
    group = await new_group(target)
    old = await stable_classic(group)
    new = group.member(A, "i")
    await new.join(group.topic.name)
    assert (await new.leave_for_a_while()).error == NONE
    assert [each[2] for each in await group.listed()] == ["consumer"]
    assert (await new.leave()).error == NONE
    assert await group.listed() == [("consumer", "PreparingRebalance", "classic")]
    assert await old.heartbeat(generation_id=2) == REBALANCING


@at_once
async def test_all_members_leave_at_once(target: Target) -> None:
    group = await new_group(target)
    old = await stable_classic(group)
    await group.joined(A)
    assert await group.leave((A, None), (old.member_id, None)) == [NONE, NONE]
    assert await group.state() == ("Empty", 3, 3)


SHORT_SESSIONS: Mapping[str, str] = {
    "group.consumer.assignment.interval.ms": "0",
    "group.min.session.timeout.ms": "100",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
}


@everywhere_with(SHORT_SESSIONS)
async def test_the_session_of_the_last_consumer_ends(target: Target) -> None:
    group = await new_group(target)
    old = await stable_classic(group)
    await group.joined(A)
    await until(group.listed, lambda it: it == [("consumer", "PreparingRebalance", "classic")])
    assert await old.heartbeat(generation_id=2) == REBALANCING


@everywhere_with(SHORT_SESSIONS)
async def test_a_classic_member_has_its_own_session(target: Target) -> None:
    group = await new_group(target)
    new = await group.joined(A)
    silent, lasting = classic(group, "i"), classic(group, "j")
    assert await ask(silent, session_timeout_ms=300) == (NONE, 3)
    assert await ask(lasting, session_timeout_ms=60_000) == (NONE, 4)

    async def members() -> set[str]:
        await new.beat()
        return set(await group.assignments())

    assert await until(members, lambda it: silent.member_id not in it) == {A, lasting.member_id}
    assert await silent.heartbeat() == UNKNOWN
    assert await silent.heartbeat(group_instance_id=None) == UNKNOWN
    late = classic(group, "k")
    assert (await ask(late, rebalance_timeout_ms=300))[0] == NONE, "it will not ask for its partitions"
    await until(late.heartbeat, lambda it: it == UNKNOWN)
    assert A in await members()


# ------------------------------------------------------------------------------------------------ policies


@pytest.mark.slow
@everywhere_with({"group.consumer.assignment.interval.ms": "0", "group.consumer.migration.policy": "upgrade"})
async def test_a_group_that_does_not_become_a_classic_one(target: Target) -> None:
    group = await new_group(target)
    old = await stable_classic(group)
    new = group.member(A)
    assert told(await new.join(group.topic.name)) == (NONE, 2, {})
    assert (await new.leave()).error == NONE
    assert await group.state() == ("Assigning", 3, 2)
    assert await old.heartbeat() == REBALANCING
    assert await ask(old) == (NONE, 3)
    assert await old.sync() == (NONE, assigned(group, 0, 1, 2, 3))
    static = group.member(B, "i")
    await static.join(group.topic.name)
    assert await ask(classic(group, "i")) == (NONE, 4)
    assert set((await member_types(group)).values()) == {0}


@pytest.mark.slow
@everywhere_with({"group.consumer.assignment.interval.ms": "0", "group.consumer.migration.policy": "downgrade"})
async def test_a_group_that_does_not_become_a_consumer_group(target: Target) -> None:
    group = await new_group(target)
    await stable_classic(group)
    refused = await group.member(A).join(group.topic.name)
    assert (refused.error, str(refused.message).endswith("because online upgrade is disabled.")) == (NOT_FOUND, True)
    consumers = await new_group(target)
    new = await consumers.joined(A)
    assert await ask(classic(consumers, "i")) == (NONE, 3)
    assert (await new.leave()).error == NONE
    assert await consumers.listed() == [("consumer", "PreparingRebalance", "classic")]
