"""Scenarios 1 to 5, 7, 8: delivery and acknowledgement as an application sees them."""

import asyncio
from collections.abc import Callable

import pytest

from kafka_groups.errors import IllegalStateError
from kafka_groups.protocol.compression import Compression
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.consumer import KafkaShareConsumer
from kafka_groups.share.delivery.share_records import ShareRecords
from kafka_groups.types import AcknowledgeType
from tests.support.members.consuming import (
    Record,
    consume,
    consume_as,
    consume_together,
    delivery_counts,
    offsets,
    values,
    values_of,
)
from tests.support.targets import EXPLICIT, Target, everywhere, everywhere_and_in_a_container, over_tcp

RELEASE = AcknowledgeType.RELEASE


@everywhere_and_in_a_container
async def test_01_all_records_are_consumed_once(target: Target) -> None:
    topic = await target.cluster.create_topic(3)
    group_id = await target.new_group()
    for partition in range(3):
        await target.cluster.produce(topic, values(50, f"p{partition}"), partition)

    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        records = await consume(consumer, 150)
        await consumer.commit_sync()

    assert {(record.partition, record.offset): record.value for record in records} == {
        (partition, offset): value for partition in range(3) for offset, value in enumerate(values(50, f"p{partition}"))
    }
    assert delivery_counts(records) == {1}
    for partition in range(3):
        await target.cluster.until_lag(group_id, topic, 0, partition)


@everywhere
async def test_01_two_consumers_share_the_records_and_none_comes_twice(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    group_id = await target.group_of(topic, (0, 1))
    for partition in range(2):
        await target.cluster.produce_each(topic, values(100, f"p{partition}"), partition)

    async with target.consumer(group_id, max_poll_records=10) as one, target.consumer(group_id) as two:
        await one.subscribe([topic.name])
        first = values_of(await one.poll(timeout=15))
        await two.subscribe([topic.name])
        rest = values_of(await consume_together([one, two], 200 - len(first)))
        await one.commit_sync()
        await two.commit_sync()

    assert sorted(first + rest) == values(100, "p0") + values(100, "p1")


@everywhere
@pytest.mark.parametrize("compression", Compression, ids=lambda codec: codec.name.lower())
async def test_01_batches_of_every_codec_pass_through(target: Target, compression: Compression) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(20), compression=compression)

    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        assert [record.value for record in await consume(consumer, 20)] == values(20)


@over_tcp
async def test_01_the_blocking_consumer_consumes_all_records_once(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(40))

    def consume_and_commit() -> list[Record]:
        with KafkaShareConsumer(bootstrap_servers=target.bootstrap_servers, group_id=group_id) as consumer:
            consumer.subscribe([topic.name])
            records = list(consumer.poll(timeout=15))
            consumer.commit_sync()
        return records

    records = await asyncio.get_running_loop().run_in_executor(None, consume_and_commit)

    assert [record.value for record in records] == values(40)
    await target.cluster.until_lag(group_id, topic, 0)


@everywhere_and_in_a_container
async def test_02_what_was_released_is_delivered_again_and_nothing_else(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(20))

    def odd_ones_back(record: Record) -> AcknowledgeType:
        return AcknowledgeType.RELEASE if record.offset % 2 else AcknowledgeType.ACCEPT

    async with target.consumer(group_id, **EXPLICIT) as one:
        await one.subscribe([topic.name])
        await consume_as(one, 20, odd_ones_back)
    async with target.consumer(group_id, **EXPLICIT) as two:
        await two.subscribe([topic.name])
        again = await consume_as(two, 10, AcknowledgeType.ACCEPT)

    assert offsets(again) == list(range(1, 20, 2))
    assert delivery_counts(again) == {2}
    await target.cluster.until_lag(group_id, topic, 0)


@everywhere_and_in_a_container
async def test_03_rejected_records_are_never_delivered_again(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(10))

    async with target.consumer(group_id, **EXPLICIT) as one:
        await one.subscribe([topic.name])
        await consume_as(one, 10, AcknowledgeType.REJECT)
        await target.cluster.until_lag(group_id, topic, 0)
    await target.cluster.produce(topic, values(3, "later"))
    async with target.consumer(group_id, **EXPLICIT) as two:
        await two.subscribe([topic.name])
        later = await consume_as(two, 3, AcknowledgeType.ACCEPT)

    assert [record.value for record in later] == values(3, "later")


