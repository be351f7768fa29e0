"""Classic groups without members by the admin client, with the topology of their application."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kafka_groups.admin import AsyncKafkaAdmin
from kafka_groups.broker.faults import answer, delay
from kafka_groups.errors import (
    ConfigurationError,
    GroupIdNotFoundError,
    KafkaGroupsError,
    NonEmptyGroupError,
    OperationTimeoutError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_groups.streams import ChangelogTopic, GroupTopology, RepartitionTopic, StreamsBuilder, Subtopology, serdes
from kafka_groups.types import TopicPartition
from tests.support.cluster_client import Topic
from tests.support.members.classic_member import ClassicMember
from tests.support.members.shown_classic_groups import assigned, joined_with
from tests.support.members.streams_topologies import sent, subtopology
from tests.unit.admin.worlds import FIRST, TOPIC, AdminWorld, simulate

AT_ONCE = {
    "group.initial.rebalance.delay.ms": 0,
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.assignment.interval.ms": 0,
}
SECOND, THIRD = TopicPartition(TOPIC, 1), TopicPartition(TOPIC, 2)
WORDS, COUNTS = "app-words-repartition", "app-counts-changelog"
COUNTING = GroupTopology((
    Subtopology(subtopology_id="0", source_topics=(TOPIC,), repartition_sinks=(WORDS,)),
    Subtopology(
        subtopology_id="1",
        repartition_sources=(RepartitionTopic(WORDS),),
        changelogs=(ChangelogTopic(COUNTS), ChangelogTopic("elsewhere-changelog")),
    ),
))  # fmt: skip
INVOICES = GroupTopology((Subtopology(subtopology_id="0", source_topics=("invoices",)),))
RECORDS = 6
Call = Callable[[AsyncKafkaAdmin], Awaitable[object]]


async def joined(world: AdminWorld, group_id: str = "app", protocol: str = "stream") -> ClassicMember:
    """A member of a classic group, which has committed an offset."""
    member = await world.classic_member(group_id, [(protocol, joined_with())])
    await member.join()
    assert (await member.sync({member.member_id: assigned()}))[0] == "NONE"
    found = world.cluster.metadata.topic(TOPIC)
    assert found is not None
    assert await member.commit(Topic(TOPIC, found.topic_id), 2) == "NONE"
    return member


def with_group(test: Callable[[AdminWorld, AsyncKafkaAdmin], Awaitable[None]]) -> None:
    """Run a test with an empty classic group and an admin client."""

    async def program(world: AdminWorld) -> None:
        world.cluster.produce(TOPIC, [str(number) for number in range(RECORDS)], partition=0)
        await (await joined(world)).leave()
        async with world.admin() as admin:
            await test(world, admin)

    simulate(program, settings=AT_ONCE)


async def committed(admin: AsyncKafkaAdmin) -> dict[TopicPartition, int | None]:
    offsets = (await admin.describe_streams_group_offsets(["app"], topology=COUNTING))["app"]
    return {key: offset.offset for key, offset in offsets.values.items()}


async def raised(awaited: Awaitable[object]) -> KafkaGroupsError:
    with pytest.raises(KafkaGroupsError) as caught:
        await awaited
    return caught.value


def test_an_application_is_reset_and_deleted() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        for name in (WORDS, COUNTS):
            world.cluster.create_topic(name)
        word = TopicPartition(WORDS, 0)
        assert await committed(admin) == {FIRST: 2, SECOND: None, THIRD: None, word: None}
        (await admin.alter_streams_group_offsets("app", {word: 0}, topology=COUNTING)).checked()
        reset = await admin.reset_streams_group_offsets("app", "latest", topology=COUNTING)
        assert reset.values == {FIRST: RECORDS, SECOND: 0, THIRD: 0}
        assert await committed(admin) == {**reset.values, word: 0}
        deleted = await admin.delete_streams_group_offsets("app", [word, SECOND], topology=COUNTING)
        assert deleted.values == {word: None, SECOND: None}
        assert await committed(admin) == {FIRST: RECORDS, SECOND: None, THIRD: 0, word: None}
        topics = await admin.delete_streams_group_internal_topics("app", topology=COUNTING)
        assert topics.values == {COUNTS: None, WORDS: None}
        assert (await admin.delete_streams_groups(["app"], topology=COUNTING)).values == {"app": None}
        error = (await admin.describe_streams_group_offsets(["app"], topology=COUNTING)).errors["app"]
        assert isinstance(error, GroupIdNotFoundError)

    with_group(test)


def test_patterns_of_a_topology_read_the_topics_that_exist() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        builder = StreamsBuilder()
        builder.stream(re.compile(r"ord.+"), key=serdes.string, value=serdes.string).to("copies")
        topology = builder.build()
        world.cluster.create_topic("ordinary")
        reset = await admin.reset_streams_group_offsets("app", "earliest", topology=topology)
        assert reset.values == dict.fromkeys([FIRST, SECOND, THIRD, TopicPartition("ordinary", 0)], 0)
        deleted = await admin.delete_streams_group_offsets("app", None, topology=topology)
        assert deleted.values == dict.fromkeys(reset.values)

    with_group(test)


def test_a_topic_that_the_topology_does_not_read_is_refused() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        error = await raised(admin.reset_streams_group_offsets("app", "latest", ["invoices"], topology=COUNTING))
        assert str(error) == f"topics: the classic group app does not read invoices; it reads {WORDS}, {TOPIC}"
        error = await raised(admin.delete_streams_group_internal_topics("app", [TOPIC], topology=COUNTING))
        assert str(error) == (
            f"topics: {TOPIC} is not an internal topic of the classic group app; those are {COUNTS}, {WORDS}"
        )

    with_group(test)


CALLS: dict[str, Callable[[AsyncKafkaAdmin, Any], Awaitable[object]]] = {
    "alter": lambda admin, given: admin.alter_streams_group_offsets("app", {FIRST: 0}, topology=given),
    "reset": lambda admin, given: admin.reset_streams_group_offsets("app", "earliest", topology=given),
    "delete offsets": lambda admin, given: admin.delete_streams_group_offsets("app", [FIRST], topology=given),
    "internal topics": lambda admin, given: admin.delete_streams_group_internal_topics("app", topology=given),
}


async def errors_of(admin: AsyncKafkaAdmin, topology: GroupTopology | None) -> list[KafkaGroupsError]:
    """The errors of all calls."""
    listed = await admin.describe_streams_group_offsets(["app"], topology=topology)
    deleted = await admin.delete_streams_groups(["app"], topology=topology)
    assert not listed.values
    assert not deleted.values
    return [
        listed.errors["app"],
        deleted.errors["app"],
        *[await raised(call(admin, topology)) for call in CALLS.values()],
    ]


def test_without_a_topology_a_classic_group_is_left_alone() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        for error in await errors_of(admin, None):
            assert isinstance(error, GroupIdNotFoundError)
            assert str(error) == (
                "The group app is a classic group (Empty). Brokers do not keep the topology of a classic group: give "
                "that of its application, with topology=, or --topology MODULE:FUNCTION."
            )
        assert (await committed(admin))[FIRST] == 2

    with_group(test)


def test_a_streams_group_has_its_own_topology() -> None:
    async def program(world: AdminWorld) -> None:
        member = await world.streams_member("app")
        assert (await member.join(sent(subtopology("0", sources=(TOPIC,))))).error == "NONE"
        await member.leave()
        async with world.admin() as admin:
            for error in await errors_of(admin, COUNTING):
                assert isinstance(error, GroupIdNotFoundError)
                assert str(error) == (
                    "The group app is a streams group and not a classic group. Brokers keep its topology: leave "
                    "topology out."
                )

    simulate(program, settings=AT_ONCE)


@pytest.mark.parametrize("protocol", ["stream", "range"])
def test_a_group_with_members_is_left_alone(protocol: str) -> None:
    async def program(world: AdminWorld) -> None:
        await joined(world, protocol=protocol)
        async with world.admin() as admin:
            errors = [await raised(call(admin, COUNTING)) for name, call in CALLS.items() if name != "delete offsets"]
            errors.append((await admin.delete_streams_groups(["app"], topology=COUNTING)).errors["app"])
        kind = NonEmptyGroupError if protocol == "stream" else GroupIdNotFoundError
        assert {type(error) for error in errors} == {kind}
        if protocol == "stream":
            text = "The classic group app has members (it is Stable). Stop its application first."
            assert {str(error) for error in errors[:-1]} == {text}

    simulate(program, settings=AT_ONCE)


def test_offsets_of_a_running_application_are_shown_but_not_deleted() -> None:
    async def program(world: AdminWorld) -> None:
        await joined(world)
        async with world.admin() as admin:
            assert (await committed(admin))[FIRST] == 2
            deleted = await admin.delete_streams_group_offsets("app", [FIRST], topology=COUNTING)
            assert "GROUP_SUBSCRIBED_TO_TOPIC" in str(deleted.errors[FIRST])

    simulate(program, settings=AT_ONCE)


def test_a_member_that_joins_before_the_offsets_are_set() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        sent = asyncio.Event()

        def is_sent(_request: object) -> bool:
            sent.set()
            return True

        world.cluster.faults.on(ApiKey.OFFSET_COMMIT, delay(1_000), when=is_sent)
        member = await world.classic_member("app", [("stream", joined_with())])
        altered = asyncio.create_task(raised(admin.alter_streams_group_offsets("app", {FIRST: 0}, topology=COUNTING)))
        await sent.wait()
        await member.join()
        error = await altered
        assert isinstance(error, NonEmptyGroupError)
        assert str(error) == "The classic group app has members (one has just joined). Stop its application first."

    with_group(test)


def test_a_group_of_other_topics_is_probably_another_one() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        errors = [await raised(call(admin, INVOICES)) for call in CALLS.values()]
        errors.append((await admin.delete_streams_groups(["app"], topology=INVOICES)).errors["app"])
        for error in errors:
            assert isinstance(error, ConfigurationError)
            assert str(error) == (
                "topology: the classic group app has committed offsets of orders, and the topology reads invoices. "
                "Give the topology of the group's application."
            )
        assert (await committed(admin))[FIRST] == 2

    with_group(test)


def test_a_topology_that_is_none_is_refused() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        wrong: Any = "app:build"
        error = await raised(admin.delete_streams_groups(["app"], topology=wrong))
        assert isinstance(error, ConfigurationError)
        assert str(error).startswith("topology='app:build' is not a topology: give the Topology that")

    with_group(test)


# ------------------------------------------------------------------------------------------ forgotten groups


def test_topics_of_a_group_that_brokers_have_forgotten() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            world.cluster.create_topic(COUNTS)
            done = await admin.delete_streams_group_internal_topics("app", topology=COUNTING)
            assert (done.values, done.errors) == ({COUNTS: None}, {})
            named = await admin.delete_streams_group_internal_topics("app", [WORDS], topology=COUNTING)
            assert isinstance(named.errors[WORDS], UnknownTopicOrPartitionError)
            error = await raised(admin.reset_streams_group_offsets("app", "earliest", topology=COUNTING))
            assert isinstance(error, GroupIdNotFoundError)

    simulate(program, settings=AT_ONCE)


def test_a_group_of_another_type_is_not_forgotten() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            world.cluster.create_topic(COUNTS)
            (await admin.alter_share_group_offsets("app", {FIRST: 0})).checked()
            error = await raised(admin.delete_streams_group_internal_topics("app", topology=COUNTING))
            assert str(error) == "The group app is a share group and not a classic group."
            assert world.cluster.metadata.topic(COUNTS) is not None

    simulate(program, settings=AT_ONCE)


def test_a_broker_that_does_not_list_its_groups_may_have_the_group() -> None:
    async def program(world: AdminWorld) -> None:
        world.cluster.create_topic(COUNTS)
        world.cluster.faults.on(ApiKey.LIST_GROUPS, delay(60_000), times=1)
        async with world.admin() as admin:
            error = await raised(admin.delete_streams_group_internal_topics("app", topology=COUNTING, timeout=5))
            assert isinstance(error, OperationTimeoutError)
            assert world.cluster.metadata.topic(COUNTS) is not None

    simulate(program, settings=AT_ONCE)


def test_brokers_without_streams_groups() -> None:
    """As before Kafka 4.2, if the topology is not given, and if it is."""
    highest = {ApiKey.API_VERSIONS: 4, ApiKey.METADATA: 12, ApiKey.FIND_COORDINATOR: 4, ApiKey.LIST_GROUPS: 4}
    highest |= {ApiKey.DESCRIBE_GROUPS: 5, ApiKey.OFFSET_FETCH: 8, ApiKey.LIST_OFFSETS: 8}
    listed = tuple(ApiVersion(api_key=int(key), min_version=0, max_version=high) for key, high in highest.items())

    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        world.cluster.faults.on(ApiKey.API_VERSIONS, answer(lambda _request: ApiVersionsResponse(api_keys=listed)))
        async with world.admin() as older:
            assert (await committed(older))[FIRST] == 2
            found = (await older.describe_streams_group_offsets(["app", "absent"])).errors
            assert str(found["app"]).startswith("The group app is a classic group (Empty). Brokers do not keep")
            assert "Streams groups need Kafka 4.2 or newer" in str(found["absent"])
            absent = (await older.describe_streams_group_offsets(["absent"], topology=COUNTING)).errors["absent"]
            assert str(absent) == "There is no classic group absent."

    with_group(test)
