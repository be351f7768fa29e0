"""Descriptions of topologies (KIP-1331): who is asked, what is refused and shown; and brokers that keep none."""

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.config.cluster.streams_group import IN_MEMORY_DESCRIPTIONS
from kafka_groups.protocol.coordinator_records.streams_group import StreamsGroupMetadata
from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_groups.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponseGroup,
    TopologyDescriptionStatus,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology
from kafka_groups.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
)
from kafka_groups.protocol.messages.topology_description import (
    PROCESSOR_NODE,
    SINK_NODE,
    SOURCE_NODE,
    DescribedTopology,
    TopologyDescriptionGlobalStore,
    TopologyDescriptionNode,
    TopologyDescriptionSubtopology,
)
from tests.support.broker.coordinator_records import tombstone
from tests.support.kafka.internal_topics import InternalTopics
from tests.support.kafka.kafka_classpath import kafka_classpath, libs_or_skip
from tests.support.kafka.real_kafka import RawConnection, unique
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import sent, subtopology
from tests.support.targets import Target, everywhere, everywhere_with, over_tcp_with

A, B = "A" * 22, "B" * 22
NONE, NOT_FOUND, UNKNOWN = "NONE", "GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID"
INVALID, UNSUPPORTED = "INVALID_REQUEST", "UNSUPPORTED_VERSION"

KEEPING = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.topology.description.plugin.class": IN_MEMORY_DESCRIPTIONS,
}
where_they_are_kept = everywhere_with(KEEPING)

SOURCE = TopologyDescriptionNode(
    name="source", node_type=SOURCE_NODE, source_topics=("b", "a"), successors=("count", "z", "y")
)
COUNT = TopologyDescriptionNode(name="count", node_type=PROCESSOR_NODE, stores=("s2", "s1"), successors=("sink",))
SINK = TopologyDescriptionNode(name="sink", node_type=SINK_NODE, sink_topic="out", successors=("odd",))
DYNAMIC_SINK = TopologyDescriptionNode(name="dynamic", node_type=SINK_NODE)
GLOBAL = TopologyDescriptionGlobalStore(source=evolve(SOURCE, name="g1"), processor=evolve(COUNT, name="g2"))
DESCRIPTION = DescribedTopology(
    subtopologies=(
        TopologyDescriptionSubtopology(subtopology_id="1", nodes=(SINK, COUNT, SOURCE)),
        TopologyDescriptionSubtopology(subtopology_id="0", nodes=(DYNAMIC_SINK,)),
    ),
    global_stores=(GLOBAL,),
)


class Group:
    """A new group, and what its members say."""

    def __init__(self, target: Target, topic: str) -> None:
        self.target = target
        self.group_id = unique("app")
        self.topic = topic

    @property
    def topology(self) -> StreamsGroupHeartbeatTopology:
        """A topology that reads the topic, with epoch 3."""
        return evolve(sent(subtopology("0", sources=(self.topic,))), epoch=3)

    def member(self, member_id: str = A) -> StreamsMember:
        """A member that has not joined yet."""
        return StreamsMember(self.target.client(), self.group_id, member_id)

    async def is_asked(self, member: StreamsMember, version: int = 1) -> bool:
        """Whether the answer to a heartbeat, or to joining, asks for a description."""
        beat = await (member.beat(version=version) if member.epoch else member.join(self.topology, version=version))
        assert beat.error == NONE, beat
        return bool(beat.response.topology_description_required)

    async def update(
        self, description: DescribedTopology = DESCRIPTION, member: str = A, epoch: int = 3, group: str | None = None
    ) -> str:
        """Send a description; returns the name of the error."""
        request = StreamsGroupTopologyDescriptionUpdateRequest(
            group_id=self.group_id if group is None else group,
            member_id=member,
            topology_epoch=epoch,
            topology_description=description,
        )
        return str((await self.target.client().ask(request)).error_code.name)

    async def described(self) -> StreamsGroupDescribeResponseGroup:
        """The group, and its description."""
        request = StreamsGroupDescribeRequest(group_ids=(self.group_id,), include_topology_description=True)
        group: StreamsGroupDescribeResponseGroup
        [group] = (await self.target.client().ask(request)).groups
        return group

    async def description(self) -> DescribedTopology | None:
        """The description that is shown, or None if none is stored."""
        shown = await self.described()
        stored = shown.topology_description is not None
        status = TopologyDescriptionStatus.AVAILABLE if stored else TopologyDescriptionStatus.NOT_STORED
        assert shown.topology_description_status == status
        return shown.topology_description