@everywhere
async def test_04_at_the_delivery_limit_records_are_archived(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.delivery.count.limit": "2"})
    await target.cluster.produce(topic, values(10))

    async with target.consumer(group_id, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        records = await consume_as(consumer, 20, AcknowledgeType.RELEASE)
        await target.cluster.until_lag(group_id, topic, 0)
        await target.cluster.produce(topic, [b"after"])
        after = await consume_as(consumer, 1, AcknowledgeType.ACCEPT)

    assert sorted((record.offset, record.delivery_count) for record in records) == [
        (offset, count) for offset in range(10) for count in (1, 2)
    ]
    assert [record.value for record in after] == [b"after"]


@everywhere
async def test_05_the_next_poll_accepts(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(10))

    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        await consume(consumer, 10)
        assert (await target.cluster.progress(group_id, topic))[0].lag != 0
        await consumer.poll(timeout=0)
        await target.cluster.until_lag(group_id, topic, 0)


@everywhere
async def test_05_a_commit_accepts(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(10))

    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        await consume(consumer, 10)
        results = await consumer.commit_sync()

        assert list(results.values()) == [None]
        assert (await target.cluster.progress(group_id, topic))[0].lag == 0


@everywhere_and_in_a_container
async def test_05_closing_releases_what_was_not_accepted(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(10))

    async with target.consumer(group_id) as one:
        await one.subscribe([topic.name])
        await consume(one, 10)
    async with target.consumer(group_id) as two:
        await two.subscribe([topic.name])
        again = await consume(two, 10)

    assert offsets(again) == list(range(10))
    assert delivery_counts(again) == {2}


@everywhere
async def test_07_polling_with_records_not_acknowledged_raises(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(3))

    async with target.consumer(group_id, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        first, second, third = await consume(consumer, 3)
        consumer.acknowledge(first)
        consumer.acknowledge(second, AcknowledgeType.REJECT)
        with pytest.raises(IllegalStateError, match="must be acknowledged"):
            await consumer.poll(timeout=0)
        consumer.acknowledge(third)
        assert not await consumer.poll(timeout=0)
        await target.cluster.until_lag(group_id, topic, 0)


@everywhere
async def test_08_the_last_acknowledgement_before_the_commit_counts(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(10))

    async with target.consumer(group_id, **EXPLICIT) as one:
        await one.subscribe([topic.name])
        for record in await consume(one, 10):
            wavering = [AcknowledgeType.ACCEPT, AcknowledgeType.REJECT, AcknowledgeType.RELEASE]
            for kind in wavering if record.offset < 4 else reversed(wavering):
                one.acknowledge(record, kind)
        assert list((await one.commit_sync()).values()) == [None]
    async with target.consumer(group_id, **EXPLICIT) as two:
        await two.subscribe([topic.name])
        again = await consume_as(two, 4, AcknowledgeType.ACCEPT)

    assert offsets(again) == [0, 1, 2, 3]
    await target.cluster.until_lag(group_id, topic, 0)


@everywhere
async def test_a_part_of_a_batch_can_be_acknowledged(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(10))

    async with target.consumer(group_id, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        records = await consumer.poll(timeout=20.0)
        assert consumer.acknowledge_all(records[:4]) == 4
        assert consumer.acknowledge_all([records[4], records[6]], RELEASE) == 2
        assert consumer.acknowledge_all(record for record in records if record.offset in (5, 7, 8)) == 3
        assert consumer.acknowledge_all(records[9:], RELEASE) == 1
        assert set((await consumer.commit_sync()).values()) == {None}
        assert consumer.acknowledge_all(records[:4]) == 0
        assert offsets(await consume_as(consumer, 3, AcknowledgeType.ACCEPT)) == [4, 6, 9]
    await target.cluster.until_lag(group_id, topic, 0)


@everywhere
async def test_after_unsubscribing_acknowledgements_are_refused_and_the_records_come_again(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(4))

    async with target.consumer(group_id, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        records = await consumer.poll(timeout=20.0)
        consumer.acknowledge(records[0])
        await consumer.unsubscribe()
        for again in (False, True):
            if again:
                await consumer.subscribe([topic.name])
            for refused in acknowledgements_of(consumer, records)[: 2 if again else None]:
                with pytest.raises(IllegalStateError, match="before you unsubscribe"):
                    refused()
        assert delivery_counts(await consume_as(consumer, 3, AcknowledgeType.ACCEPT)) == {2}
    await target.cluster.until_lag(group_id, topic, 0)


def acknowledgements_of(consumer: AsyncKafkaShareConsumer, records: ShareRecords) -> list[Callable[[], object]]:
    """The ways to acknowledge a record; those that name one record come first."""
    record = records[1]
    return [
        lambda: consumer.acknowledge(record),
        lambda: consumer.acknowledge(record, RELEASE, release_after=5.0),
        lambda: consumer.acknowledge_offset(record.topic, record.partition, record.offset),
        lambda: consumer.acknowledge_range(record.topic, record.partition, 0, 3),
        lambda: consumer.acknowledge_all(records),
        lambda: consumer.acknowledge_all(records[2:]),
    ]
