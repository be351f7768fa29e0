"""The admin client: groups of any type, and the offsets of consumer groups and classic groups."""

from collections.abc import Mapping
from typing import Any

from kafka_groups.admin import (
    ClassicGroupDescription,
    ConsumerGroupDescription,
    ConsumerGroupOffset,
    GroupListing,
    ShareGroupDescription,
    StreamsGroupDescription,
)
from kafka_groups.errors import (
    GroupIdNotFoundError,
    NonEmptyGroupError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.types import TopicPartition
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.classic_member import ClassicMember, subscription
from tests.support.members.consumer_member import ConsumerMember
from tests.support.members.consuming import values
from tests.support.members.kinds_of_groups import Subject
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import sent, subtopology
from tests.support.targets import Target, everywhere

ALL_KINDS = {
    "offsets": ("classic", "", "Empty"),
    "classic, empty": ("classic", "consumer", "Empty"),
    "classic": ("classic", "consumer", "Stable"),
    "connect": ("classic", "connect", "Stable"),
    "consumer, empty": ("consumer", "consumer", "Empty"),
    "share, empty": ("share", "share", "Empty"),
    "share": ("share", "share", "Stable"),
    "streams, empty": ("streams", "streams", "Empty"),
}
"""Type, protocol type and state of groups of each kind, as Kafka 4.4.0 lists them."""
CLASSES: Mapping[str, type] = {
    "classic": ClassicGroupDescription,
    "consumer": ConsumerGroupDescription,
    "share": ShareGroupDescription,
    "streams": StreamsGroupDescription,
}
MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"


async def groups_of(target: Target, *kinds: str) -> dict[str, str]:
    """Groups of these kinds: their ids by kind."""
    return {kind: (await Subject.of(target, kind)).group_id for kind in kinds}


@everywhere
async def test_groups_of_all_types_are_listed_and_described(target: Target) -> None:
    groups = await groups_of(target, *ALL_KINDS)
    expected = {groups[kind]: GroupListing(groups[kind], *fields) for kind, fields in ALL_KINDS.items()}
    absent = unique("absent")
    async with target.admin() as admin:
        listed = await admin.list_groups()
        assert not listed.errors
        ours = {each.group_id: each for each in listed.groups if each.group_id in expected}
        assert ours == expected
        assert [each.group_id for each in listed.groups] == sorted(each.group_id for each in listed.groups)
        described = await admin.describe_groups([*expected, absent])
        assert list(described.values) == list(expected)
        for group_id, group in described.values.items():
            assert (group.group_id, group.type, group.state) == (
                group_id, expected[group_id].type, expected[group_id].state
            )  # fmt: skip
            assert isinstance(group, CLASSES[group.type])
            assert bool(group.members) == (group.state == "Stable")
            assert group.lag_error is None
        assert isinstance(described.errors[absent], GroupIdNotFoundError)
        assert str(described.errors[absent]) == f"Group {absent} not found."


@everywhere
async def test_groups_are_listed_by_type_and_state(target: Target) -> None:
    groups = await groups_of(target, "classic", "consumer, empty", "share", "share, empty", "streams, empty")
    async with target.admin() as admin:

        async def ours(**wanted: Any) -> list[str]:
            found = await admin.list_groups(**wanted)
            return [kind for kind, group in groups.items() if group in {each.group_id for each in found.groups}]

        assert await ours(types=("share", "streams")) == ["share", "share, empty", "streams, empty"]
        assert await ours(states=("Stable",)) == ["classic", "share"]
        assert await ours(types=("share",), states=("Empty", "Dead")) == ["share, empty"]
        assert await ours(states=("nonsense",)) == []


@everywhere
async def test_a_streams_group_that_is_not_ready_is_found_by_its_state(target: Target) -> None:
    group_id = unique("app")
    await target.cluster.coordinator_of(group_id)
    member = StreamsMember(target.client(), group_id, MEMBER)
    await until(lambda: member.join(sent(subtopology("0", sources=(unique("missing"),)))), lambda it: bool(it.statuses))
    async with target.admin() as admin:
        assert group_id in [each.group_id for each in (await admin.list_groups(states=["NotReady"])).groups]
        assert group_id in [each.group_id for each in (await admin.list_streams_groups(states=["NotReady"])).groups]
        assert group_id not in [each.group_id for each in (await admin.list_groups(states=["Empty"])).groups]


@everywhere
async def test_a_consumer_group_is_described_with_its_member_and_lag(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    await target.cluster.produce(topic, values(8))
    group_id = unique("group")
    await target.cluster.coordinator_of(group_id)
    member = ConsumerMember(target.client(), group_id, MEMBER, [topic], instance="one")
    beat = await member.join(topic.name, rack_id="r")
    while not beat.assignment:
        beat = await member.beat(owned={topic.name: ()})
    await member.beat(owned=beat.assignment)
    assert await member.commit(topic, (0,)) == ["NONE"]
    first, second = TopicPartition(topic.name, 0), TopicPartition(topic.name, 1)
    async with target.admin() as admin:
        group = (await admin.describe_groups([group_id]))[group_id]
        assert isinstance(group, ConsumerGroupDescription)
        assert (group.state, group.assignor, group.epoch) == ("Stable", "uniform", group.assignment_epoch)
        assert group.lag == {first: 3}
        assert group.total_lag == 3
        [found] = group.members
        assert (found.member_id, found.instance_id, found.rack, found.epoch) == (MEMBER, "one", "r", member.epoch)
        assert (found.topics, found.pattern, found.is_classic) == ((topic.name,), None, False)
        assert sorted(found.assignment) == sorted(found.target_assignment) == [first, second]
        [offsets] = (await admin.describe_consumer_group_offsets([group_id])).values.values()
        [found_offset] = offsets.values.values()
        assert (found_offset.offset, found_offset.metadata, found_offset.end_offset, found_offset.lag) == (5, "", 8, 3)
        nowhere = TopicPartition(unique("nowhere"), 0)
        named = (await admin.describe_consumer_group_offsets({group_id: [first, second, nowhere]}))[group_id]
        assert named.values == {first: found_offset, second: ConsumerGroupOffset(None, None, "", 0, None)}
        assert isinstance(named.errors[nowhere], UnknownTopicOrPartitionError)
        refused = (await admin.delete_groups([group_id])).errors[group_id]
        assert isinstance(refused, NonEmptyGroupError)


@everywhere
async def test_a_classic_group_is_described_with_its_member_and_lag(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    await target.cluster.produce(topic, values(8))
    group_id = unique("group")
    await target.cluster.coordinator_of(group_id)
    member = ClassicMember(target.client(), group_id, "one", protocols=[("roundrobin", subscription(topic.name))])
    await member.join()
    assignment = ConsumerProtocolAssignment({topic.name: (0, 1)})
    await member.sync({member.member_id: assignment.encode()})
    assert await member.commit(topic, 6) == "NONE"
    first = TopicPartition(topic.name, 0)
    async with target.admin() as admin:
        group = (await admin.describe_groups([group_id]))[group_id]
        assert isinstance(group, ClassicGroupDescription)
        assert (group.state, group.protocol_type, group.protocol) == ("Stable", "consumer", "roundrobin")
        assert (group.lag, group.total_lag) == ({first: 2}, 2)
        [found] = group.members
        assert (found.member_id, found.instance_id) == (member.member_id, "one")
        assert found.topics == (topic.name,)
        assert found.assignment == (first, TopicPartition(topic.name, 1))


@everywhere
async def test_what_members_wrote_does_not_hide_their_group(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = unique("group")
    await target.cluster.coordinator_of(group_id)
    member = ClassicMember(target.client(), group_id, protocols=[("range", subscription(topic.name))])
    await member.join()
    await member.sync({member.member_id: b"nonsense"})
    async with target.admin() as admin:
        group = (await admin.describe_groups([group_id]))[group_id]
    assert isinstance(group, ClassicGroupDescription)
    [found] = group.members
    assert (found.topics, found.assignment) == ((topic.name,), ())


@everywhere
async def test_groups_without_members_are_deleted_unless_they_are_streams_groups(target: Target) -> None:
    deletable = ("offsets", "classic, empty", "consumer, empty", "share, empty")
    groups = await groups_of(target, *deletable, "classic", "share", "streams, empty")
    absent = unique("absent")
    async with target.admin() as admin:
        deleted = await admin.delete_groups([*groups.values(), absent])
        assert list(deleted.values) == [groups[kind] for kind in deletable]
        errors = deleted.errors
        assert isinstance(errors[groups["classic"]], NonEmptyGroupError)
        assert isinstance(errors[groups["share"]], NonEmptyGroupError)
        assert isinstance(errors[absent], GroupIdNotFoundError)
        streams = groups["streams, empty"]
        assert isinstance(errors[streams], GroupIdNotFoundError)
        assert str(errors[streams]) == (
            f"Group {streams} is a streams group, which may have internal topics. Delete it with delete_streams_groups"
            " (kafka-groups streams delete)."
        )
        left = {each.group_id for each in (await admin.list_groups()).groups}
        assert left.isdisjoint(deleted.values)
        assert {groups["classic"], groups["share"], streams} <= left


@everywhere
async def test_groups_of_which_brokers_know_no_offsets(target: Target) -> None:
    share = (await Subject.of(target, "share, empty")).group_id
    absent = unique("absent")
    async with target.admin() as admin:
        found = await admin.describe_consumer_group_offsets([absent, share])
        assert [len(found[group]) for group in (absent, share)] == [0, 0]
