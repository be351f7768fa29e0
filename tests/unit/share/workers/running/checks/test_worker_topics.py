"""Topics that a worker writes to are created when they are missing."""

import pytest

from kafka_groups.admin.rules.topics import replicas_of_topics
from kafka_groups.broker.faults import answer
from kafka_groups.errors import ConfigurationError, OperationTimeoutError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from kafka_groups.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_groups.share import RetryTopics, Worker
from kafka_groups.share.aio import hooks_of
from kafka_groups.share.workers.running.checks.worker_topics import create_worker_topics
from tests.unit.share.clusters import TOPIC
from tests.unit.share.workers.worlds import DEAD, WorkerWorld, simulate

DAY_MS = 86_400_000


def worker_of(world: WorkerWorld, *topics: str, dead_letters: str = "letters") -> Worker:
    worker = world.worker()

    @worker.handler(topics, dead_letters=dead_letters, retry_topics=RetryTopics("r", delays=(10, 345_600)))
    async def handle(value: bytes) -> None: ...

    return worker


async def created(world: WorkerWorld, worker: Worker) -> list[str]:
    return list(await create_worker_topics(world.settings(), worker.handlers))


def refusing(world: WorkerWorld, code: ErrorCode, *topics: str) -> None:
    results = tuple(CreatableTopicResult(name=topic, error_code=code, error_message="no") for topic in topics)
    world.cluster.faults.on(ApiKey.CREATE_TOPICS, answer(CreateTopicsResponse(topics=results)))


def test_missing_topics_have_as_many_partitions_as_the_first_topic_of_the_handler() -> None:
    async def program(world: WorkerWorld) -> None:
        assert await created(world, worker_of(world, TOPIC)) == ["letters", "r.10s", "r.4d"]
        consumer = world.consumer()
        group = hooks_of(consumer).group
        found = await group._answer(lambda ask: replicas_of_topics(ask, ["letters", "r.10s", "r.4d"]), 10_000)
        assert {name: topic.count for name, topic in found.values.items()} == {"letters": 3, "r.10s": 3, "r.4d": 3}
        configs = await group.topic_configs(["letters", "r.10s", "r.4d"], 10_000)
        keys = ("message.timestamp.type", "cleanup.policy", "retention.ms")
        assert [configs["r.10s"][key] for key in keys] == ["LogAppendTime", "delete", str(7 * DAY_MS)]
        assert [configs["r.4d"][key] for key in keys] == ["LogAppendTime", "delete", str(16 * DAY_MS)]
        assert configs["letters"]["message.timestamp.type"] == "CreateTime"
        await consumer.close()

    simulate(program, partitions=3)


def test_outputs_are_created_like_topics_for_dead_letters() -> None:
    async def program(world: WorkerWorld) -> None:
        worker = world.worker()

        @worker.handler(TOPIC, output=["invoices", DEAD])
        async def handle(value: bytes) -> None: ...

        assert await created(world, worker) == ["invoices"]
        assert await created(world, worker) == []

    simulate(program, partitions=3)


def test_topics_that_exist_stay_as_they_are() -> None:
    async def program(world: WorkerWorld) -> None:
        world.cluster.create_topic("r.10s", 7)
        assert await created(world, worker_of(world, TOPIC, dead_letters=DEAD)) == ["r.4d"]
        assert await created(world, worker_of(world, TOPIC, dead_letters=DEAD)) == []

    simulate(program)


def test_a_topic_that_another_process_has_created_meanwhile_is_no_error() -> None:
    async def program(world: WorkerWorld) -> None:
        for topic in ("r.10s", "r.4d"):
            world.cluster.create_topic(topic, 1)
        known = [MetadataResponsePartition(partition_index=0, leader_id=0, replica_nodes=(0,), isr_nodes=(0,))]
        topics = [MetadataResponseTopic(name=topic, partitions=tuple(known)) for topic in (TOPIC, DEAD)]
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        topics += [MetadataResponseTopic(name=topic, error_code=unknown) for topic in ("r.10s", "r.4d")]
        rule = world.cluster.faults.on(
            ApiKey.METADATA, answer(MetadataResponse(topics=tuple(topics))), when=lambda it: bool(it.topics), times=1
        )
        assert await created(world, worker_of(world, TOPIC, dead_letters=DEAD)) == []
        assert rule.hits == 1

    simulate(program)


def test_the_first_topic_of_a_handler_must_exist() -> None:
    async def program(world: WorkerWorld) -> None:
        with pytest.raises(ConfigurationError, match=r"handler handle: the topic missing does not exist, so .* Create"):
            await created(world, worker_of(world, "missing", TOPIC))

    simulate(program)


def test_without_the_right_to_create_topics_the_message_says_what_to_create() -> None:
    async def program(world: WorkerWorld) -> None:
        refusing(world, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "r.10s", "r.4d")
        with pytest.raises(ConfigurationError) as caught:
            await created(world, worker_of(world, TOPIC, dead_letters=DEAD))
        text = str(caught.value)
        assert text.startswith("Could not create the 2 topics r.10s, r.4d. Create these: ")
        assert text.endswith("acls add --allow User:ANONYMOUS --topic r.10s --operation CREATE")
        assert "r.10s with 1 partition and message.timestamp.type=LogAppendTime, cleanup.policy=delete" in text

    simulate(program)


def test_brokers_that_cannot_create_topics_now_are_no_mistake() -> None:
    async def program(world: WorkerWorld) -> None:
        refusing(world, ErrorCode.REQUEST_TIMED_OUT, "r.10s", "r.4d")
        with pytest.raises(OperationTimeoutError, match="Could not create the topic"):
            await created(world, worker_of(world, TOPIC, dead_letters=DEAD))

    simulate(program)
