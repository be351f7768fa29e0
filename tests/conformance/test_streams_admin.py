"""The admin client: streams groups, their topologies, members, offsets and configurations (KIP-1071)."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.admin import GroupConfigValue, StreamsGroupDescription, StreamsGroupOffset
from kafka_groups.errors import (
    ConfigurationError,
    GroupIdNotFoundError,
    GroupSubscribedToTopicError,
    InvalidConfigError,
    NonEmptyGroupError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, TaskOffset, UserEndpoint
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.types import TopicPartition
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.classic_member import ClassicMember
from tests.support.members.consuming import values
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import internal, sent, subtopology
from tests.support.targets import Target, everywhere

RECORDS = 6
EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
UNKNOWN_TOPIC = "UNKNOWN_TOPIC_OR_PARTITION"


class Application:
    """A streams group that reads a topic of two partitions with records, and whose members do what the test says."""

    def __init__(self, target: Target, topic: Topic) -> None:
        self.target = target
        self.group_id = unique("app")
        self.topic = topic
        self.partitions = [TopicPartition(topic.name, number) for number in range(2)]
        self.words = f"{self.group_id}-words-repartition"
        self.counts = f"{self.group_id}-counts-changelog"

    @property
    def reading(self) -> StreamsGroupHeartbeatTopology:
        """A topology that reads the topic."""
        return sent(subtopology("0", sources=(self.topic.name,)))

    @property
    def counting(self) -> StreamsGroupHeartbeatTopology:
        """A topology with a repartition topic and a changelog."""
        configs = {"cleanup.policy": "compact"}
        return sent(
            subtopology("0", sources=(self.topic.name,), sinks=(self.words,)),
            subtopology(
                "1", repartitions=(internal(self.words),), changelogs=(internal(self.counts, configs=configs),)
            ),
        )

    async def joined(self, topology: StreamsGroupHeartbeatTopology | None = None, **fields: Any) -> StreamsMember:
        """A member that has joined and has all tasks."""
        member = StreamsMember(self.target.client(), self.group_id, "member-1", fields.pop("instance", None))
        beat = await member.join_where_topics_are_new(topology or self.reading, **fields)
        assert beat.error == "NONE", beat
        # A real Kafka's coordinator hears of the topic after the rest of the broker.
        while not beat.active:
            beat = await until(member.beat, lambda it: it.active is not None)
        await member.beat(owned=beat.active)
        return member

    async def empty(self, topology: StreamsGroupHeartbeatTopology | None = None) -> None:
        """Make the group, and leave it without members."""
        await (await self.joined(topology)).leave()


async def application(target: Target) -> Application:
    """A group that does not exist yet, and its topic."""
    topic = await target.cluster.create_topic(2)
    await target.cluster.produce(topic, values(RECORDS))
    made = Application(target, topic)
    await target.cluster.coordinator_of(made.group_id)
    return made


@everywhere
async def test_a_group_is_listed_and_described_with_its_only_member(target: Target) -> None:
    app, absent = await application(target), unique("absent")
    joined = await app.joined(
        rack_id="r",
        instance="i",
        process_id="p" * 22,
        user_endpoint=UserEndpoint(host="h", port=7),
        client_tags=(KeyValue(key="zone", value="a"),),
    )
    offset = TaskOffset(subtopology_id="0", partition=1, offset=5)
    await joined.beat(task_offsets=(offset,), task_end_offsets=(evolve(offset, offset=7),))
    async with target.admin() as admin:
        listed = await admin.list_streams_groups(states=["Stable"])
        assert (app.group_id, "Stable") in [(each.group_id, each.state) for each in listed.groups]
        assert app.group_id not in [each.group_id for each in (await admin.list_share_groups()).groups]
        described = await admin.describe_streams_groups([app.group_id, absent])
        assert isinstance(described.errors[absent], GroupIdNotFoundError)
        group = described[app.group_id]
        assert (group.state, group.assignor, group.lag_error) == ("Stable", "sticky", None)
        assert group.epoch == group.assignment_epoch > 0
        assert group.lag == dict(zip(app.partitions, (RECORDS, 0), strict=True))
        assert (group.input_topics, group.internal_topics) == ((app.topic.name,), ())
        (member,) = group.members
        assert (member.member_id, member.process_id, member.instance_id) == ("member-1", "p" * 22, "i")
        assert (member.rack, member.user_endpoint, member.client_tags) == ("r", ("h", 7), {"zone": "a"})
        assert (member.epoch, member.topology_epoch, member.is_classic) == (group.epoch, 0, False)
        assert member.assignment == member.target_assignment
        assert (member.assignment.active, member.assignment.standby) == ({"0": {0, 1}}, {})
        assert (member.task_offsets, member.task_end_offsets) == ({"0": {1: 5}}, {"0": {1: 7}})


def changelog_partitions(group: StreamsGroupDescription) -> list[int | None]:
    assert group.topology is not None
    return [topic.partitions for each in group.topology.subtopologies for topic in each.changelogs]


@everywhere
async def test_a_topology_is_described_before_and_after_its_internal_topics_are_there(target: Target) -> None:
    app = await application(target)
    member = StreamsMember(target.client(), app.group_id, "member-1")
    async with target.admin() as admin:

        async def described() -> StreamsGroupDescription:
            await member.join(app.counting)
            return (await admin.describe_streams_groups([app.group_id]))[app.group_id]

        group = await until(described, lambda it: it.state == "Stable")
        assert group.topology is not None
        assert group.internal_topics == (app.counts, app.words)
        assert group.read_topics == tuple(sorted([app.topic.name, app.words]))
        assert changelog_partitions(group) == [2]
        first, second = group.topology.subtopologies
        assert (first.subtopology_id, first.source_topics) == ("0", (app.topic.name,))
        assert first.repartition_sinks == (app.words,)
        assert (second.changelogs[0].name, second.changelogs[0].configs) == (app.counts, {"cleanup.policy": "compact"})
        assert (second.repartition_sources[0].name, second.repartition_sources[0].partitions) == (app.words, 2)
        repartition = [TopicPartition(app.words, number) for number in range(2)]
        assert group.lag == {**dict.fromkeys(repartition, 0), app.partitions[0]: RECORDS, app.partitions[1]: 0}


@everywhere
async def test_only_streams_groups_without_members_are_deleted(target: Target) -> None:
    busy, idle = await application(target), await application(target)
    await busy.joined()
    await idle.empty()
    share, absent = await target.group_of(idle.topic, (0, 1)), unique("absent")
    classic = unique("classic")
    await target.cluster.coordinator_of(classic)
    member = ClassicMember(target.client(), classic)
    await member.join()
    await member.leave()
    async with target.admin() as admin:
        deleted = await admin.delete_streams_groups([busy.group_id, idle.group_id, share, classic, absent])
        assert deleted.values == {idle.group_id: None}
        assert isinstance(deleted.errors[busy.group_id], NonEmptyGroupError)
        for each in (share, classic, absent):
            assert isinstance(deleted.errors[each], GroupIdNotFoundError)
        assert list((await admin.describe_streams_groups([busy.group_id, idle.group_id])).values) == [busy.group_id]
        assert share in [each.group_id for each in (await admin.list_share_groups()).groups]


@everywhere
async def test_offsets_are_altered_described_and_deleted(target: Target) -> None:
    app = await application(target)
    first, second = app.partitions
    await app.empty()
    nowhere, unknown = TopicPartition(app.topic.name, 7), TopicPartition(unique("nowhere"), 0)
    async with target.admin() as admin:
        altered = await admin.alter_streams_group_offsets(app.group_id, {first: 2, nowhere: 1, unknown: 1})
        assert altered.values == {first: None}
        assert {type(error) for error in altered.errors.values()} == {UnknownTopicOrPartitionError}
        described = await admin.describe_streams_group_offsets([app.group_id, unique("absent")])
        assert [type(error) for error in described.errors.values()] == [GroupIdNotFoundError]
        assert described[app.group_id].values == {
            first: StreamsGroupOffset(2, None, RECORDS, RECORDS - 2),
            second: StreamsGroupOffset(None, None, 0, 0),
        }
        only = await admin.describe_streams_group_offsets({app.group_id: [second]})
        assert list(only[app.group_id]) == [second]
        group = (await admin.describe_streams_groups([app.group_id]))[app.group_id]
        assert (group.state, group.total_lag, group.members) == ("Empty", RECORDS - 2, ())

        deleted = await admin.delete_streams_group_offsets(app.group_id, [app.topic.name, nowhere])
        assert deleted.values == {first: None, second: None}
        assert isinstance(deleted.errors[nowhere], UnknownTopicOrPartitionError)
        offsets = (await admin.describe_streams_group_offsets([app.group_id]))[app.group_id]
        assert (offsets[first].offset, offsets[first].lag) == (None, RECORDS)


@everywhere
async def test_offsets_of_a_group_with_members_stay(target: Target) -> None:
    app = await application(target)
    (first, _) = app.partitions
    await app.joined()
    async with target.admin() as admin:
        with pytest.raises(NonEmptyGroupError):
            await admin.alter_streams_group_offsets(app.group_id, {first: 0})
        deleted = await admin.delete_streams_group_offsets(app.group_id, [first])
        assert isinstance(deleted.errors[first], GroupSubscribedToTopicError)
        for absent in (unique("absent"), await target.group_of(app.topic, (0, 1))):
            with pytest.raises(GroupIdNotFoundError):
                await admin.alter_streams_group_offsets(absent, {first: 0})
            with pytest.raises(GroupIdNotFoundError):
                await admin.delete_streams_group_offsets(absent, [first])


@everywhere
async def test_offsets_are_reset_to_places_times_and_by_shifts(target: Target) -> None:
    app = await application(target)
    first, second = app.partitions
    for number in range(3):
        at_ms = round((EPOCH + timedelta(hours=number)).timestamp() * 1000)
        await target.cluster.produce(app.topic, [NewRecord(b"v", timestamp_ms=at_ms)], partition=1)
    await app.empty()
    async with target.admin() as admin:

        async def reset(*arguments: Any, **options: Any) -> Mapping[TopicPartition, int]:
            done = await admin.reset_streams_group_offsets(app.group_id, *arguments, **options)
            assert not done.errors
            return done.values

        assert await reset(shift_by=1) == {}
        assert await reset("latest") == {first: RECORDS, second: 3}
        assert await reset("earliest", dry_run=True) == {first: 0, second: 0}
        assert await reset(shift_by=-2) == {first: RECORDS - 2, second: 1}
        assert await reset("current") == {first: RECORDS - 2, second: 1}
        assert await reset(5, [app.topic.name]) == {first: 5, second: 3}
        assert await reset(EPOCH + timedelta(minutes=90), [second]) == {second: 2}
        assert await reset(EPOCH + timedelta(days=1), [second]) == {second: 3}
        assert await reset({first: 1}) == {first: 1}
        offsets = (await admin.describe_streams_group_offsets([app.group_id]))[app.group_id]
        assert (offsets[first].offset, offsets[second].offset) == (1, 3)
        with pytest.raises(ConfigurationError, match="does not read"):
            await admin.reset_streams_group_offsets(app.group_id, "latest", [unique("nowhere")])
    # The group is still a streams group, and continues.
    await app.joined()
    async with target.admin() as admin:
        with pytest.raises(NonEmptyGroupError):
            await admin.reset_streams_group_offsets(app.group_id, "earliest")


@everywhere
async def test_internal_topics_are_deleted(target: Target) -> None:
    app = await application(target)
    member = await app.joined(app.counting)
    async with target.admin() as admin:
        with pytest.raises(NonEmptyGroupError):
            await admin.delete_streams_group_internal_topics(app.group_id)
        await member.leave()
        with pytest.raises(ConfigurationError, match="is not an internal topic"):
            await admin.delete_streams_group_internal_topics(app.group_id, [app.topic.name])
        deleted = await admin.delete_streams_group_internal_topics(app.group_id)
        assert deleted.values == {app.counts: None, app.words: None}
        for name in deleted:
            await until(partial(target.cluster.describe_topic, name), lambda it: it.error_code.name == UNKNOWN_TOPIC)
        again = await admin.delete_streams_group_internal_topics(app.group_id, [app.counts])
        assert isinstance(again.errors[app.counts], UnknownTopicOrPartitionError)


@everywhere
async def test_configurations_are_described_set_checked_and_reset(target: Target) -> None:
    group_id, wrong = unique("group"), unique("wrong")
    name = "streams.num.standby.replicas"
    async with target.admin() as admin:
        assert (await admin.describe_group_configs([group_id]))[group_id][name] == GroupConfigValue("0", is_set=False)
        altered = await admin.alter_group_configs({group_id: {name: "1"}, wrong: {name: "3"}})
        assert altered.values == {group_id: None}
        assert isinstance(altered.errors[wrong], InvalidConfigError)
        described = await until(lambda: admin.describe_group_configs([group_id]), lambda it: it[group_id][name].is_set)
        assert described[group_id][name] == GroupConfigValue("1", is_set=True)
        await admin.alter_group_configs({group_id: {name: None}})
        await until(lambda: admin.describe_group_configs([group_id]), lambda it: not it[group_id][name].is_set)
