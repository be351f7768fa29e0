"""Scenarios 6, 14: acquisition locks run out, and are renewed."""

import asyncio
from typing import Any

import pytest

from kafka_groups.errors import InvalidRecordStateError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.types import AcknowledgeType
from tests.support.members.consuming import consume, consume_as, delivery_counts, offsets, values
from tests.support.members.raw_member import (
    AT_ONCE,
    NOTHING,
    Limits,
    RawMember,
    accept,
    acknowledge,
    acknowledged,
    fetched,
)
from tests.support.targets import EXPLICIT, LOCK_MS, SHORT_LOCKS, Target, everywhere

LOCK_S = LOCK_MS / 1000
RENEW = AcknowledgeType.RENEW


@everywhere
async def test_06_after_the_lock_another_consumer_gets_the_records(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs=SHORT_LOCKS)
    await target.cluster.produce(topic, values(10))

    async with target.consumer(group_id, **EXPLICIT) as slow, target.consumer(group_id, **EXPLICIT) as other:
        await slow.subscribe([topic.name])
        records = await consume(slow, 10)
        assert slow.acquisition_lock_timeout == LOCK_S
        await other.subscribe([topic.name])
        again = await consume(other, 10)
        for record in records:
            slow.acknowledge(record)
        late = await slow.commit_sync()
        for record in again:
            other.acknowledge(record)
        in_time = await other.commit_sync()

    assert offsets(again) == offsets(records)
    assert delivery_counts(records) == {1}
    assert delivery_counts(again) == {2}
    assert [type(error) for error in late.values()] == [InvalidRecordStateError]
    assert list(in_time.values()) == [None]
    await target.cluster.until_lag(group_id, topic, 0)


