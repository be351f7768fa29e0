"""Questions about topics of a cluster: to create some."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kafka_groups.admin.rules.topics import TopicToCreate, create_topics, partitions_of_topics
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.client.calls.questions import Asking
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import (
    BrokerError,
    InvalidConfigError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.targets import Target, everywhere

TIMEOUT_MS = 30_000


@asynccontextmanager
async def asking(target: Target) -> AsyncIterator[Asking]:
    config = admin_config(bootstrap_servers=target.bootstrap_servers)
    client = admin_client(config, Environment(network=target.network))
    try:
        yield client.within(TIMEOUT_MS)
    finally:
        await client.close()


@everywhere
async def test_topics_are_created_with_their_numbers_of_partitions(target: Target) -> None:
    topics = {unique("topic"): TopicToCreate(count, configs={"cleanup.policy": "compact"}) for count in (1, 3)}
    async with asking(target) as ask:
        assert (await create_topics(ask, topics)).checked().values == dict.fromkeys(topics)
        found = await until(lambda: partitions_of_topics(ask, topics), lambda it: not it.errors)
        assert [len(found[name]) for name in topics] == [1, 3]
        again = await create_topics(ask, topics)
        for name in topics:
            assert isinstance(again.errors[name], TopicAlreadyExistsError)
            assert str(again.errors[name]) == f"Topic '{name}' already exists."


@everywhere
async def test_each_topic_has_an_error_of_its_own(target: Target) -> None:
    wrong: dict[str, tuple[TopicToCreate, type[BrokerError]]] = {
        unique("partitions"): (TopicToCreate(0), InvalidPartitionsError),
        unique("replicas"): (TopicToCreate(1, 3), InvalidReplicationFactorError),
        unique("configs"): (TopicToCreate(1, configs={"cleanup.policy": "never"}), InvalidConfigError),
        "no topic": (TopicToCreate(1), InvalidTopicError),
    }
    right = unique("topic")
    async with asking(target) as ask:
        done = await create_topics(ask, {name: topic for name, (topic, _) in wrong.items()} | {right: TopicToCreate(1)})
    assert done.values == {right: None}
    for name, (_, error) in wrong.items():
        assert isinstance(done.errors[name], error)
        assert str(done.errors[name])


@everywhere
async def test_a_check_creates_no_topic(target: Target) -> None:
    name = unique("topic")
    async with asking(target) as ask:
        assert (await create_topics(ask, {name: TopicToCreate(2)}, validate_only=True)).values == {name: None}
        found = await partitions_of_topics(ask, [name])
    assert isinstance(found.errors[name], UnknownTopicOrPartitionError)


@everywhere
async def test_two_topics_that_are_too_large_for_one_request(target: Target) -> None:
    topics = {unique("large"): TopicToCreate(6_000) for _ in range(2)}
    async with asking(target) as ask:
        assert (await create_topics(ask, topics, validate_only=True)).values == dict.fromkeys(topics)
