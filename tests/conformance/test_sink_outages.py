"""A sink that is down for seconds: delayed releases keep every record; releases that archive are told."""

from typing import Any

import pytest

from kafka_groups.share import AsyncKafkaShareConsumer
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.share.delivery.returned import ArchivedRecords
from kafka_groups.types import AcknowledgeType
from tests.support.members.consuming import Countdown, consume, values
from tests.support.targets import EXPLICIT, LOCK_MS, SHORT_LOCKS, Target, everywhere

ACCEPT, RELEASE = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE

OUTAGE_S = 3.0


async def store(consumer: AsyncKafkaShareConsumer[Any, Any], count: int) -> dict[int, int]:
    """The program of the how-to, with a sink that is down at first: offset → delivery count of what was stored."""
    stored: dict[int, int] = {}
    outage, time = Countdown(OUTAGE_S), Countdown(40.0)
    while len(stored) < count and time.left_s:
        for record in await consumer.poll(timeout=1.0):
            if outage.left_s:
                consumer.acknowledge(record, RELEASE, release_after=2.0)
            else:
                stored[record.offset] = record.delivery_count
                consumer.acknowledge(record, ACCEPT)
    await consumer.commit_sync()
    return stored


@everywhere
async def test_no_record_is_lost_while_the_sink_is_down(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs=SHORT_LOCKS)
    await target.cluster.produce(topic, values(1000))

    async with target.consumer(group_id, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        stored = await store(consumer, 1000)
        counts = consumer.counts()
        archived = consumer.metrics()["records-archived-by-release-total"]

    assert len(stored) == 1000
    assert max(stored.values()) <= 1 + OUTAGE_S // 2 + 1
    assert counts.accepted == 1000
    assert archived == 0
    await target.cluster.until_lag(group_id, topic, 0)


@everywhere
async def test_a_held_record_is_renewed_and_spends_no_delivery(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs=SHORT_LOCKS)
    await target.cluster.produce(topic, values(5))

    async with target.consumer(group_id, **EXPLICIT) as holder, target.consumer(group_id) as other:
        await holder.subscribe([topic.name])
        await consume(holder, 5)
        holder.acknowledge_range(topic.name, 0, 0, 4, RELEASE, release_after=3.5 * LOCK_MS / 1000)
        holder.commit_async()
        await other.subscribe([topic.name])
        assert not await other.poll(timeout=2.5 * LOCK_MS / 1000)
        again = await consume(other, 5)

    assert {record.delivery_count for record in again} == {2}


@everywhere
async def test_a_group_that_does_not_renew_gets_the_record_before_its_lock_runs_out(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={**SHORT_LOCKS, "share.renew.acknowledge.enable": "false"})
    await target.cluster.produce(topic, values(5))

    async with target.consumer(group_id, **EXPLICIT) as holder:
        await holder.subscribe([topic.name])
        await consume(holder, 5)
        holder.acknowledge_range(topic.name, 0, 0, 4, RELEASE, release_after=60.0)
        assert {r.delivery_count for r in await consume(holder, 5)} == {2}
        assert holder.counts().released == 5
        holder.acknowledge_range(topic.name, 0, 0, 4, ACCEPT)


@everywhere
@pytest.mark.parametrize("end", ["commit", "close", "unsubscribe", "hold"])
@pytest.mark.parametrize("limit", [2, 3])
async def test_the_last_release_is_told_with_the_groups_limit(target: Target, limit: int, end: str) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.delivery.count.limit": str(limit)})
    await target.cluster.produce(topic, values(1))
    told: list[ArchivedRecords] = []

    for _ in range(limit - 1):  # each by a consumer that does not know the limit yet
        async with target.consumer(group_id, **EXPLICIT) as consumer:
            consumer.set_archive_callback(told.append)
            await consumer.subscribe([topic.name])
            await consume(consumer, 1)
    assert told == []
    async with target.consumer(group_id, **EXPLICIT) as consumer:
        consumer.set_archive_callback(told.append)
        await consumer.subscribe([topic.name])
        await release(consumer, await consume(consumer, 1), end)
    counted = consumer.metrics()["records-archived-by-release-total"]

    assert told == [ArchivedRecords(topic.name, 0, (0,), limit, is_assumed=False)]
    assert counted == 1
    await target.cluster.until_lag(group_id, topic, 0)


async def release(consumer: AsyncKafkaShareConsumer[Any, Any], records: list[AnyRecord], end: str) -> None:
    (record,) = records
    if end in ("commit", "hold"):
        consumer.acknowledge(record, RELEASE, release_after=30.0 if end == "hold" else None)
        await consumer.commit_sync()
    elif end == "unsubscribe":
        await consumer.unsubscribe()
