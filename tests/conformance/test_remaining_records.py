"""How many records a group may have left, where the brokers tell its lag and where they do not tell it yet."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest
from attrs import evolve

from kafka_groups.client.calls.client import admin_client
from kafka_groups.config.clients.share import share_consumer_config
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.share.parts import Environment
from kafka_groups.spark.groups.group_remaining import group_positions
from kafka_groups.spark.rules.remaining import GroupPositions, Remaining, remaining_of, unread_starts
from kafka_groups.types import TopicPartition
from tests.conformance.test_transactions import begin, new_producer
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.members.consuming import values
from tests.support.members.raw_member import accept
from tests.support.members.raw_producer import timed
from tests.support.targets import SHORT_LOCKS, Target, everywhere

HOUR_MS = 3_600_000
FROM_LATEST = {"share.auto.offset.reset": "latest"}
NOTHING_KNOWN: Mapping[TopicPartition, int] = MappingProxyType({})


async def positions(target: Target, group_id: str, topic: Topic, *, ends_first: bool = False) -> GroupPositions:
    config = share_consumer_config(bootstrap_servers=target.bootstrap_servers, group_id=group_id)
    client = admin_client(config, Environment(network=target.network))
    try:
        wall_ms = SystemClock().wall_ms()
        return await group_positions(client.within(20_000), group_id, [topic.name], wall_ms, ends_first=ends_first)
    finally:
        await client.close()


async def left(
    target: Target, group_id: str, topic: Topic, unread: Mapping[TopicPartition, int] = NOTHING_KNOWN
) -> Remaining:
    return remaining_of(evolve(await positions(target, group_id, topic), unread=unread))


@everywhere
async def test_records_of_partitions_that_nobody_has_finished_are_left(target: Target) -> None:
    topic = await target.cluster.create_topic(3)
    group_id = await target.new_group()
    assert await left(target, group_id, topic) == Remaining(0, 0)
    for partition in (0, 1):
        await target.cluster.produce(topic, values(10), partition)
    assert await left(target, group_id, topic) == Remaining(20, 20)
    member = await target.joined(group_id, topic, (0, 1, 2))
    assert await left(target, group_id, topic) == Remaining(20, 20)
    await member.fetch_until_acquired()
    assert await left(target, group_id, topic) == Remaining(20, 20)
    await member.settle(accept(0, 7))
    assert await left(target, group_id, topic) == Remaining(12, 12)
    await member.leave()
    assert await left(target, group_id, topic) == Remaining(12, 12)


@everywhere
async def test_what_a_group_that_starts_at_the_end_has_left(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    group_id = await target.new_group(FROM_LATEST)
    await target.cluster.produce(topic, values(10))
    assert await left(target, group_id, topic) == Remaining(0, 0)
    unread = unread_starts(await positions(target, group_id, topic, ends_first=True))
    assert unread == {TopicPartition(topic.name, 0): 10}

    member = await target.joined(group_id, topic, (0, 1))
    await member.fetch()
    assert unread_starts(await positions(target, group_id, topic, ends_first=True)) == {}
    in_doubt = await left(target, group_id, topic)
    assert (in_doubt.least, in_doubt.most, in_doubt.is_known) == (0, 10, False)
    assert in_doubt.patience_ms >= 30_000
    assert f"Up to 10 records of {topic.name}-0 may be left" in str(in_doubt.doubt)
    assert await left(target, group_id, topic, unread) == Remaining(0, 0)

    await target.cluster.produce(topic, values(5))
    assert (await left(target, group_id, topic, unread)).most == 5
    await member.fetch_until_acquired()
    assert not (await left(target, group_id, topic, unread)).is_known


@pytest.mark.slow
@everywhere
async def test_an_expired_lock_tells_where_a_group_began(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.new_group({**FROM_LATEST, **SHORT_LOCKS})
    await target.cluster.produce(topic, values(10))
    member = await target.joined(group_id, topic)
    await member.fetch()
    await target.cluster.produce(topic, values(5))
    await member.fetch_until_acquired()
    assert not (await left(target, group_id, topic)).is_known
    await until(lambda: left(target, group_id, topic), lambda it: it == Remaining(5, 5))


@everywhere
async def test_what_a_group_that_starts_at_a_time_has_left(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.new_group({"share.auto.offset.reset": "by_duration:PT1H"})
    old_ms = SystemClock().wall_ms() - 2 * HOUR_MS
    await target.cluster.produce(topic, [NewRecord(b"old", timestamp_ms=old_ms)] * 4)
    assert await left(target, group_id, topic) == Remaining(0, 0)
    await target.cluster.produce(topic, [timed(b"new")] * 6)
    assert await left(target, group_id, topic) == Remaining(6, 6)
    member = await target.joined(group_id, topic)
    assert (await member.fetch_until_acquired()).runs[0].first == 4
    in_doubt = await left(target, group_id, topic)
    assert (in_doubt.least, in_doubt.most) == (6, 10)
    await member.settle(accept(4, 9))
    assert await left(target, group_id, topic) == Remaining(0, 0)


@pytest.mark.slow
@everywhere
async def test_records_of_open_transactions_are_left_unless_the_group_reads_committed_ones(target: Target) -> None:
    topic = await target.cluster.create_topic()
    every, committed = await target.new_group(), await target.new_group({"share.isolation.level": "read_committed"})
    await target.cluster.produce(topic, [timed(b"before")])
    producer = await new_producer(target)
    await begin(producer, topic, b"a", b"b", b"c")
    assert await left(target, every, topic) == Remaining(4, 4)
    assert await left(target, committed, topic) == Remaining(1, 1)
    member = await target.joined(committed, topic)
    await member.fetch_until_acquired()
    await member.settle(accept(0))
    assert await left(target, committed, topic) == Remaining(0, 0)
    assert await producer.end(committed=True) == "NONE"
    await producer.until_ended()
    await until(lambda: left(target, committed, topic), lambda it: it.least >= 3)


@pytest.mark.slow
@everywhere
async def test_an_offset_that_an_administrator_has_set_is_known(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs=FROM_LATEST)
    await target.cluster.produce(topic, values(10))
    assert not (await left(target, group_id, topic)).is_known
    async with target.admin() as admin:
        await admin.alter_share_group_offsets(group_id, {TopicPartition(topic.name, 0): 7})
    assert await left(target, group_id, topic) == Remaining(3, 3)
