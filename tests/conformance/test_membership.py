"""Scenarios 24 to 28, 32, 33: members of a group, heartbeat by heartbeat."""

from typing import Any

import pytest

from kafka_groups.protocol.error_codes import ErrorCode
from tests.support.conditions import until
from tests.support.members.consuming import values
from tests.support.members.raw_member import AT_ONCE, Limits, Run, accept, assigned
from tests.support.targets import Target, everywhere, everywhere_and_in_a_container, everywhere_with

TWO_MEMBERS = {"group.share.max.size": "2", "group.share.max.share.sessions": "2"}
SHORT_SESSIONS = {"share.session.timeout.ms": "1000"}


@everywhere
async def test_24_a_silent_member_is_removed_but_its_session_lives_on(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs=SHORT_SESSIONS)
    await target.cluster.produce(topic, values(4))
    silent = await target.joined(group_id, topic)
    other = target.member(group_id, topic)
    await silent.fetch_until_acquired()

    await until(lambda: target.cluster.describe_group(group_id), lambda it: not it.members)
    # Removed it is, and yet its locks hold, and its fetches and acknowledgements work: sessions do not ask the group.
    assert (await other.fetch(AT_ONCE)).count == 0
    await silent.settle(accept(0))
    assert (await silent.fetch(AT_ONCE)).count == 0
    await silent.close_session()
    assert (await other.fetch_until_acquired()).runs == (Run(1, 3, 2),)

    expelled = await silent.heartbeat()
    back = await silent.join()
    described = await target.cluster.describe_group(group_id)

    assert expelled.error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert back.error_code is ErrorCode.NONE
    assert [member.member_id for member in described.members] == [silent.member_id]


@everywhere
async def test_24_a_consumer_that_was_removed_rejoins_under_its_id(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)

    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        await consumer.poll(timeout=0.2)
        [member] = (await target.cluster.describe_group(group_id)).members
        expeller = target.member(group_id, topic, member.member_id)
        await expeller.leave()
        back = await until(lambda: target.cluster.describe_group(group_id), lambda it: bool(it.members))
        await target.cluster.produce(topic, values(3))
        records = await consumer.poll(timeout=15)

    assert [again.member_id for again in back.members] == [member.member_id]
    assert [record.value for record in records] == values(3)


