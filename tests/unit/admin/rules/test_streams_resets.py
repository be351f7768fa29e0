"""Resets of streams groups by the admin client, and the deletion of their internal topics."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_groups.admin import AsyncKafkaAdmin
from kafka_groups.broker.faults import answer, delay
from kafka_groups.client.assembly import Environment
from kafka_groups.errors import (
    ConfigurationError,
    GroupIdNotFoundError,
    IllegalStateError,
    NonEmptyGroupError,
    OperationTimeoutError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_groups.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kafka_groups.types import TopicPartition
from tests.support.members.streams_topologies import internal, sent, subtopology
from tests.unit.admin.worlds import FIRST, TOPIC, AdminWorld, simulate

AT_ONCE = {"group.streams.initial.rebalance.delay.ms": 0, "group.streams.assignment.interval.ms": 0}
SECOND, THIRD = TopicPartition(TOPIC, 1), TopicPartition(TOPIC, 2)
WORDS, COUNTS = "app-words-repartition", "app-counts-changelog"
WORD = TopicPartition(WORDS, 0)
READS = sent(subtopology("0", sources=(TOPIC,)))
COUNTING = sent(
    subtopology("0", sources=(TOPIC,), sinks=(WORDS,)),
    subtopology("1", repartitions=(internal(WORDS),), changelogs=(internal(COUNTS), internal("elsewhere-changelog"))),
)
RECORDS = 6


async def empty_group(world: AdminWorld, topology: Any = READS) -> None:
    """Make a streams group whose only member has left; its topic has records in the first two partitions."""
    for partition in (0, 1):
        world.cluster.produce(TOPIC, [str(number) for number in range(RECORDS)], partition=partition)
    member = await world.streams_member("app")
    assert (await member.join(topology)).error == "NONE"
    await member.leave()


async def until_topics(world: AdminWorld, *names: str) -> None:
    """Heartbeat until the coordinator has created internal topics."""
    member = await world.streams_member("app")
    while any(world.cluster.metadata.topic(name) is None for name in names):
        await member.join(COUNTING)
    await member.leave()


def with_group(test: Callable[[AdminWorld, AsyncKafkaAdmin], Awaitable[None]], topology: Any = READS) -> None:
    """Run a test with an empty group and an admin client."""

    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await empty_group(world, topology)
            await test(world, admin)

    simulate(program, settings=AT_ONCE)


async def committed(admin: AsyncKafkaAdmin) -> dict[TopicPartition, int | None]:
    offsets = (await admin.describe_streams_group_offsets(["app"]))["app"]
    return {key: offset.offset for key, offset in offsets.values.items()}


def test_all_input_topics_are_reset_or_some() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        ends = {FIRST: RECORDS, SECOND: RECORDS, THIRD: 0}
        assert (await admin.reset_streams_group_offsets("app", "latest", dry_run=True)).values == ends
        assert await committed(admin) == dict.fromkeys(ends)
        assert (await admin.reset_streams_group_offsets("app", "latest")).values == ends
        assert await committed(admin) == ends
        assert (await admin.reset_streams_group_offsets("app", "earliest", [SECOND])).values == {SECOND: 0}
        assert await committed(admin) == {**ends, SECOND: 0}
        whole = await admin.reset_streams_group_offsets("app", "earliest", [TOPIC, FIRST])
        assert whole.values == dict.fromkeys(ends, 0)
        future = datetime(2100, 1, 1, tzinfo=UTC)
        assert (await admin.reset_streams_group_offsets("app", future)).values == ends

    with_group(test)


def test_offsets_that_do_not_exist_become_the_nearest_ones() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        reset = await admin.reset_streams_group_offsets("app", 4)
        assert reset.values == {FIRST: 4, SECOND: 4, THIRD: 0}
        given = {FIRST: 2, SECOND: 100}
        assert (await admin.reset_streams_group_offsets("app", given)).values == {FIRST: 2, SECOND: RECORDS}
        shifted = await admin.reset_streams_group_offsets("app", shift_by=-3, topics=[FIRST, SECOND])
        assert shifted.values == {FIRST: 0, SECOND: RECORDS - 3}
        assert (await admin.reset_streams_group_offsets("app", shift_by=1)).values == {FIRST: 1, SECOND: 4, THIRD: 0}

    with_group(test)


def test_relative_resets_are_for_partitions_with_a_committed_offset() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        assert len(await admin.reset_streams_group_offsets("app", shift_by=1)) == 0
        assert len(await admin.reset_streams_group_offsets("app", "current")) == 0
        (await admin.alter_streams_group_offsets("app", {FIRST: 2})).checked()
        assert (await admin.reset_streams_group_offsets("app", shift_by=1)).values == {FIRST: 3}
        assert (await admin.reset_streams_group_offsets("app", "current")).values == {FIRST: 3}
        shifted = await admin.reset_streams_group_offsets("app", shift_by=1, topics=[FIRST, SECOND])
        assert shifted.values == {FIRST: 4}
        assert isinstance(shifted.errors[SECOND], IllegalStateError)
        assert "orders-1 has no committed offset" in str(shifted.errors[SECOND])
        assert await committed(admin) == {FIRST: 4, SECOND: None, THIRD: None}
        current = await admin.reset_streams_group_offsets("app", "current", [FIRST, SECOND])
        assert current.values == {FIRST: 4, SECOND: RECORDS}

    with_group(test)


def test_a_partition_that_does_not_exist_stops_no_other() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        nowhere = TopicPartition(TOPIC, 9)
        for to in ("latest", 3):
            reset = await admin.reset_streams_group_offsets("app", to, [FIRST, nowhere])
            assert list(reset.values) == [FIRST]
            assert isinstance(reset.errors[nowhere], UnknownTopicOrPartitionError)

    with_group(test)


def test_topics_that_the_group_does_not_read_are_refused() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        world.cluster.create_topic("invoices")
        wanted: list[list[str | TopicPartition]] = [["invoices"], [TOPIC, TopicPartition("invoices", 0)]]
        for topics in wanted:
            with pytest.raises(ConfigurationError, match="group app does not read invoices; it reads orders"):
                await admin.reset_streams_group_offsets("app", "latest", topics)
        with pytest.raises(ConfigurationError, match="does not read invoices"):
            await admin.reset_streams_group_offsets("app", {TopicPartition("invoices", 0): 1})
        (await admin.alter_streams_group_offsets("app", {TopicPartition("invoices", 0): 0})).checked()
        assert len(await admin.reset_streams_group_offsets("app", "latest", ["invoices"])) == 1

    with_group(test)


def test_a_source_topic_that_is_gone_is_named() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        world.cluster.delete_topic(TOPIC)
        with pytest.raises(UnknownTopicOrPartitionError, match=TOPIC):
            await admin.reset_streams_group_offsets("app", "latest")

    with_group(test)


def test_ends_that_are_not_told_are_errors() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        world.cluster.faults.on(ApiKey.LIST_OFFSETS, delay(60_000))
        reset = await admin.reset_streams_group_offsets("app", 3, [FIRST], timeout=2)
        assert (list(reset.values), list(reset.errors)) == ([], [FIRST])
        assert isinstance(reset.errors[FIRST], OperationTimeoutError)

    with_group(test)


def test_a_group_with_members_is_not_reset() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await (await world.streams_member("app")).join(READS)
            with pytest.raises(NonEmptyGroupError, match="app has members"):
                await admin.reset_streams_group_offsets("app", "latest", dry_run=True)
            with pytest.raises(NonEmptyGroupError, match="app has members"):
                await admin.delete_streams_group_internal_topics("app")
            for absent in (
                admin.reset_streams_group_offsets("absent", "latest"),
                admin.delete_streams_group_internal_topics("absent"),
            ):
                with pytest.raises(GroupIdNotFoundError):
                    await absent

    simulate(program, settings=AT_ONCE)


def test_internal_topics_are_deleted() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        await until_topics(world, WORDS, COUNTS, "elsewhere-changelog")
        for strange in (TOPIC, "elsewhere-changelog"):
            with pytest.raises(ConfigurationError, match=f"{strange} is not an internal topic .* those are {COUNTS}"):
                await admin.delete_streams_group_internal_topics("app", [COUNTS, strange])
        assert (await admin.delete_streams_group_internal_topics("app", [COUNTS])).values == {COUNTS: None}
        deleted = await admin.delete_streams_group_internal_topics("app")
        assert deleted.values == {WORDS: None}
        assert isinstance(deleted.errors[COUNTS], UnknownTopicOrPartitionError)
        assert world.cluster.metadata.topic("elsewhere-changelog") is not None
        assert world.cluster.metadata.topic(TOPIC) is not None

    with_group(test, COUNTING)


def test_repartition_topics_are_reset_by_their_names() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        await until_topics(world, WORDS)
        assert WORD not in await admin.reset_streams_group_offsets("app", "latest")
        assert WORD in await admin.reset_streams_group_offsets("app", "latest", [WORDS])

    with_group(test, COUNTING)


def test_a_group_without_internal_topics() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        assert len(await admin.delete_streams_group_internal_topics("app")) == 0
        with pytest.raises(ConfigurationError, match="those are none"):
            await admin.delete_streams_group_internal_topics("app", ["app-x-changelog"])

    with_group(test)


def test_a_topic_that_you_may_not_delete() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        refused = DeletableTopicResult(name=COUNTS, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        world.cluster.faults.on(ApiKey.DELETE_TOPICS, answer(DeleteTopicsResponse(responses=(refused,))))
        error = (await admin.delete_streams_group_internal_topics("app", [COUNTS])).errors[COUNTS]
        assert isinstance(error, TopicAuthorizationFailedError)
        assert str(error).startswith(f"User:ANONYMOUS needs DELETE on the topic {COUNTS} (TOPIC_AUTHORIZATION_FAILED).")

    with_group(test, COUNTING)


def test_brokers_that_delete_topics_by_name_alone() -> None:
    seen: list[DeleteTopicsRequest] = []

    def deleted(request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        seen.append(request)
        return DeleteTopicsResponse(responses=(DeletableTopicResult(name=COUNTS),))

    highest = {ApiKey.API_VERSIONS: 4, ApiKey.METADATA: 12, ApiKey.FIND_COORDINATOR: 4}
    highest |= {ApiKey.STREAMS_GROUP_DESCRIBE: 0, ApiKey.DELETE_TOPICS: 5}
    listed = tuple(ApiVersion(api_key=int(key), min_version=0, max_version=high) for key, high in highest.items())

    async def program(world: AdminWorld) -> None:
        await empty_group(world, COUNTING)
        world.cluster.faults.on(ApiKey.API_VERSIONS, answer(lambda _request: ApiVersionsResponse(api_keys=listed)))
        world.cluster.faults.on(ApiKey.DELETE_TOPICS, answer(deleted))
        async with world.admin() as admin:
            assert (await admin.delete_streams_group_internal_topics("app", [COUNTS])).values == {COUNTS: None}

    simulate(program, settings=AT_ONCE)
    assert [(request.topic_names, request.topics) for request in seen] == [((COUNTS,), ())]


WRONG: dict[str, Callable[[Any], Awaitable[object]]] = {
    "exactly one of the two": lambda admin: admin.reset_streams_group_offsets("g"),
    "group_id: '' is not a name": lambda admin: admin.reset_streams_group_offsets("", "latest"),
    "topics='t': give a list": lambda admin: admin.delete_streams_group_internal_topics("g", "t"),
    "topics is empty": lambda admin: admin.delete_streams_group_offsets("g", []),
    "group_ids='g': give a list": lambda admin: admin.describe_streams_groups("g"),
    "states='Empty': give a list": lambda admin: admin.list_streams_groups(states="Empty"),
    "offsets is empty": lambda admin: admin.alter_streams_group_offsets("g", {}),
    "groups: 0 is not a TopicPartition": lambda admin: admin.describe_streams_group_offsets({"g": [0]}),
}


@pytest.mark.parametrize("message", WRONG)
async def test_wrong_arguments_are_named(message: str) -> None:
    async with AsyncKafkaAdmin(bootstrap_servers="nobody:9", environment=Environment(MemoryNetwork())) as admin:
        with pytest.raises(ConfigurationError) as raised:
            await WRONG[message](admin)
    assert message in str(raised.value)


def test_a_dictionary_of_offsets_goes_without_topics() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        with pytest.raises(ConfigurationError, match="leave topics out"):
            await admin.reset_streams_group_offsets("app", {FIRST: 1}, [TOPIC])
        with pytest.raises(ConfigurationError, match="topics='orders': give a list"):
            await admin.reset_streams_group_offsets("app", "latest", "orders")

    with_group(test)
