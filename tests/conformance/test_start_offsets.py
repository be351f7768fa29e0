"""Administrators set and delete the start offsets of share groups without members (APIs 91 and 92)."""

import pytest

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from kafka_groups.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kafka_groups.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.consuming import consume, values
from tests.support.members.listed_groups import listed_groups
from tests.support.requests.share_coordinator import SharePartitionState
from tests.support.targets import EXPLICIT, Target, everywhere

RECORDS = 10
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
NONE = ErrorCode.NONE

Offsets = dict[int, int]


async def alter(target: Target, group_id: str, *topics: tuple[str, Offsets]) -> AlterShareGroupOffsetsResponse:
    wanted = tuple(
        AlterShareGroupOffsetsRequestTopic(
            topic_name=name,
            partitions=tuple(
                AlterShareGroupOffsetsRequestPartition(partition_index=partition, start_offset=offset)
                for partition, offset in offsets.items()
            ),
        )
        for name, offsets in topics
    )
    request = AlterShareGroupOffsetsRequest(group_id=group_id, topics=wanted)
    response: AlterShareGroupOffsetsResponse = await target.client().ask(request)
    return response


async def altered(target: Target, group_id: str, topic: Topic, offsets: Offsets) -> None:
    """Alter, as soon as the coordinators are there."""
    await target.cluster.coordinator_address(group_id)
    await until(lambda: alter(target, group_id, (topic.name, offsets)), lambda it: it.error_code is NONE)


async def delete(target: Target, group_id: str, *topics: str) -> DeleteShareGroupOffsetsResponse:
    wanted = tuple(DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics)
    request = DeleteShareGroupOffsetsRequest(group_id=group_id, topics=wanted)
    response: DeleteShareGroupOffsetsResponse = await target.client().ask(request)
    return response


async def start_offsets(target: Target, group_id: str) -> dict[str, Offsets]:
    wanted = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)
    response = await target.client().ask(DescribeShareGroupOffsetsRequest(groups=(wanted,)))
    return {
        topic.topic_name: {each.partition_index: each.start_offset for each in topic.partitions}
        for topic in response.groups[0].topics
    }


async def exists(target: Target, group_id: str) -> bool:
    return any(group.group_id == group_id for group in await listed_groups(target.client()))


async def epochs(target: Target, group_id: str) -> tuple[int, int, str]:
    request = ShareGroupDescribeRequest(group_ids=(group_id,), include_authorized_operations=False)
    [group] = (await target.client().ask(request)).groups
    return group.group_epoch, group.assignment_epoch, group.group_state


