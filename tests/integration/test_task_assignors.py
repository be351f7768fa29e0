"""Task assignors of a user, on the embedded broker over TCP: which groups use them, and what is refused."""

import pytest
from attrs import define

from kafka_groups.assignment import (
    MemberAssignment,
    MemberAssignments,
    StickyGroupAssignor,
    StreamsGroupSpec,
    TopologyDescriber,
)
from kafka_groups.errors import InvalidConfigError
from tests.support.members.assignor_scene import GROUP, PARTITIONS, TOPOLOGY, tasks, with_assignors
from tests.support.members.streams_member import StreamsBeat, described_streams


class LowestMember:
    """Gives all tasks to the member with the lowest id."""

    name = "lowest-member"

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        tasks = {
            subtopology_id: frozenset(range(described.max_num_input_partitions))
            for subtopology_id, described in topology.subtopologies.items()
        }
        return MemberAssignments({min(group.members): MemberAssignment(active_tasks=tasks)})


@define
class Scripted:
    """Returns what it is told to, or raises an error."""

    answer: object = None
    name: str = "scripted"

    def assign(self, group: StreamsGroupSpec, topology: TopologyDescriber) -> MemberAssignments:
        if not isinstance(self.answer, MemberAssignments):
            raise LookupError(f"nothing for {len(group.members)} members")
        return self.answer


async def test_groups_use_the_first_assignor_unless_they_select_another() -> None:
    async with with_assignors(LowestMember, StickyGroupAssignor()) as scene:
        first, second = scene.member("a"), scene.member("b")
        assert (await first.join(TOPOLOGY)).active == tasks(0, 1, 2, 3)
        assert (await second.join(TOPOLOGY)).active == frozenset()
        assert (await described_streams(scene.client, GROUP)).assignor_name == "lowest-member"

        scene.cluster.alter_group_configs(GROUP, {"streams.assignor.name": "sticky"})
        shown = await described_streams(scene.client, GROUP)
        assert (shown.assignor_name, shown.group_epoch) == ("sticky", 3)
        assert (await first.beat()).active is None
        assert (await described_streams(scene.client, GROUP)).group_epoch == 3, "as in Kafka, nothing moves for it"

        await scene.member("c").join(TOPOLOGY)
        kept = (await first.beat()).active
        assert len(kept or ()) == 2, "sticky from the next rebalance on"


async def test_groups_cannot_select_an_assignor_that_is_not_offered() -> None:
    async with with_assignors("sticky", LowestMember()) as scene:
        with pytest.raises(InvalidConfigError, match=r"'range'.*sticky or lowest-member"):
            scene.cluster.alter_group_configs(GROUP, {"streams.assignor.name": "range"})
        assert (await scene.member("a").join(TOPOLOGY)).active == tasks(0, 1, 2, 3)


USELESS = {
    "an error": (None, "nothing for 2 members"),
    "an unknown task": (MemberAssignments({"a": MemberAssignment({"0": {0, 4}})}), "unknown tasks: 0_4"),
    "an unknown sub-topology": (MemberAssignments({"a": MemberAssignment({"7": {0}})}), "unknown tasks: 7_0"),
    "an unknown member": (MemberAssignments({"z": MemberAssignment({"0": {0}})}), "unknown members: z"),
    "two owners": (
        MemberAssignments({"a": MemberAssignment({"0": {0}}), "b": MemberAssignment({"0": {0}})}),
        "to several members: 0_0 to members 'a' and 'b'",
    ),
}


@pytest.mark.parametrize(("answer", "why"), USELESS.values(), ids=USELESS)
async def test_a_heartbeat_fails_if_the_assignor_does_and_nothing_is_written(answer: object, why: str) -> None:
    whole = MemberAssignments({"a": MemberAssignment({"0": set(range(PARTITIONS))})})
    scripted = Scripted(whole)
    async with with_assignors(scripted) as scene:
        first, second = scene.member("a"), scene.member("b")
        await first.join(TOPOLOGY)
        stored, scripted.answer = scene.stored(), answer
        assert stored > 0

        refused: StreamsBeat = await second.join(TOPOLOGY)
        assert refused.error == "UNKNOWN_SERVER_ERROR"
        assert why in refused.response.error_message
        assert scene.stored() == stored
        shown = await described_streams(scene.client, GROUP)
        assert ([each.member_id for each in shown.members], shown.group_epoch) == (["a"], 2)
        assert (await first.beat()).error == "NONE", "the members that are there keep their tasks"

        scripted.answer = whole
        assert (await second.join(TOPOLOGY)).error == "NONE"
