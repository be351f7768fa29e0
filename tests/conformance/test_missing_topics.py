"""A subscription to a topic that does not exist: the log names it, and nothing creates it unless it is asked to."""

import asyncio

import pytest

from kafka_groups.protocol.error_codes import ErrorCode
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.consuming import consume
from tests.support.targets import Target, everywhere


def warnings(caplog: pytest.LogCaptureFixture, text: str) -> list[str]:
    return [r.message for r in caplog.records if r.name == "kafka_groups.group" and text in r.message]


@everywhere
async def test_a_misspelt_topic_is_told_and_not_created(target: Target, caplog: pytest.LogCaptureFixture) -> None:
    misspelt, group_id = unique("topic"), await target.new_group()
    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([misspelt])
        polling = asyncio.ensure_future(consumer.poll(timeout=30.0))
        told = await until(lambda: _soon(warnings(caplog, misspelt)), lambda it: len(it) >= 2)
        assert told[0] == (
            f"Topics do not exist: {misspelt}. Check the names or create the topics; the client keeps looking for them."
        )
        assert (await target.cluster.describe_topic(misspelt)).error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        topic = await target.cluster.create_topic(name=misspelt)
        await target.cluster.produce(topic, [b"late"])
        assert [record.value for record in await polling] == [b"late"]


@everywhere
async def test_a_topic_that_a_subscription_creates_is_told(target: Target, caplog: pytest.LogCaptureFixture) -> None:
    misspelt, group_id = unique("topic"), await target.new_group()
    async with target.consumer(group_id, allow_auto_create_topics=True) as consumer:
        await consumer.subscribe([misspelt])
        consuming = asyncio.ensure_future(consume(consumer, 1))
        found = await until(lambda: target.cluster.describe_topic(misspelt), lambda it: bool(it.partitions))
        assert found.error_code is ErrorCode.NONE
        consuming.cancel()
        await asyncio.gather(consuming, return_exceptions=True)
    (told,) = warnings(caplog, "the brokers create them")
    assert told.startswith(f"Topics do not exist, but the brokers create them if their settings allow it: {misspelt}.")


async def _soon(found: list[str]) -> list[str]:
    return found
