"""Scenarios 20 to 23: share sessions, epoch by epoch."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from tests.support.conditions import until
from tests.support.members.consuming import values
from tests.support.members.raw_member import AT_ONCE, CLOSE, NOTHING, Acquired, Limits, RawMember, Run, accept, fetched
from tests.support.targets import EMBEDDED_MEMORY, EMBEDDED_TCP, Target, everywhere, everywhere_with

TWO_SESSIONS = {"group.share.max.size": "2", "group.share.max.share.sessions": "2"}


@everywhere
async def test_20_epochs_count_the_requests_of_a_session(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    member = target.member(group_id, topic)

    codes: dict[str, Any] = {
        "0 opens": await member.share_fetch(AT_ONCE, epoch=0, partitions=[0]),
        "1": await member.share_fetch(AT_ONCE, epoch=1),
        "2 of an acknowledgement": await member.share_acknowledge(epoch=2),
        "2 again": await member.share_fetch(AT_ONCE, epoch=2),
        "2 again, acknowledgement": await member.share_acknowledge(epoch=2),
        "ahead": await member.share_fetch(AT_ONCE, epoch=4),
        "3, after the wrong ones": await member.share_fetch(AT_ONCE, epoch=3),
        "-1 closes": await member.share_fetch(AT_ONCE, epoch=CLOSE),
        "4 of a closed session": await member.share_fetch(AT_ONCE, epoch=4),
        "acknowledgement of a closed session": await member.share_acknowledge(epoch=4),
        "-1 of a closed session": await member.share_fetch(AT_ONCE, epoch=CLOSE),
        "-1 of a closed session, acknowledgement": await member.share_acknowledge(epoch=CLOSE),
    }

    assert {what: response.error_code.name for what, response in codes.items()} == {
        "0 opens": "NONE",
        "1": "NONE",
        "2 of an acknowledgement": "NONE",
        "2 again": "INVALID_SHARE_SESSION_EPOCH",
        "2 again, acknowledgement": "INVALID_SHARE_SESSION_EPOCH",
        "ahead": "INVALID_SHARE_SESSION_EPOCH",
        "3, after the wrong ones": "NONE",
        "-1 closes": "NONE",
        "4 of a closed session": "SHARE_SESSION_NOT_FOUND",
        "acknowledgement of a closed session": "SHARE_SESSION_NOT_FOUND",
        "-1 of a closed session": "SHARE_SESSION_NOT_FOUND",
        "-1 of a closed session, acknowledgement": "SHARE_SESSION_NOT_FOUND",
    }


@everywhere
async def test_20_epoch_0_does_not_go_with_acknowledgements(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    member = target.member(group_id, topic)

    fetch = await member.share_fetch(AT_ONCE, epoch=0, partitions=[0], acknowledgements=[accept(0)])
    acknowledgement = await member.share_acknowledge(accept(0), epoch=0)

    assert fetch.error_code is ErrorCode.INVALID_REQUEST
    assert acknowledgement.error_code is ErrorCode.INVALID_SHARE_SESSION_EPOCH


@everywhere
async def test_20_epoch_0_replaces_a_session_and_the_member_keeps_its_records(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(3))
    member, other = target.member(group_id, topic), target.member(group_id, topic)
    await member.fetch_until_acquired()

    anew = await member.share_fetch(AT_ONCE, epoch=0, partitions=[0])
    assert anew.error_code is ErrorCode.NONE
    assert Acquired.of(anew).count == 0
    assert (await other.fetch(AT_ONCE)).count == 0
    await member.settle(accept(0, 2))

    await target.cluster.until_lag(group_id, topic, 0)


@everywhere
@pytest.mark.parametrize("by", ["share fetch", "share acknowledge", "disconnection"])
async def test_21_the_end_of_a_session_releases_its_records_and_keeps_their_counts(target: Target, by: str) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(4))
    first, second = target.member(group_id, topic), target.member(group_id, topic)
    await first.fetch_until_acquired()
    await first.settle(accept(0))
    assert (await second.fetch(AT_ONCE)).count == 0

    if by == "share fetch":
        assert (await first.share_fetch(AT_ONCE, epoch=CLOSE)).error_code is ErrorCode.NONE
    elif by == "share acknowledge":
        await first.close_session()
    else:
        await first.client.disconnect()

    # A fetch that waits on a real Kafka meanwhile gets them when its time is up, not before.
    assert (await second.fetch_until_acquired(Limits(max_wait_ms=100))).runs == (Run(1, 3, 2),)


@everywhere
@pytest.mark.parametrize("another_is_open", [True, False], ids=["another is open", "the last one"])
async def test_21_counts_after_sessions_that_broke_off(target: Target, another_is_open: bool) -> None:
    topic = await target.cluster.create_topic(2)
    group_id = await target.group_of(topic, (0, 1), {"share.delivery.count.limit": "10"})
    for partition in (0, 1):
        await target.cluster.produce(topic, [b"handed on"], partition)
    if another_is_open:
        await target.member(group_id, topic).fetch(NOTHING, partitions=(0, 1))
    # When no session with a group is left, Kafka forgets the group's share-partitions while it still writes what the
    # last one released. A fetch at this moment may load a state in which that delivery is not counted.
    is_exact = another_is_open or target.kind in (EMBEDDED_MEMORY, EMBEDDED_TCP)
    counts = {0: 0, 1: 0}

    member = target.member(group_id, topic)
    for _ in range(8):
        for partition, count in (await all_of(member, (0, 1))).items():
            assert counts[partition] + 1 - count in ({0} if is_exact else {0, 1})
            counts[partition] = count
        last, member = member, target.member(group_id, topic)
        await member.client.ask(ApiVersionsRequest())  # connects, so that its fetch follows at once
        await last.client.disconnect()


async def all_of(member: RawMember, partitions: Sequence[int]) -> dict[int, int]:
    """The delivery counts of the single records in these partitions, when the member has acquired all of them."""
    counts: dict[int, int] = {}

    async def fetch() -> int:
        acquired = await member.fetch(Limits(max_wait_ms=100), partitions=partitions)
        counts.update((run.partition, run.delivery_count) for run in acquired.runs)
        return len(counts)

    await until(fetch, lambda held: held == len(partitions))
    return counts


@everywhere
async def test_21_the_last_request_of_a_session_still_acknowledges(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(4))
    first, second = target.member(group_id, topic), target.member(group_id, topic)
    await first.fetch_until_acquired()

    response = await first.share_acknowledge(accept(0, 1), epoch=CLOSE)

    assert response.error_code is ErrorCode.NONE
    assert (await second.fetch_until_acquired()).runs == (Run(2, 3, 2),)


@everywhere_with(TWO_SESSIONS)
async def test_22_one_session_too_many_is_refused_after_the_wait(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    one, two, three = (target.member(group_id, topic) for _ in range(3))
    for member in (one, two):
        await member.fetch(AT_ONCE)
    loop = asyncio.get_running_loop()

    asked_at = loop.time()
    refused = await three.share_fetch(Limits(max_wait_ms=400), partitions=[0])
    waited_s = loop.time() - asked_at
    still_there = await one.share_fetch(AT_ONCE)
    await one.close_session()
    accepted = await three.share_fetch(AT_ONCE, partitions=[0])
    for member in (two, three):
        await member.close_session()

    assert refused.error_code is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert waited_s >= 0.4
    assert still_there.error_code is ErrorCode.NONE
    assert accepted.error_code is ErrorCode.NONE


@everywhere
async def test_23_a_partition_listed_only_to_carry_acknowledgements_is_forgotten_again(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    group_id = await target.group_of(topic, (0, 1))
    await target.cluster.produce(topic, values(3), 1)
    member, other = target.member(group_id, topic), target.member(group_id, topic)
    await member.fetch_until_acquired(partitions=(0, 1))

    forgotten = await member.share_fetch(AT_ONCE, forgotten=[1])
    await target.cluster.produce(topic, values(2), 1)
    carrying = await member.share_fetch(AT_ONCE, acknowledgements=[accept(0, 2, partition=1)], forgotten=[1])
    later = await member.fetch(AT_ONCE)
    by_another = await other.fetch_until_acquired(partitions=(1,))

    assert forgotten.error_code is ErrorCode.NONE
    assert fetched(carrying)[1].acknowledge_error_code is ErrorCode.NONE
    assert not fetched(carrying)[1].acquired_records
    assert later.count == 0
    assert by_another.runs == (Run(3, 4, 1, 1),)


@everywhere
async def test_23_a_consumer_does_not_fetch_what_it_only_acknowledges(target: Target) -> None:
    kept, dropped = [await target.cluster.create_topic() for _ in range(2)]
    group_id = await target.group_of(dropped)
    await target.cluster.produce(dropped, values(3))

    async with target.consumer(group_id, acknowledgement_mode="explicit") as consumer:
        await consumer.subscribe([dropped.name])
        records = list(await consumer.poll(timeout=15))
        await consumer.subscribe([kept.name])
        for record in records:
            consumer.acknowledge(record)
        assert list((await consumer.commit_sync()).values()) == [None]
        await target.cluster.produce(dropped, values(3))
        await target.cluster.produce(kept, values(2, "kept"))
        after = list(await consumer.poll(timeout=15))

    assert [record.value for record in after] == values(2, "kept")
    assert (await target.cluster.progress(group_id, dropped))[0].lag == 3