@everywhere
async def test_06_the_lock_ends_at_its_deadline(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    group_id = await target.group_of(topic, (0, 1))
    holder, waiter = target.member(group_id, topic), target.member(group_id, topic)
    await both_loaded(target, holder)
    await target.cluster.set_group_config(group_id, SHORT_LOCKS)
    loop = asyncio.get_running_loop()
    for partition in (0, 1):
        await target.cluster.produce(topic, [b"locked"], partition)

    sent_at = loop.time()
    held = await holder.fetch()
    # Without records it would wait for longer than the test has patience.
    freed = await waiter.fetch(Limits(max_wait_ms=600_000), partitions=[1])
    freed_at = loop.time()
    late = await holder.share_acknowledge(accept(held.runs[0].first, partition=0))

    assert held.lock_timeout_ms == LOCK_MS
    assert {run.partition for run in held.runs} == {0, 1}
    assert [(run.partition, run.delivery_count) for run in freed.runs] == [(1, 2)]
    # Nobody has asked for partition 0 since: its lock ended by itself, and at the same time.
    assert acknowledged(late)[0].error_code is ErrorCode.INVALID_RECORD_STATE
    assert freed_at - sent_at >= LOCK_S - 0.001, "but for the milliseconds that brokers count"


async def both_loaded(target: Target, member: RawMember) -> None:
    """Have the leader load both share-partitions."""
    for partition in (0, 1):
        await target.cluster.produce(member.topic, [b"first"], partition)
    for _ in range(2):
        acquired = await member.fetch_until_acquired(partitions=(0, 1))
        await member.settle(*(accept(run.first, run.last, run.partition) for run in acquired.runs))
        if {run.partition for run in acquired.runs} == {0, 1}:
            return


@everywhere
async def test_14_renewed_records_stay_for_three_locks_and_are_not_delivered_again(target: Target) -> None:
    await asyncio.gather(renew_by_calls(target), renew_automatically(target))


async def renew_by_calls(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs=SHORT_LOCKS)
    await target.cluster.produce(topic, values(5))
    loop = asyncio.get_running_loop()

    async with target.consumer(group_id, **EXPLICIT) as holder, target.consumer(group_id) as other:
        await holder.subscribe([topic.name])
        records = await consume(holder, 5)
        held_until = loop.time() + 3 * LOCK_S
        await other.subscribe([topic.name])
        while loop.time() < held_until:
            assert list((await holder.renew()).values()) == [None]
            assert not await other.poll(timeout=LOCK_S / 4)
        for record in records:
            holder.acknowledge(record)
        assert list((await holder.commit_sync()).values()) == [None]

    assert (await target.cluster.progress(group_id, topic))[0].lag == 0


async def renew_automatically(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs=SHORT_LOCKS)
    await target.cluster.produce(topic, values(5))

    async with (
        target.consumer(group_id, auto_renew=True, **EXPLICIT) as holder,
        target.consumer(group_id) as other,
    ):
        await holder.subscribe([topic.name])
        records = await consume(holder, 5)
        await other.subscribe([topic.name])
        assert not await other.poll(timeout=3 * LOCK_S)
        for record in records:
            holder.acknowledge(record)
        assert list((await holder.commit_sync()).values()) == [None]

    assert (await target.cluster.progress(group_id, topic))[0].lag == 0


@everywhere
async def test_14_a_record_acknowledged_with_renew_comes_back_from_the_next_poll(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(4))

    def keep_the_last(record: object) -> AcknowledgeType:
        return RENEW if getattr(record, "offset", 0) == 3 else AcknowledgeType.ACCEPT

    async with target.consumer(group_id, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        await consume_as(consumer, 4, keep_the_last)
        again = await consume_as(consumer, 1, AcknowledgeType.ACCEPT)

    assert offsets(again) == [3]
    assert delivery_counts(again) == {1}
    await target.cluster.until_lag(group_id, topic, 0)


@everywhere
async def test_14_renewal_extends_the_lock_and_keeps_the_delivery_count(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs=SHORT_LOCKS)
    await target.cluster.produce(topic, values(4))
    member, other = target.member(group_id, topic), target.member(group_id, topic)
    loop = asyncio.get_running_loop()

    await member.fetch_until_acquired()
    await other.fetch(AT_ONCE)
    response = None
    held_until = loop.time() + 1.5 * LOCK_S
    while loop.time() < held_until:
        response = await member.share_acknowledge(acknowledge(RENEW, 0, 3), is_renew_ack=True)
        assert acknowledged(response)[0].error_code is ErrorCode.NONE
        assert (await other.fetch(Limits(max_wait_ms=LOCK_MS // 4))).count == 0
    await member.settle(accept(0, 1))
    freed = (await other.fetch_until_acquired()).delivery_counts
    freed |= (await other.fetch_until_acquired()).delivery_counts if len(freed) < 2 else {}

    assert response is not None
    assert response.acquisition_lock_timeout_ms == LOCK_MS
    assert freed == {2: 2, 3: 2}


@everywhere
async def test_14_renewal_needs_version_2_and_its_flag(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(4))
    member = target.member(group_id, topic)
    await member.fetch_until_acquired()
    renewal = acknowledge(RENEW, 0, 3)

    v1 = await member.share_acknowledge(renewal, version=1)
    without_flag = await member.share_acknowledge(renewal)
    fetch_v1 = await member.share_fetch(AT_ONCE, acknowledgements=[renewal], version=1)
    fetch_without_flag = await member.share_fetch(AT_ONCE, acknowledgements=[renewal])
    with_flag = await member.share_acknowledge(renewal, is_renew_ack=True)

    for refused in (v1, without_flag):
        assert refused.error_code is ErrorCode.NONE
        assert acknowledged(refused)[0].error_code is ErrorCode.INVALID_REQUEST
    for fetch in (fetch_v1, fetch_without_flag):
        assert fetch.error_code is ErrorCode.NONE
        assert fetched(fetch)[0].error_code is ErrorCode.NONE
        assert fetched(fetch)[0].acknowledge_error_code is ErrorCode.INVALID_REQUEST
    assert acknowledged(with_flag)[0].error_code is ErrorCode.NONE


@everywhere
@pytest.mark.parametrize("field", ["max_wait_ms", "min_bytes", "max_bytes", "max_records"])
async def test_14_a_renewing_fetch_has_limits_of_zero(target: Target, field: str) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(4))
    member = target.member(group_id, topic)
    await member.fetch_until_acquired()
    await target.cluster.produce(topic, values(4))
    renewal = acknowledge(RENEW, 0, 3)
    limits: dict[str, Any] = {
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": 0,
        "max_records": 0,
        "batch_size": 0,
        field: 1,
    }

    refused = await member.share_fetch(Limits(**limits), acknowledgements=[renewal], is_renew_ack=True)
    renewed = await member.share_fetch(NOTHING, acknowledgements=[renewal], is_renew_ack=True)

    assert refused.error_code is ErrorCode.INVALID_REQUEST
    assert renewed.error_code is ErrorCode.NONE
    assert fetched(renewed)[0].acknowledge_error_code is ErrorCode.NONE
    assert not fetched(renewed)[0].acquired_records


@everywhere
async def test_14_a_lock_that_was_lost_cannot_be_renewed(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(4))
    member, other = target.member(group_id, topic), target.member(group_id, topic)
    await member.fetch_until_acquired()
    await other.fetch(AT_ONCE)
    await member.settle(accept(1))

    settled = await member.share_acknowledge(acknowledge(RENEW, 1), is_renew_ack=True)
    of_another = await other.share_acknowledge(acknowledge(RENEW, 2), is_renew_ack=True)

    assert acknowledged(settled)[0].error_code is ErrorCode.INVALID_RECORD_STATE
    assert acknowledged(of_another)[0].error_code is ErrorCode.INVALID_RECORD_STATE
