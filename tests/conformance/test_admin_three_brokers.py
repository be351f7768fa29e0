"""The admin client on three brokers: calls fan out over coordinators and leaders, and go on when one of them dies."""

from kafka_groups.admin import AsyncKafkaAdmin, ConfigResource
from kafka_groups.errors import InvalidRequestError
from kafka_groups.types import TopicPartition
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.consuming import values
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import sent, subtopology
from tests.support.three_brokers import Trio

RECORDS = 5


async def group_at_each(trio: Trio) -> dict[int, str]:
    """The name of a group for each broker, which coordinates it."""
    found: dict[int, str] = {}

    async def look() -> dict[int, str]:
        await trio.brokers.settle()
        for group_id in (unique("group") for _ in range(30)):
            found.setdefault(await trio.coordinator_of(group_id), group_id)
        return found

    return await until(look, lambda it: len(it) == 3, 60.0)


async def topic_with_records(trio: Trio) -> Topic:
    """A topic of six partitions, with records in each."""
    topic = await trio.client().create_topic(6, replicas=3)
    for partition in range(6):
        await trio.client().produce(topic, values(RECORDS), partition)
    return topic


async def test_groups_at_all_coordinators_and_partitions_at_all_leaders(trio: Trio) -> None:
    topic, groups = await topic_with_records(trio), await group_at_each(trio)
    everything = {TopicPartition(topic.name, number): RECORDS for number in range(6)}
    async with trio.admin() as admin:
        for group_id in groups.values():
            assert (await admin.reset_share_group_offsets(group_id, "latest", [topic.name])).values == everything
        await assert_seen(admin, groups)
        killed = await trio.coordinator_of(groups[min(groups)])
        await trio.kill(killed)
        await assert_seen(admin, groups)
        await trio.restart(killed)
        deleted = await admin.delete_share_groups(groups.values())
        assert set(deleted) == set(groups.values())


async def assert_seen(admin: AsyncKafkaAdmin, groups: dict[int, str]) -> None:
    """Each group is listed and described, with no lag in any partition."""
    described = (await admin.describe_share_groups(groups.values())).checked()
    assert [group.state for group in described.values.values()] == ["Empty"] * 3
    offsets = (await admin.describe_share_group_offsets(groups.values())).checked()
    for group_id in groups.values():
        assert {offset.start_offset for offset in offsets[group_id].checked().values.values()} == {RECORDS}
    listed = await admin.list_share_groups()
    assert set(groups.values()) <= {group.group_id for group in listed.groups}
    assert not listed.errors


async def empty_streams_group(trio: Trio, group_id: str, topic: Topic) -> None:
    """Make a streams group whose only member has left."""

    async def joined() -> StreamsMember:
        member = StreamsMember(await trio.client().coordinator_of(group_id), group_id, "member-1")
        await member.join(sent(subtopology("0", sources=(topic.name,))))
        return member

    # A real Kafka's coordinator may just be starting.
    member = await until(joined, lambda it: it.epoch > 0)
    await member.leave()


async def test_streams_groups_at_all_coordinators(trio: Trio) -> None:
    topic, groups = await topic_with_records(trio), await group_at_each(trio)
    everything = {TopicPartition(topic.name, number): 0 for number in range(6)}
    for group_id in groups.values():
        await empty_streams_group(trio, group_id, topic)
    async with trio.admin() as admin:
        for group_id in groups.values():
            assert len((await admin.reset_streams_group_offsets(group_id, "latest", [topic.name])).checked()) == 6
        killed = await trio.coordinator_of(groups[min(groups)])
        await trio.kill(killed)
        described = (await admin.describe_streams_groups(groups.values())).checked()
        assert [(group.state, group.lag) for group in described.values.values()] == [("Empty", everything)] * 3
        listed = await admin.list_streams_groups()
        assert set(groups.values()) <= {group.group_id for group in listed.groups}
        assert not listed.errors
        await trio.restart(killed)
        deleted = await admin.delete_streams_groups(groups.values())
        assert set(deleted.checked()) == set(groups.values())


async def test_each_broker_tells_and_changes_its_own_configuration(trio: Trio) -> None:
    brokers = {node: ConfigResource("broker", str(node)) for node in (1, 2, 3)}
    key = "message.max.bytes"
    async with trio.admin() as admin:
        assert [each.node_id for each in (await admin.describe_cluster()).brokers] == [1, 2, 3]
        changes = {brokers[node]: {key: str(2_000_000 + node)} for node in brokers}
        assert (await admin.alter_configs(changes)).values == dict.fromkeys(brokers.values())
        changed = await until(
            lambda: admin.describe_configs(brokers.values()),
            lambda it: [it[each][key].value for each in brokers.values()] == ["2000001", "2000002", "2000003"],
        )
        assert not changed.errors
        await trio.kill(3)
        await until(admin.describe_cluster, lambda it: [each.node_id for each in it.brokers] == [1, 2], 60.0)
        found = await admin.describe_configs(brokers.values())
        assert list(found.values) == [brokers[1], brokers[2]]
        assert isinstance(found.errors[brokers[3]], InvalidRequestError)
        await trio.restart(3)
        await until(admin.describe_cluster, lambda it: len(it.brokers) == 3, 60.0)
        (await admin.alter_configs({each: {key: None} for each in brokers.values()})).checked()
