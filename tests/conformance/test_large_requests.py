"""How many partitions one request may add."""

from collections.abc import Sequence

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafka_groups.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.support.kafka.real_kafka import unique
from tests.support.targets import Target, everywhere

LARGEST = 2**31 - 1
TOO_MANY = "Excessively large number of partitions per request."
TOO_MANY_RECORDS = "Unable to perform excessively large batch operation."
TOO_MANY_ADDED = "Excessively large number of additional partitions per request."
REFUSED, FINE = ErrorCode.POLICY_VIOLATION, ErrorCode.NONE

Outcome = tuple[str, ErrorCode, str | None]


def topic(name: str, partitions: int, factor: int = 1, configs: Sequence[str] = ()) -> CreatableTopic:
    wanted = tuple(CreatableTopicConfig(name=key, value="5") for key in configs)
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor, configs=wanted)


def assigned(name: str, partitions: int) -> CreatableTopic:
    assignments = tuple(CreatableReplicaAssignment(partition_index=i, broker_ids=(1,)) for i in range(partitions))
    return CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments)


async def validated(target: Target, *topics: CreatableTopic) -> list[Outcome]:
    """What a broker says to topics that it is to create some day; without a message where all is fine."""
    request = CreateTopicsRequest(topics=topics, timeout_ms=15_000, validate_only=True)
    async with target.client() as client:
        response = await client.ask(request)
    return sorted((each.name, each.error_code, each.error_message) for each in response.topics)


async def grown(target: Target, *wanted: tuple[str, int]) -> list[Outcome]:
    topics = tuple(CreatePartitionsTopic(name=name, count=count, assignments=None) for name, count in wanted)
    request = CreatePartitionsRequest(topics=topics, timeout_ms=15_000, validate_only=True)
    async with target.client() as client:
        response = await client.ask(request)
    return sorted((each.name, each.error_code, each.error_message) for each in response.results)


@everywhere
async def test_too_many_partitions_of_new_topics(target: Target) -> None:
    for one in (10_001, LARGEST):
        assert await validated(target, topic("a", one)) == [("a", REFUSED, TOO_MANY)]
    # All topics are refused, whatever else is wrong with them.
    both = [("a", REFUSED, TOO_MANY), ("b c", REFUSED, TOO_MANY)]
    assert await validated(target, topic("a", 10_000), topic("b c", 1, 99)) == both
    assert await validated(target, topic("a", LARGEST), topic("b c", LARGEST)) == both
    assert await validated(target, assigned("a", 10_001)) == [("a", REFUSED, TOO_MANY)]


@everywhere
async def test_as_many_partitions_of_new_topics_as_there_may_be(target: Target) -> None:
    # The controller writes a record for each topic, config and partition, and 10,000 of them at once.
    assert await validated(target, topic("a", 9_999)) == [("a", FINE, None)]
    assert await validated(target, topic("a", 10_000)) == [("a", REFUSED, TOO_MANY_RECORDS)]
    assert await validated(target, topic("a", 9_998, configs=["retention.ms"])) == [("a", FINE, None)]
    with_config = topic("a", 9_999, configs=["retention.ms"])
    assert await validated(target, with_config) == [("a", REFUSED, TOO_MANY_RECORDS)]
    assert await validated(target, topic("a", 5_000), topic("b", 4_998)) == [("a", FINE, None), ("b", FINE, None)]
    # Topics that cannot be created anyway, and those that are listed twice, need no records.
    outcomes = await validated(target, topic("a", 9_000, 99), topic("b", 1_000))
    assert [outcome[:2] for outcome in outcomes] == [("a", ErrorCode.INVALID_REPLICATION_FACTOR), ("b", FINE)]
    outcomes = await validated(target, topic("a", 9_000), topic("a", 9_000), topic("b", 1_001))
    assert [outcome[:2] for outcome in outcomes] == [("a", ErrorCode.INVALID_REQUEST), ("b", FINE)]


@everywhere
async def test_too_many_partitions_for_existing_topics(target: Target) -> None:
    first, second = unique("first"), unique("second")
    for name in (first, second):
        await target.cluster.create_topic(2, name=name)
    assert await grown(target, (first, 10_002)) == [(first, FINE, None)]
    for count in (10_003, LARGEST):
        assert await grown(target, (first, count)) == [(first, REFUSED, TOO_MANY_ADDED)]
    assert await grown(target, (first, 5_002), (second, 5_002)) == [(first, FINE, None), (second, FINE, None)]
    outcomes = await grown(target, (first, 5_002), (second, 5_003), ("unknown", 3))
    assert outcomes == [(name, REFUSED, TOO_MANY_ADDED) for name in (first, second, "unknown")]
    assert await grown(target, (first, 2), (second, LARGEST)) == [
        (first, REFUSED, TOO_MANY_ADDED),
        (second, REFUSED, TOO_MANY_ADDED),
    ]
    outcomes = await grown(target, (first, 9_000), (first, 9_000), ("unknown", LARGEST))
    assert [outcome[:2] for outcome in outcomes] == [
        (first, ErrorCode.INVALID_REQUEST),
        ("unknown", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
