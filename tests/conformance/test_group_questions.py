"""Lag and configuration of a group, asked through the consumer."""

import pytest

from kafka_groups.errors import UnknownTopicOrPartitionError
from kafka_groups.types import TopicPartition
from tests.support.kafka.real_kafka import unique
from tests.support.members.consuming import consume, values
from tests.support.targets import EXPLICIT, Target, everywhere


@everywhere
async def test_the_lag_of_a_group_is_what_it_has_not_settled(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    await target.cluster.produce(topic, values(10))
    group_id = await target.group_of(topic, (0, 1))
    first, second = TopicPartition(topic.name, 0), TopicPartition(topic.name, 1)

    async with target.consumer(group_id, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        records = await consume(consumer, 10)
        for record in records[:4]:
            consumer.acknowledge(record)
        await consumer.commit_sync()
        assert (await consumer.lag())[first] == 6
        assert set(await consumer.lag()) == {first, second}
        assert (await consumer.lag([topic.name], timeout=10))[first] == 6
        with pytest.raises(UnknownTopicOrPartitionError):
            await consumer.lag([unique("nowhere")])
        for record in records[4:]:
            consumer.acknowledge(record)
        await consumer.commit_sync()
        assert (await consumer.lag())[first] == 0

    async with target.consumer(group_id) as unsubscribed:
        assert (await unsubscribed.lag())[first] == 0


@everywhere
async def test_the_configuration_of_a_group_with_its_defaults(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic, configs={"share.auto.offset.reset": "earliest"})
    async with target.consumer(group_id) as consumer:
        config = await consumer.group_config()
    assert config["share.auto.offset.reset"] == "earliest"
    assert config["share.delivery.count.limit"] == "5"
    assert config["share.isolation.level"] == "read_uncommitted"