async def new_group(target: Target) -> Group:
    group = Group(target, (await target.cluster.create_topic(2)).name)
    await target.cluster.coordinator_of(group.group_id)
    return group


@everywhere
async def test_by_default_brokers_keep_no_descriptions(target: Target) -> None:
    group = await new_group(target)
    member = group.member()
    assert not await group.is_asked(member)
    assert await group.update() == UNSUPPORTED
    assert await group.update(member="") == UNSUPPORTED
    assert await group.description() is None


@where_they_are_kept
async def test_one_member_is_asked_and_its_description_is_shown(target: Target) -> None:
    group = await new_group(target)
    first, second = group.member(A), group.member(B)
    assert await group.is_asked(first), "even before the group is stored"
    assert not await group.is_asked(first), "once in half a minute"
    assert not await group.is_asked(second)
    assert await group.description() is None

    assert await group.update(member=B) == NONE, "from any member"
    assert await group.description() == DESCRIPTION
    shown = await described_without(group)
    assert (shown.topology_description, shown.topology_description_status) == (None, 0)
    assert not await group.is_asked(first)

    other = DescribedTopology(subtopologies=(TopologyDescriptionSubtopology(subtopology_id="7"),))
    assert await group.update(other) == NONE
    assert await group.description() == other
    await first.leave()
    await second.leave()
    assert await group.description() == other, "the group is empty, and still there"
    assert not await group.is_asked(group.member())


async def described_without(group: Group) -> StreamsGroupDescribeResponseGroup:
    request = StreamsGroupDescribeRequest(group_ids=(group.group_id,))
    shown: StreamsGroupDescribeResponseGroup
    [shown] = (await group.target.client().ask(request)).groups
    return shown


@where_they_are_kept
async def test_members_of_earlier_releases_are_not_asked(target: Target) -> None:
    group = await new_group(target)
    assert not await group.is_asked(group.member(A), version=0)
    assert await group.is_asked(group.member(B))


@where_they_are_kept
async def test_the_description_goes_with_the_group(target: Target) -> None:
    group = await new_group(target)
    member = group.member()
    assert await group.is_asked(member)
    assert await group.update() == NONE
    await member.leave()
    coordinator = await target.cluster.coordinator_of(group.group_id)
    deleted = await coordinator.ask(DeleteGroupsRequest(groups_names=(group.group_id,)))
    assert deleted.results[0].error_code.name == NONE

    again = group.member()
    assert await group.is_asked(again)
    assert await group.description() is None


@where_they_are_kept
async def test_names_are_kept_once_and_only_those_of_the_nodes_type(target: Target) -> None:
    group = await new_group(target)
    await group.is_asked(group.member())
    every = TopologyDescriptionNode(
        name="n", node_type=0, source_topics=("t", "u", "t"), sink_topic="k", stores=("s", "s"), successors=("x", "x")
    )
    nodes = tuple(evolve(every, node_type=kind) for kind in (SOURCE_NODE, PROCESSOR_NODE, SINK_NODE))
    part = TopologyDescriptionSubtopology(subtopology_id="0", nodes=nodes)
    assert await group.update(DescribedTopology(subtopologies=(part, part))) == NONE

    plain = evolve(every, source_topics=(), sink_topic=None, stores=(), successors=("x",))
    kept = (
        evolve(plain, node_type=SOURCE_NODE, source_topics=("t", "u")),
        evolve(plain, node_type=PROCESSOR_NODE, stores=("s",)),
        evolve(plain, node_type=SINK_NODE, sink_topic="k"),
    )
    shown = await group.description()
    assert shown is not None
    assert [each.nodes for each in shown.subtopologies] == [kept, kept]