async def consumed(target: Target, group_id: str, topic: Topic, count: int) -> list[tuple[int, int]]:
    """Offset and delivery count of so many records, which are accepted."""
    async with target.consumer(group_id, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        records = await consume(consumer, count)
        for record in records:
            consumer.acknowledge(record)
        await consumer.commit_sync()
    return [(record.offset, record.delivery_count) for record in records]


@everywhere
async def test_a_new_group_begins_where_it_is_told(target: Target) -> None:
    topic = await target.cluster.create_topic()
    await target.cluster.produce(topic, values(RECORDS))
    group_id = await target.new_group()

    await altered(target, group_id, topic, {0: 7})

    assert await exists(target, group_id)
    assert await epochs(target, group_id) == (1, 1, "Empty")
    assert await start_offsets(target, group_id) == {topic.name: {0: 7}}
    assert await consumed(target, group_id, topic, 3) == [(7, 1), (8, 1), (9, 1)]


@everywhere
async def test_a_group_gets_records_again_that_it_has_accepted(target: Target) -> None:
    topic = await target.cluster.create_topic()
    await target.cluster.produce(topic, values(RECORDS))
    group_id = await target.group_of(topic)
    assert len(await consumed(target, group_id, topic, RECORDS)) == RECORDS
    before = await epochs(target, group_id)

    await altered(target, group_id, topic, {0: 8})

    assert await epochs(target, group_id) == before
    state = await SharePartitionState(target.client(), group_id, topic.topic_id).summary()
    assert (state.state_epoch, state.start_offset, state.delivery_complete_count) == (before[0], 8, 0)
    assert await consumed(target, group_id, topic, 2) == [(8, 1), (9, 1)]


@everywhere
async def test_a_start_offset_of_minus_1_is_where_the_group_resets_to(target: Target) -> None:
    topic = await target.cluster.create_topic()
    await target.cluster.produce(topic, values(RECORDS))
    group_id = await target.new_group({"share.auto.offset.reset": "earliest"})
    await altered(target, group_id, topic, {0: 8})

    await altered(target, group_id, topic, {0: -1})

    assert await start_offsets(target, group_id) == {topic.name: {0: -1}}
    assert (await consumed(target, group_id, topic, RECORDS))[0] == (0, 1)


@everywhere
async def test_each_partition_is_answered_and_the_last_offset_counts(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    group_id = await target.new_group()
    await altered(target, group_id, topic, {0: 1})

    response = await alter(target, group_id, ("nowhere", {0: 1}), (topic.name, {9: 1, 0: 2}), (topic.name, {0: 3}))

    assert [
        (each.topic_name, each.topic_id, [(at.partition_index, at.error_code) for at in each.partitions])
        for each in response.responses
    ] == [("nowhere", None, [(0, UNKNOWN)]), (topic.name, topic.topic_id, [(9, UNKNOWN), (0, NONE), (0, NONE)])]
    assert await start_offsets(target, group_id) == {topic.name: {0: 3}}
    assert (await alter(target, group_id, (topic.name, {-1: 0}))).error_code is ErrorCode.UNKNOWN_SERVER_ERROR


@everywhere
async def test_groups_are_made_for_topics_that_exist(target: Target) -> None:
    topic = await target.cluster.create_topic()
    await altered(target, unique("group"), topic, {0: 0})
    asked: dict[str, tuple[tuple[str, Offsets], ...]] = {
        "nothing": (), "no such topic": (("nowhere", {0: 1}),), "no partitions": ((topic.name, {}),)
    }  # fmt: skip
    groups = {name: unique("group") for name in asked}

    async def made() -> list[str]:
        # Asked again each time: a real Kafka makes no group for a topic that its coordinator does not know yet.
        for name, topics in asked.items():
            assert (await alter(target, groups[name], *topics)).error_code is NONE
        return [name for name in asked if await exists(target, groups[name])]

    await until(made, lambda names: names == ["no partitions"])


@everywhere
async def test_a_group_with_members_keeps_its_offsets(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.new_group()
    await altered(target, group_id, topic, {0: 3})
    await target.joined(group_id, topic)

    for response in (await alter(target, group_id, (topic.name, {0: 5})), await delete(target, group_id, topic.name)):
        assert (response.error_code, response.error_message) == (ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
        assert response.responses == ()
    assert await start_offsets(target, group_id) == {topic.name: {0: 3}}


@everywhere
async def test_deleted_offsets_are_forgotten(target: Target) -> None:
    kept, gone = await target.cluster.create_topic(), await target.cluster.create_topic()
    await target.cluster.produce(gone, values(RECORDS))
    group_id = await target.group_of(gone)
    await altered(target, group_id, kept, {0: 1})
    assert len(await consumed(target, group_id, gone, RECORDS)) == RECORDS

    response = await delete(target, group_id, "nowhere", gone.name)

    assert [(each.topic_name, each.topic_id, each.error_code) for each in response.responses] == [
        (gone.name, gone.topic_id, NONE), ("nowhere", None, UNKNOWN)
    ]  # fmt: skip
    assert await start_offsets(target, group_id) == {kept.name: {0: 1}}
    state = await SharePartitionState(target.client(), group_id, gone.topic_id).summary()
    assert (state.state_epoch, state.start_offset) == (0, -1)
    again = await delete(target, group_id, gone.name)
    assert [(each.error_code, each.error_message) for each in again.responses] == [
        (UNKNOWN, "There is no offset information to delete.")
    ]
    assert len(await consumed(target, group_id, gone, RECORDS)) == RECORDS


@everywhere
@pytest.mark.parametrize("group_id", ["", "unknown"])
async def test_groups_that_cannot_be_named(target: Target, group_id: str) -> None:
    await target.new_group()
    invalid = ErrorCode.INVALID_GROUP_ID
    if not group_id:
        assert (await alter(target, group_id, ("t", {0: 0}))).error_code is invalid
    response = await delete(target, group_id and unique(group_id), "t")
    assert response.error_code is (ErrorCode.GROUP_ID_NOT_FOUND if group_id else invalid)


@everywhere
async def test_other_partitions_of_a_topic_begin_at_0(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    group_id = await target.new_group({"share.auto.offset.reset": "latest"})
    await altered(target, group_id, topic, {1: 7})

    await target.joined(group_id, topic, (0, 1))

    assert await start_offsets(target, group_id) == {topic.name: {0: 0, 1: 7}}
