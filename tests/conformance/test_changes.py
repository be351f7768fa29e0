"""Scenarios 29, 30: subscriptions and topics that change under a consumer."""

from typing import Any

import pytest

from kafka_groups.errors import IllegalStateError
from kafka_groups.share.delivery.commits import Acknowledged
from kafka_groups.types import AcknowledgeType
from tests.support.conditions import until
from tests.support.members.consuming import consume, delivery_counts, offsets, values
from tests.support.targets import Target, everywhere, everywhere_and_in_a_container

QUICK_METADATA: dict[str, Any] = {"metadata_max_age_ms": 300}


@everywhere
async def test_29_unsubscribing_reports_acknowledgements_and_releases_the_rest(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(6))
    results: list[Acknowledged] = []

    async with target.consumer(group_id, acknowledgement_mode="explicit", prefetch_batches=0) as consumer:
        consumer.set_acknowledgement_callback(results.append)
        await consumer.subscribe([topic.name])
        for record in await consume(consumer, 6):
            if record.offset < 4:
                consumer.acknowledge(record, AcknowledgeType.ACCEPT)
        await consumer.unsubscribe()
        assert consumer.subscription() == frozenset()

        async def reported() -> int:
            with pytest.raises(IllegalStateError, match="not subscribed"):
                await consumer.poll(timeout=0)
            return len(results)

        await until(reported, lambda count: count > 0)
        await until(lambda: target.cluster.describe_group(group_id), lambda it: not it.members)
        async with target.consumer(group_id) as other:
            await other.subscribe([topic.name])
            rest = await consume(other, 2)

    assert [(result.error, list(result.offsets())) for result in results] == [(None, [0, 1, 2, 3])]
    assert offsets(rest) == [4, 5]
    assert delivery_counts(rest) == {2}


@everywhere
async def test_29_what_was_unsubscribed_is_not_delivered_any_more(target: Target) -> None:
    one, two = [await target.cluster.create_topic() for _ in range(2)]
    group_id = await target.group_of(one)

    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([one.name, two.name])
        await target.cluster.produce(two, [b"first"])
        assert [record.topic for record in await consume(consumer, 1)] == [two.name]
        await consumer.subscribe([one.name])
        await until(
            lambda: target.cluster.describe_group(group_id),
            lambda it: it.members[0].subscribed_topic_names == (one.name,),
        )
        await consumer.commit_sync()
        assert not await consumer.poll(timeout=0.7)
        await target.cluster.produce(two, [b"not for us"])
        await target.cluster.produce(one, [b"for us"])
        assert [record.value for record in await consume(consumer, 1)] == [b"for us"]


@everywhere
async def test_30_a_topic_that_was_created_again_starts_anew(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(5, "old"))

    async with target.consumer(group_id, prefetch_batches=0, **QUICK_METADATA) as consumer:
        await consumer.subscribe([topic.name])
        old = await consume(consumer, 5)
        await target.cluster.delete_topic(topic)
        again = await target.cluster.create_topic(name=topic.name)
        await target.cluster.produce(again, values(3, "new"))
        new = await consume(consumer, 3)
        await consumer.commit_sync()
        await target.cluster.until_lag(group_id, again, 0)

    assert again.topic_id != topic.topic_id
    assert offsets(old) == [0, 1, 2, 3, 4]
    assert [record.value for record in new] == values(3, "new")
    assert offsets(new) == [0, 1, 2]
    assert delivery_counts(new) == {1}


@everywhere_and_in_a_container
async def test_30_added_partitions_start_at_their_first_record(target: Target) -> None:
    topic = await target.cluster.create_topic()
    # `latest` holds for the partitions that are there when the group begins, and not for those that come later.
    group_id = await target.group_of(topic, configs={"share.auto.offset.reset": "latest"})

    async with target.consumer(group_id, **QUICK_METADATA) as consumer:
        await consumer.subscribe([topic.name])
        assert not await consumer.poll(timeout=0.2)
        await target.cluster.add_partitions(topic, 3)
        for partition in (1, 2):
            await target.cluster.produce(topic, values(4, f"p{partition}"), partition)
        records = await consume(consumer, 8)

    assert sorted((record.partition, record.offset) for record in records) == [
        (partition, offset) for partition in (1, 2) for offset in range(4)
    ]
