"""Offsets of streams groups by the admin client: described with lag, altered, deleted."""

from typing import Any

import pytest

from kafka_groups.admin import AsyncKafkaAdmin, StreamsGroupOffset
from kafka_groups.broker.faults import answer
from kafka_groups.errors import (
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    GroupSubscribedToTopicError,
    NonEmptyGroupError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafka_groups.protocol.messages.offset_delete import OffsetDeleteResponse
from kafka_groups.protocol.messages.offset_fetch import OffsetFetchResponse, OffsetFetchResponseGroup
from kafka_groups.types import TopicPartition
from tests.support.members.streams_topologies import sent, subtopology
from tests.unit.admin.worlds import FIRST, TOPIC, AdminWorld, simulate

AT_ONCE = {"group.streams.initial.rebalance.delay.ms": 0, "group.streams.assignment.interval.ms": 0}
SECOND, THIRD = TopicPartition(TOPIC, 1), TopicPartition(TOPIC, 2)
READS = sent(subtopology("0", sources=(TOPIC,)))


async def empty_group(world: AdminWorld, group_id: str = "app") -> None:
    """Make a streams group whose only member has left; its topic has five records."""
    world.cluster.produce(TOPIC, [str(number) for number in range(5)], partition=0)
    member = await world.streams_member(group_id)
    assert (await member.join(READS)).error == "NONE"
    await member.leave()


def with_versions(world: AdminWorld, **highest: int) -> None:
    """Let the brokers have these newest versions of some APIs, and the usual ones of others."""
    apis = {ApiKey.API_VERSIONS: 4, ApiKey.METADATA: 12, ApiKey.FIND_COORDINATOR: 4, ApiKey.STREAMS_GROUP_DESCRIBE: 0}
    apis |= {ApiKey.LIST_OFFSETS: 9} | {ApiKey[name]: version for name, version in highest.items()}
    listed = tuple(ApiVersion(api_key=int(key), min_version=0, max_version=high) for key, high in apis.items())
    world.cluster.faults.on(ApiKey.API_VERSIONS, answer(lambda _request: ApiVersionsResponse(api_keys=listed)))


def test_offsets_are_altered_described_and_deleted() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await empty_group(world)
            nowhere, unknown = TopicPartition(TOPIC, 9), TopicPartition("nowhere", 0)
            altered = await admin.alter_streams_group_offsets("app", {FIRST: 2, SECOND: 0, nowhere: 1, unknown: 1})
            assert altered.values == {FIRST: None, SECOND: None}
            assert {type(error) for error in altered.errors.values()} == {UnknownTopicOrPartitionError}
            assert str(altered.errors[nowhere]) == f"UNKNOWN_TOPIC_OR_PARTITION: {nowhere}"
            offsets = await admin.describe_streams_group_offsets(["app", "absent"])
            assert isinstance(offsets.errors["absent"], GroupIdNotFoundError)
            assert offsets["app"].values == {
                FIRST: StreamsGroupOffset(2, None, 5, 3),
                SECOND: StreamsGroupOffset(0, None, 0, 0),
                THIRD: StreamsGroupOffset(None, None, 0, 0),
            }
            some = await admin.describe_streams_group_offsets({"app": [THIRD, nowhere]})
            assert list(some["app"].values) == [THIRD]
            assert isinstance(some["app"].errors[nowhere], UnknownTopicOrPartitionError)
            group = (await admin.describe_streams_groups(["app"]))["app"]
            assert (group.state, group.lag, group.total_lag) == ("Empty", {FIRST: 3, SECOND: 0, THIRD: 0}, 3)
            deleted = await admin.delete_streams_group_offsets("app", [TOPIC, nowhere])
            assert deleted.values == {FIRST: None, SECOND: None, THIRD: None}
            assert isinstance(deleted.errors[nowhere], UnknownTopicOrPartitionError)
            offsets = await admin.describe_streams_group_offsets(["app"])
            assert offsets["app"][FIRST] == StreamsGroupOffset(None, None, 5, 5)

    simulate(program, settings=AT_ONCE)


def test_brokers_that_cannot_fetch_offsets_of_several_groups() -> None:
    async def program(world: AdminWorld) -> None:
        await empty_group(world)
        with_versions(world, OFFSET_FETCH=7)
        async with world.admin() as admin:
            group = (await admin.describe_streams_groups(["app"]))["app"]
            assert isinstance(group.lag_error, UnsupportedVersionError)

    simulate(program, settings=AT_ONCE)


def test_offsets_of_a_topic_that_was_deleted_are_gone() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await empty_group(world)
            world.cluster.create_topic("old")
            (await admin.alter_streams_group_offsets("app", {FIRST: 2, TopicPartition("old", 0): 0})).checked()
            assert TopicPartition("old", 0) in (await admin.describe_streams_group_offsets(["app"]))["app"]
            world.cluster.delete_topic("old")
            offsets = (await admin.describe_streams_group_offsets(["app"]))["app"]
            assert list(offsets) == [FIRST, SECOND, THIRD]

    simulate(program, settings=AT_ONCE)


def test_a_group_whose_offsets_you_may_not_see() -> None:
    async def program(world: AdminWorld) -> None:
        refused = OffsetFetchResponseGroup(group_id="app", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        world.cluster.faults.on(ApiKey.OFFSET_FETCH, answer(OffsetFetchResponse(groups=(refused,))))
        async with world.admin() as admin:
            await empty_group(world)
            offsets = await admin.describe_streams_group_offsets(["app"])
            assert isinstance(offsets.errors["app"], GroupAuthorizationFailedError)

    simulate(program, settings=AT_ONCE)


def test_offsets_of_a_group_with_members_stay() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await (await world.streams_member("app")).join(READS)
            with pytest.raises(NonEmptyGroupError, match=r"app has members \(it is Stable\). Stop its application"):
                await admin.alter_streams_group_offsets("app", {FIRST: 1})
            deleted = await admin.delete_streams_group_offsets("app", [FIRST])
            assert isinstance(deleted.errors[FIRST], GroupSubscribedToTopicError)

    simulate(program, settings=AT_ONCE)


def committing(code: ErrorCode) -> Any:
    """OffsetCommit fails for each partition."""

    def response(request: OffsetCommitRequest) -> OffsetCommitResponse:
        partitions = (OffsetCommitResponsePartition(partition_index=0, error_code=code),)
        (topic,) = request.topics
        return OffsetCommitResponse(
            topics=(OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions),)
        )

    return answer(response)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.UNKNOWN_MEMBER_ID, NonEmptyGroupError),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, GroupAuthorizationFailedError),
    ],
)
def test_a_commit_that_the_group_refuses_raises(code: ErrorCode, error: type[Exception]) -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await empty_group(world)
            world.cluster.faults.on(ApiKey.OFFSET_COMMIT, committing(code))
            with pytest.raises(error):
                await admin.alter_streams_group_offsets("app", {FIRST: 1})

    simulate(program, settings=AT_ONCE)


