"""Questions about a group: what is refused is an error, what may pass is asked again, and time is limited."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import answer
from kafka_groups.errors import (
    ConfigurationError,
    GroupAuthorizationFailedError,
    NetworkError,
    OperationTimeoutError,
    TopicAuthorizationFailedError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_configs import DescribeConfigsResponse, DescribeConfigsResult
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kafka_groups.share import KafkaShareConsumer
from kafka_groups.types import TopicPartition
from tests.unit.share.clusters import TOPIC, World
from tests.unit.share.test_aio import simulate, take, values

GROUP_REFUSED = DescribeShareGroupOffsetsResponse(
    groups=(DescribeShareGroupOffsetsResponseGroup(group_id="g", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED),)
)
TOPIC_REFUSED = DescribeShareGroupOffsetsResponse(
    groups=(
        DescribeShareGroupOffsetsResponseGroup(
            group_id="g",
            topics=(
                DescribeShareGroupOffsetsResponseTopic(
                    topic_name=TOPIC,
                    partitions=(
                        DescribeShareGroupOffsetsResponsePartition(
                            partition_index=0,
                            start_offset=-1,
                            leader_epoch=0,
                            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                        ),
                    ),
                ),
            ),
        ),
    )
)


@pytest.mark.parametrize(
    ("refusal", "error"),
    [(GROUP_REFUSED, GroupAuthorizationFailedError), (TOPIC_REFUSED, TopicAuthorizationFailedError)],
)
def test_what_you_may_not_see_is_an_error(refusal: Any, error: type[Exception]) -> None:
    async def program(world: World) -> None:
        world.cluster.faults.on(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, answer(refusal))
        async with world.consumer() as consumer:
            with pytest.raises(error):
                await consumer.lag([TOPIC])

    simulate(program)


def test_the_configuration_that_you_may_not_see_is_an_error() -> None:
    async def program(world: World) -> None:
        refused = DescribeConfigsResult(
            error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED,
            error_message="not yours",
            resource_type=32,
            resource_name="g",
        )
        world.cluster.faults.on(ApiKey.DESCRIBE_CONFIGS, answer(DescribeConfigsResponse(results=(refused,))))
        async with world.consumer() as consumer:
            with pytest.raises(GroupAuthorizationFailedError, match="needs DESCRIBE_CONFIGS on the group g "):
                await consumer.group_config()

    simulate(program)


def test_a_coordinator_that_still_loads_is_asked_again() -> None:
    async def program(world: World) -> None:
        await world.produce(values(3))
        told = DescribeShareGroupOffsetsResponseGroup(group_id="g", error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        loading = answer(DescribeShareGroupOffsetsResponse(groups=(told,)))
        async with world.consumer() as consumer:
            await consumer.subscribe([TOPIC])
            await take(consumer, 3)
            await consumer.commit_sync()
            world.cluster.faults.on(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, loading, times=5)
            assert await consumer.lag() == {TopicPartition(TOPIC, 0): 0}

    simulate(program)


def test_nobody_answers_within_the_time() -> None:
    async def program(world: World) -> None:
        async with world.consumer() as consumer:
            await world.cluster.stop_broker_async(1)
            for ask in (consumer.lag, consumer.group_config):
                question: Callable[..., Any] = ask
                before_ms = world.clock.now_ms()
                with pytest.raises((NetworkError, OperationTimeoutError)):
                    await question(timeout=3)
                assert 2_800 <= world.clock.now_ms() - before_ms <= 3_100
            await world.cluster.start_broker_async(1)

    simulate(program)


def test_the_blocking_consumer_asks_before_it_is_subscribed_and_ends_its_thread() -> None:
    with EmbeddedCluster() as cluster:
        cluster.create_topic(TOPIC, 2)
        with KafkaShareConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id="g") as consumer:
            assert consumer.lag([TOPIC]) == {TopicPartition(TOPIC, 0): None, TopicPartition(TOPIC, 1): None}
            assert consumer.lag() == {}
            assert consumer.group_config()["share.auto.offset.reset"] == "latest"
            with pytest.raises(ConfigurationError):
                consumer.lag("orders")