@everywhere
async def test_25_the_previous_epoch_is_accepted_once_more(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    group_id = await target.group_of(topic, (0, 1))
    member = await target.joined(group_id, topic, (0, 1))
    before = member.epoch
    await target.member(group_id, topic).join()

    lost = await member.heartbeat(before)
    again = await member.heartbeat(before)
    await target.member(group_id, topic).join()
    newer = await member.heartbeat()
    too_old = await member.heartbeat(before)
    ahead = await member.heartbeat(newer.member_epoch + 1)

    assert lost.error_code is ErrorCode.NONE
    assert lost.member_epoch > before
    assert again.error_code is ErrorCode.NONE
    assert again.member_epoch == lost.member_epoch
    assert newer.member_epoch > lost.member_epoch
    assert too_old.error_code is ErrorCode.FENCED_MEMBER_EPOCH
    assert ahead.error_code is ErrorCode.FENCED_MEMBER_EPOCH


@everywhere
async def test_26_the_group_epoch_grows_with_every_change(target: Target) -> None:
    topic = await target.cluster.create_topic()
    another = await target.cluster.create_topic()
    group_id = await target.group_of(topic)

    async def epoch() -> int:
        return (await target.cluster.describe_group(group_id)).group_epoch

    epochs = [await epoch()]
    one = await target.joined(group_id, topic)
    epochs.append(await epoch())
    two = await target.joined(group_id, topic)
    epochs.append(await epoch())
    await one.heartbeat()
    unchanged = [await epoch(), (await one.heartbeat(topics=[topic.name])).member_epoch]
    await one.heartbeat(topics=[topic.name, another.name])
    epochs.append(await epoch())
    await two.leave()
    epochs.append(await epoch())
    await target.cluster.add_partitions(topic, 2)
    grown = await until(one.heartbeat, lambda it: it.member_epoch > epochs[-1])
    epochs.append(grown.member_epoch)

    assert epochs == sorted(set(epochs))
    assert set(unchanged) == {epochs[2]}


@everywhere_and_in_a_container
async def test_27_more_members_than_partitions_share_them(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce_each(topic, values(9))

    members = [await target.joined(group_id, topic) for _ in range(3)]
    shares = [await member.fetch_until_acquired(Limits(max_records=3, batch_size=3)) for member in members]

    described = await target.cluster.describe_group(group_id)
    assert {part.partitions for member in described.members for part in member.assignment.topic_partitions} == {(0,)}
    assert len(described.members) == 3
    assert [share.runs for share in shares] == [(Run(0, 2, 1),), (Run(3, 5, 1),), (Run(6, 8, 1),)]


@everywhere
async def test_28_the_first_assignment_is_empty_until_the_partitions_are_initialised(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    group_id = await target.new_group()
    member = target.member(group_id, topic)

    first = await member.join()
    then = await until(member.heartbeat, lambda it: it.assignment is not None)
    unchanged = await member.heartbeat()
    asked_for = await member.heartbeat(topics=[topic.name])

    assert assigned(first, topic) == frozenset()
    assert assigned(then, topic) == frozenset({0, 1})
    assert then.member_epoch > first.member_epoch
    assert unchanged.assignment is None
    assert assigned(asked_for, topic) == frozenset({0, 1})


@everywhere
@pytest.mark.parametrize("length", [0, 37])
async def test_32_member_ids_have_1_to_36_characters(target: Target, length: int) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    member = target.member(group_id, topic)
    member.member_id = "x" * length

    answers: list[Any] = [
        await member.join(),
        await member.share_fetch(AT_ONCE, epoch=0, partitions=[0]),
        await member.share_acknowledge(epoch=1),
    ]
    member.member_id = "x" * 36
    accepted: list[Any] = [await member.join(), await member.share_fetch(AT_ONCE, epoch=0, partitions=[0])]

    assert [answer.error_code for answer in answers] == [ErrorCode.INVALID_REQUEST] * 3
    assert [answer.error_code for answer in accepted] == [ErrorCode.NONE] * 2


@everywhere
async def test_32_a_heartbeat_must_make_sense(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.new_group()
    member = target.member(group_id, topic)

    answers = {
        "epoch without a group": await member.heartbeat(1),
        "leave without a group": await member.heartbeat(-1),
        "joining without topics": await member.heartbeat(0),
        "joining with no topic": await member.heartbeat(0, []),
        "epoch below -1": await member.heartbeat(-2),
        "empty rack": await member.heartbeat(0, [topic.name], rack_id=""),
        "empty group": await target.member("", topic).join(),
    }
    await member.join()
    stranger = target.member(group_id, topic)
    answers |= {"not a member": await stranger.heartbeat(1), "not a member, leaving": await stranger.heartbeat(-1)}

    assert {what: answer.error_code.name for what, answer in answers.items()} == {
        "epoch without a group": "GROUP_ID_NOT_FOUND",
        "leave without a group": "GROUP_ID_NOT_FOUND",
        "joining without topics": "INVALID_REQUEST",
        "joining with no topic": "INVALID_REQUEST",
        "epoch below -1": "INVALID_REQUEST",
        "empty rack": "INVALID_REQUEST",
        "empty group": "INVALID_REQUEST",
        "not a member": "UNKNOWN_MEMBER_ID",
        "not a member, leaving": "UNKNOWN_MEMBER_ID",
    }


@everywhere_with(TWO_MEMBERS)
async def test_33_a_full_group_takes_no_more_members(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.new_group()
    one, two, three = (target.member(group_id, topic) for _ in range(3))
    for member in (one, two):
        assert (await member.join()).error_code is ErrorCode.NONE

    refused = await three.join()
    rejoined = await one.join()
    await two.leave()
    accepted = await three.join()

    assert refused.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert rejoined.error_code is ErrorCode.NONE
    assert accepted.error_code is ErrorCode.NONE
