"""The admin client: share groups, their offsets and configurations."""

from datetime import UTC, datetime, timedelta

import pytest

from kafka_groups.admin import GroupConfigValue
from kafka_groups.errors import (
    GroupIdNotFoundError,
    InvalidConfigError,
    NonEmptyGroupError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.types import TopicPartition
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.classic_member import ClassicMember
from tests.support.members.consuming import consume, values
from tests.support.targets import EXPLICIT, Target, everywhere

RECORDS = 10
EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


async def read(target: Target, group_id: str, topic: Topic, count: int = RECORDS) -> None:
    """Accept records of a group."""
    async with target.consumer(group_id, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        for record in await consume(consumer, count):
            consumer.acknowledge(record)
        await consumer.commit_sync()


@everywhere
async def test_groups_are_listed_by_state_and_described_with_members_and_lag(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    await target.cluster.produce(topic, values(RECORDS))
    group_id, absent = await target.group_of(topic, (0, 1)), unique("absent")
    first = TopicPartition(topic.name, 0)
    async with target.admin() as admin, target.consumer(group_id, client_id="me", **EXPLICIT) as consumer:
        listed = await admin.list_share_groups(states=["Empty"])
        assert not listed.errors
        assert (group_id, "Empty") in [(group.group_id, group.state) for group in listed.groups]
        await consumer.subscribe([topic.name])
        for record in (await consume(consumer, RECORDS))[:4]:
            consumer.acknowledge(record)
        await consumer.commit_sync()
        described = await until(
            lambda: admin.describe_share_groups([group_id, absent]),
            lambda it: it[group_id].lag.get(first) == RECORDS - 4,
        )
        assert isinstance(described.errors[absent], GroupIdNotFoundError)
        group = described[group_id]
        assert (group.state, group.assignor, group.lag_error) == ("Stable", "simple", None)
        assert group.epoch >= group.assignment_epoch > 0
        (member,) = group.members
        assert (member.member_id, member.client_id, member.topics) == (consumer.member_id, "me", (topic.name,))
        assert sorted(member.assignment) == [first, TopicPartition(topic.name, 1)]
        assert group_id not in [each.group_id for each in (await admin.list_share_groups(states=["Empty"])).groups]


@everywhere
async def test_a_group_with_members_is_not_deleted_and_another_is(target: Target) -> None:
    topic = await target.cluster.create_topic()
    busy, idle, absent = await target.group_of(topic), await target.group_of(topic), unique("absent")
    await target.joined(busy, topic)
    async with target.admin() as admin:
        deleted = await admin.delete_share_groups([busy, idle, absent])
        assert deleted.values == {idle: None}
        assert isinstance(deleted.errors[busy], NonEmptyGroupError)
        assert isinstance(deleted.errors[absent], GroupIdNotFoundError)
        assert list((await admin.describe_share_groups([busy, idle])).values) == [busy]


@everywhere
async def test_a_group_of_another_type_is_not_deleted(target: Target) -> None:
    group_id = unique("classic")
    await target.cluster.coordinator_of(group_id)
    member = ClassicMember(target.client(), group_id)
    await member.join()
    await member.sync({member.member_id: b""})
    await member.leave()
    async with target.admin() as admin:
        assert isinstance((await admin.delete_share_groups([group_id])).errors[group_id], GroupIdNotFoundError)
        assert group_id not in [group.group_id for group in (await admin.list_share_groups()).groups]
    again = ClassicMember(target.client(), group_id)
    assert (await again.join()).generation_id > 1  # the group is still there, with its generation


@everywhere
async def test_offsets_are_described_altered_and_deleted(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    first, second = TopicPartition(topic.name, 0), TopicPartition(topic.name, 1)
    await target.cluster.produce(topic, values(RECORDS))
    group_id, absent = await target.group_of(topic, (0, 1)), unique("absent")
    await read(target, group_id, topic)
    async with target.admin() as admin:
        described = await until(
            lambda: admin.describe_share_group_offsets([group_id, absent]),
            lambda it: it[group_id][first].lag == 0,
        )
        assert (described[group_id][first].leader_epoch, described[group_id][first].lag) == (0, 0)
        assert len(described[absent]) == 0  # not an error
        only = await admin.describe_share_group_offsets({group_id: [second]})
        assert list(only[group_id]) == [second]

        nowhere = TopicPartition(unique("nowhere"), 0)
        altered = await admin.alter_share_group_offsets(group_id, {first: 3, nowhere: 1})
        assert altered.values == {first: None}
        assert isinstance(altered.errors[nowhere], UnknownTopicOrPartitionError)
        offset = (await admin.describe_share_group_offsets([group_id]))[group_id][first]
        assert (offset.start_offset, offset.lag) == (3, RECORDS - 3)
        await read(target, group_id, topic, RECORDS - 3)

        assert (await admin.delete_share_group_offsets(group_id, [topic.name])).values == {topic.name: None}
        assert len((await admin.describe_share_group_offsets([group_id]))[group_id]) == 0


@everywhere
async def test_offsets_are_reset_to_the_ends_and_to_times(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    first, second = TopicPartition(topic.name, 0), TopicPartition(topic.name, 1)
    for number in range(4):
        at_ms = round((EPOCH + timedelta(hours=number)).timestamp() * 1000)
        await target.cluster.produce(topic, [NewRecord(b"v", timestamp_ms=at_ms)])
    group_id = await target.group_of(topic, (0, 1))
    async with target.admin() as admin:
        planned = await admin.reset_share_group_offsets(group_id, "latest", dry_run=True)
        everywhere_latest = await admin.reset_share_group_offsets(group_id, "latest")
        assert planned.values == everywhere_latest.values
        assert everywhere_latest.values == {first: 4, second: 0}
        assert (await admin.reset_share_group_offsets(group_id, "earliest", [topic.name])).values[first] == 0
        later = EPOCH + timedelta(minutes=90)
        assert (await admin.reset_share_group_offsets(group_id, later, [first])).values == {first: 2}
        never = EPOCH + timedelta(days=1)
        assert (await admin.reset_share_group_offsets(group_id, never)).values == {first: 4, second: 0}
        offsets = (await admin.describe_share_group_offsets([group_id]))[group_id]
        assert (offsets[first].start_offset, offsets[second].start_offset) == (4, 0)
        with pytest.raises(UnknownTopicOrPartitionError):
            await admin.reset_share_group_offsets(group_id, "latest", [unique("nowhere")])


@everywhere
async def test_offsets_of_a_group_with_members_stay(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.joined(group_id, topic)
    async with target.admin() as admin:
        with pytest.raises(NonEmptyGroupError):
            await admin.alter_share_group_offsets(group_id, {TopicPartition(topic.name, 0): 0})
        with pytest.raises(NonEmptyGroupError):
            await admin.reset_share_group_offsets(group_id, "earliest", [topic.name])
        with pytest.raises(NonEmptyGroupError):
            await admin.reset_share_group_offsets(group_id, "earliest", [topic.name], dry_run=True)
        with pytest.raises(NonEmptyGroupError):
            await admin.delete_share_group_offsets(group_id, [topic.name])


@everywhere
async def test_offsets_of_a_group_of_another_type_are_neither_planned_nor_set(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = unique("group")
    await target.cluster.coordinator_of(group_id)
    await until(lambda: joined_as_consumer(target, group_id, topic.name), lambda code: code is ErrorCode.NONE)
    async with target.admin() as admin:
        for dry_run in (True, False):
            with pytest.raises(GroupIdNotFoundError, match=f"Group {group_id} is not a share group"):
                await admin.reset_share_group_offsets(group_id, "earliest", [topic.name], dry_run=dry_run)
        planned = await admin.reset_share_group_offsets(unique("new"), "latest", [topic.name], dry_run=True)
        assert planned.values == {TopicPartition(topic.name, 0): 0}, "the brokers make a group that does not exist"


async def joined_as_consumer(target: Target, group_id: str, topic: str) -> ErrorCode:
    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id, member_id=unique("member"), member_epoch=0, rebalance_timeout_ms=60_000,
        subscribed_topic_names=(topic,), topic_partitions=(),
    )  # fmt: skip
    response: ConsumerGroupHeartbeatResponse = await target.client().ask(request)
    return response.error_code


@everywhere
async def test_configurations_are_described_set_checked_and_reset(target: Target) -> None:
    group_id, wrong = unique("group"), unique("wrong")
    name = "share.delivery.count.limit"
    async with target.admin() as admin:
        assert (await admin.describe_group_configs([group_id]))[group_id][name] == GroupConfigValue("5", is_set=False)
        altered = await admin.alter_group_configs({group_id: {name: "7"}, wrong: {name: "1"}})
        assert altered.values == {group_id: None}
        assert isinstance(altered.errors[wrong], InvalidConfigError)
        checked = await admin.alter_group_configs({group_id: {name: "8"}}, validate_only=True)
        assert checked.values == {group_id: None}
        described = await until(
            lambda: admin.describe_group_configs([group_id, wrong]), lambda it: it[group_id][name].is_set
        )
        assert described[group_id][name] == GroupConfigValue("7", is_set=True)
        assert described[wrong][name] == GroupConfigValue("5", is_set=False)
        await admin.alter_group_configs({group_id: {name: None}})
        await until(lambda: admin.describe_group_configs([group_id]), lambda it: not it[group_id][name].is_set)
