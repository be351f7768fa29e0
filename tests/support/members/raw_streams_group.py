"""A streams group of a test, with a topic to read, whose members do only what the test has them do (KIP-1071)."""

from collections.abc import Iterable, Mapping

from attrs import frozen

from kafka_groups.broker.coordinators.groups.streams.tasks import task_set
from kafka_groups.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeResponseGroup,
    StreamsGroupDescribeResponseMember,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology, StreamsStatus
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.streams_member import StreamsBeat, StreamsMember, described_streams
from tests.support.members.streams_topologies import internal, sent, subtopology
from tests.support.targets import Target

__all__ = ["PARTITIONS", "A", "B", "C", "DescribedMember", "RawStreamsGroup", "has_status", "new_group", "tasks"]

A, B, C = (letter * 22 for letter in "ABC")
PARTITIONS = 4


@frozen
class DescribedMember:
    """A member as StreamsGroupDescribe shows it: its epoch, what it has, and what it will have."""

    epoch: int
    active: frozenset[tuple[str, int]]
    standby: frozenset[tuple[str, int]]
    target_active: frozenset[tuple[str, int]]
    target_standby: frozenset[tuple[str, int]]

    @classmethod
    def of(cls, member: StreamsGroupDescribeResponseMember) -> "DescribedMember":
        """Read it."""
        has, target = member.assignment, member.target_assignment
        lists = (has.active_tasks, has.standby_tasks, target.active_tasks, target.standby_tasks)
        return cls(member.member_epoch, *(task_set(each) for each in lists))


class RawStreamsGroup:
    """A new group, a topic, and members."""

    def __init__(self, target: Target, topic: Topic) -> None:
        self.target = target
        self.group_id = unique("app")
        self.topic = topic

    # ----------------------------------------------------------------------------------------- topologies

    @property
    def simple(self) -> StreamsGroupHeartbeatTopology:
        """A topology that reads the topic."""
        return sent(subtopology("0", sources=(self.topic.name,)))

    @property
    def counting(self) -> StreamsGroupHeartbeatTopology:
        """A topology with a repartition topic and a changelog."""
        repartition, changelog = f"{self.group_id}-words-repartition", f"{self.group_id}-counts-changelog"
        return sent(
            subtopology("0", sources=(self.topic.name,), sinks=(repartition,)),
            subtopology(
                "1",
                repartitions=(internal(repartition, configs={"cleanup.policy": "delete"}),),
                changelogs=(internal(changelog, configs={"cleanup.policy": "compact"}),),
            ),
        )

    @property
    def stateful(self) -> StreamsGroupHeartbeatTopology:
        """A topology of one part that reads the topic and has a changelog, so that there can be standbys."""
        changelog = internal(f"{self.group_id}-store-changelog", configs={"cleanup.policy": "compact"})
        return sent(subtopology("0", sources=(self.topic.name,), changelogs=(changelog,)))

    # -------------------------------------------------------------------------------------------- members

    def member(self, member_id: str, instance: str | None = None, group_id: str | None = None) -> StreamsMember:
        """A member that has not joined yet."""
        return StreamsMember(self.target.client(), group_id or self.group_id, member_id, instance)

    async def joined(
        self, member_id: str, instance: str | None = None, topology: StreamsGroupHeartbeatTopology | None = None
    ) -> StreamsMember:
        """A member that has joined, with the simple topology if no other is given."""
        member = self.member(member_id, instance)
        beat = await member.join(topology or self.simple)
        assert beat.error == "NONE", beat
        return member

    async def balanced(self, first: StreamsMember, second: StreamsMember) -> StreamsBeat:
        """Let the first of two members give half of its tasks to the second; returns what the second gets."""
        told = await first.beat()
        assert told.active is not None, told
        await first.beat(owned=told.active)
        given = await second.beat()
        assert (await self.state())[0] == "Stable"
        return given

    # ------------------------------------------------------------------------------------------- questions

    async def described(self) -> StreamsGroupDescribeResponseGroup:
        """The group as StreamsGroupDescribe shows it."""
        return await described_streams(self.target.client(), self.group_id)

    async def state(self) -> tuple[str, int, int]:
        """State, group epoch and assignment epoch."""
        group = await self.described()
        return group.group_state, group.group_epoch, group.assignment_epoch

    async def state_name(self) -> str:
        """The state, or the error if the group cannot be described."""
        group = await self.described()
        return group.group_state if group.error_code.name == "NONE" else group.error_code.name

    async def members(self) -> dict[str, DescribedMember]:
        """The members by id."""
        return {each.member_id: DescribedMember.of(each) for each in (await self.described()).members}

    # --------------------------------------------------------------------------------------- circumstances

    async def configure(self, configs: Mapping[str, str]) -> None:
        """Set configs of the group, whose names are given without `streams.`."""
        given = {f"streams.{name}": value for name, value in configs.items()}
        await self.target.cluster.set_group_config(self.group_id, given)

    async def until_coordinators_know(
        self, topology: StreamsGroupHeartbeatTopology, statuses: Iterable[StreamsStatus] = ()
    ) -> None:
        """Wait until coordinators find the topics of a topology as they are.

        On a real Kafka, they hear of topics after the rest of the broker, and of several ones after each other.

        Args:
            topology: The topology.
            statuses: What another group with the topology is told then.
        """
        scout = self.member(A, group_id=unique("scout"))
        await self.target.cluster.coordinator_of(scout.group_id)

        async def told() -> tuple[int, ...]:
            return (await scout.join(topology)).statuses

        expected = tuple(statuses)
        await until(told, lambda found: found == expected)
        await scout.leave()


async def new_group(target: Target, partitions: int = PARTITIONS) -> RawStreamsGroup:
    """A group whose coordinator knows the topic."""
    group = RawStreamsGroup(target, await target.cluster.create_topic(partitions))
    await target.cluster.coordinator_of(group.group_id)
    await group.until_coordinators_know(group.simple)
    return group


def has_status(status: StreamsStatus, beat: StreamsBeat) -> bool:
    """Whether a heartbeat was answered with one status, and this is it."""
    return beat.statuses == (status,)


def tasks(*numbers: int, subtopology_id: str = "0") -> frozenset[tuple[str, int]]:
    """Tasks of one sub-topology."""
    return frozenset((subtopology_id, number) for number in numbers)