def test_a_coordinator_that_loads_is_asked_again() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await empty_group(world)
            loading = committing(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            rule = world.cluster.faults.on(ApiKey.OFFSET_COMMIT, loading, times=2)
            assert (await admin.alter_streams_group_offsets("app", {FIRST: 1})).values == {FIRST: None}
            assert rule.is_spent

    simulate(program, settings=AT_ONCE)


CHANGES: dict[str, Any] = {
    "alter": lambda admin: admin.alter_streams_group_offsets("g", {FIRST: 1}),
    "delete": lambda admin: admin.delete_streams_group_offsets("g", [FIRST]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_groups_of_other_types_stay_as_they_are(change: str) -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            with pytest.raises(GroupIdNotFoundError):
                await CHANGES[change](admin)
            (await admin.alter_share_group_offsets("g", {FIRST: 3})).checked()
            with pytest.raises(GroupIdNotFoundError):
                await CHANGES[change](admin)
            assert (await admin.describe_share_group_offsets(["g"]))["g"][FIRST].start_offset == 3

    simulate(program)


def test_a_deletion_that_the_group_refuses_raises() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await empty_group(world)
            refusal = OffsetDeleteResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
            world.cluster.faults.on(ApiKey.OFFSET_DELETE, answer(refusal))
            with pytest.raises(GroupAuthorizationFailedError):
                await admin.delete_streams_group_offsets("app", [FIRST])

    simulate(program, settings=AT_ONCE)


def test_topics_that_do_not_exist_are_named() -> None:
    async def program(world: AdminWorld) -> None:
        admin: AsyncKafkaAdmin
        async with world.admin() as admin:
            await empty_group(world)
            with pytest.raises(UnknownTopicOrPartitionError, match="the topic nowhere"):
                await admin.delete_streams_group_offsets("app", [TOPIC, "nowhere"])

    simulate(program, settings=AT_ONCE)