@where_they_are_kept
async def test_what_is_refused_is_not_kept(target: Target) -> None:
    group = await new_group(target)
    assert await group.update() == NOT_FOUND
    await group.is_asked(group.member())
    assert await group.update(member="") == INVALID
    assert await group.update(group="") == INVALID
    assert await group.update(member=B) == UNKNOWN
    for epoch in (2, 4, -1):
        assert await group.update(epoch=epoch) == INVALID
    assert await group.update(epoch=2, member=B) == UNKNOWN, "the member is looked at first"
    for wrong in (
        evolve(DESCRIPTION, subtopologies=(part_of(evolve(SOURCE, node_type=0)),)),
        evolve(DESCRIPTION, subtopologies=(part_of(evolve(SOURCE, node_type=4)),)),
        evolve(DESCRIPTION, global_stores=(evolve(GLOBAL, source=COUNT),)),
        evolve(DESCRIPTION, global_stores=(evolve(GLOBAL, processor=SINK),)),
    ):
        assert await group.update(wrong) == INVALID
        assert await group.update(wrong, epoch=2) == INVALID
    assert await group.description() is None


def part_of(node: TopologyDescriptionNode) -> TopologyDescriptionSubtopology:
    return TopologyDescriptionSubtopology(subtopology_id="0", nodes=(node,))


@where_they_are_kept
async def test_groups_of_other_types_have_no_description(target: Target) -> None:
    group = await new_group(target)
    topic = await target.cluster.create_topic()
    shares = await target.group_of(topic)
    assert await group.update(group=shares) == NOT_FOUND


# ---------------------------------------------------------------------------------------- records


def stored_epochs(target: Target, group_id: str) -> list[int | None]:
    """The epochs of descriptions in all records of the group itself; None for its end."""
    with RawConnection(target.host, target.port) as connection:
        log, found = InternalTopics(connection), []
        while records := log.read():
            found += [record.decode() for record in records]
    own: list[Any] = [each.value for each in found if tombstone(each) == StreamsGroupMetadata[Any](group_id)]
    return [value and value.stored_description_topology_epoch for value in own]


@over_tcp_with(KEEPING)
async def test_the_records_of_a_group_say_which_description_is_stored(target: Target) -> None:
    group = await new_group(target)
    member, other = group.member(A), group.member(B)
    await group.is_asked(member)
    assert await group.update(epoch=2) == INVALID
    assert await asyncio.to_thread(stored_epochs, target, group.group_id) == [-1]
    assert await group.update() == NONE
    await group.is_asked(other)
    assert await group.update() == NONE
    await other.leave()
    await member.leave()
    expected = [-1, -2, 3, 3, -2, 3, 3, 3]
    assert await asyncio.to_thread(stored_epochs, target, group.group_id) == expected


# ------------------------------------------------------------------------------------- as in Java

JavaAdmin = Callable[[str, str], list[str]]


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> JavaAdmin:
    """Kafka's own admin client of 4.4.0: prints the description of a group's topology."""
    classpath, directory = kafka_classpath(libs_or_skip()), tmp_path_factory.mktemp("classes")
    source = Path(__file__).parents[1] / "support" / "kafka" / "java" / "TopologyPrinter.java"
    _run("javac", "-cp", classpath, "-d", str(directory), str(source))

    def run(bootstrap_servers: str, group_id: str) -> list[str]:
        command = ("java", "-XX:TieredStopAtLevel=1", "-cp", f"{directory}:{classpath}", "TopologyPrinter")
        return _run(*command, bootstrap_servers, group_id).splitlines()

    return run


def _run(*command: str) -> str:
    done = subprocess.run(command, text=True, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@over_tcp_with(KEEPING)
async def test_java_shows_the_description(target: Target, java: JavaAdmin) -> None:
    group = await new_group(target)
    await group.is_asked(group.member())
    assert java(target.bootstrap_servers, group.group_id) == ["NOT_STORED sticky"]
    assert await group.update() == NONE
    assert java(target.bootstrap_servers, group.group_id) == [
        "AVAILABLE sticky",
        "1 sink writes out from count to odd",
        "1 count stores s1,s2 from source to sink",
        "1 source reads a,b from - to count,y,z",
        "0 dynamic writes - from - to -",
        "global g1 reads a,b from - to count,y,z",
        "global g2 stores s1,s2 from - to sink",
    ]
