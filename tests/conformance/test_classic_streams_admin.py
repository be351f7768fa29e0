"""The admin client: classic groups of streams applications, and groups of every other type in their place."""

from collections.abc import Awaitable, Callable
from types import MappingProxyType
from typing import Any

import pytest

from kafka_groups.admin import AsyncKafkaAdmin
from kafka_groups.errors import (
    ConfigurationError,
    GroupIdNotFoundError,
    IllegalStateError,
    KafkaGroupsError,
    MemberDataError,
    NonEmptyGroupError,
)
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.streams import GroupTopology, Subtopology
from kafka_groups.types import TaskId, TopicPartition
from tests.support.conditions import until
from tests.support.members.classic_member import ClassicMember
from tests.support.members.kinds_of_groups import KINDS, Subject
from tests.support.members.shown_classic_groups import PROCESS, assigned, joined_with
from tests.support.targets import Target, everywhere

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

OTHERS = MappingProxyType({
    "missing": "not found",
    "classic": "is a classic group with the protocol type 'consumer' and the protocol 'range'",
    "connect": "is a classic group with the protocol type 'connect' and the protocol 'range'",
    "consumer, empty": "is a consumer group and not a classic group",
    "consumer": "is a consumer group and not a classic group",
    "share, empty": "is a share group and not a classic group",
    "share": "is a share group and not a classic group",
    "streams, empty": "is a streams group and not a classic group",
    "streams": "is a streams group and not a classic group",
})  # fmt: skip
"""What is said of groups that are not described."""

EMPTY = ("classic, empty", "offsets")
"""Groups without members, which may have been those of an application."""


def reading(*topics: str) -> GroupTopology:
    """A topology that reads topics."""
    return GroupTopology((Subtopology(subtopology_id="0", source_topics=topics),))


def changes(subject: Subject, topology: GroupTopology | None) -> list[Callable[[AsyncKafkaAdmin], Awaitable[Any]]]:
    """All changes of a group that an admin client can make."""
    group_id, place = subject.group_id, TopicPartition(subject.topic.name, 0)

    async def delete(admin: AsyncKafkaAdmin) -> None:
        (await admin.delete_streams_groups([group_id], topology=topology)).checked()

    return [
        lambda admin: admin.alter_streams_group_offsets(group_id, {place: 0}, topology=topology),
        lambda admin: admin.reset_streams_group_offsets(group_id, "latest", topology=topology),
        lambda admin: admin.delete_streams_group_offsets(group_id, [place], topology=topology),
        delete,
    ]


async def refusals(admin: AsyncKafkaAdmin, subject: Subject, topology: GroupTopology | None) -> list[KafkaGroupsError]:
    """The errors of all changes."""
    errors = []
    for change in changes(subject, topology):
        with pytest.raises(KafkaGroupsError) as caught:
            await change(admin)
        errors.append(caught.value)
    return errors


@everywhere
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in EMPTY])
async def test_groups_of_others_are_named_by_their_type_and_left_alone(target: Target, kind: str) -> None:
    subject = await Subject.of(target, kind)
    async with target.admin() as admin:
        error = (await admin.describe_classic_streams_groups([subject.group_id])).errors[subject.group_id]
        assert type(error) is GroupIdNotFoundError
        assert OTHERS[kind] in str(error)
        for refusal in await refusals(admin, subject, reading(subject.topic.name)):
            assert type(refusal) is GroupIdNotFoundError
            assert OTHERS[kind] in str(refusal)


@everywhere
@pytest.mark.parametrize("kind", EMPTY)
async def test_groups_without_members_are_reset_with_a_topology_that_may_be_theirs(target: Target, kind: str) -> None:
    subject = await Subject.of(target, kind)
    group_id, topology = subject.group_id, reading(subject.topic.name)
    async with target.admin() as admin:
        group = (await admin.describe_classic_streams_groups([group_id]))[group_id]
        assert (group.state, group.members) == ("Empty", ())
        for error in await refusals(admin, subject, None):
            assert f"The group {group_id} is a classic group (Empty). Brokers do not keep the topology" in str(error)
        for error in await refusals(admin, subject, reading("elsewhere")):
            assert isinstance(error, ConfigurationError)
        for change in changes(subject, topology):
            await change(admin)
        gone = (await admin.describe_classic_streams_groups([group_id])).errors[group_id]
        assert isinstance(gone, GroupIdNotFoundError)


# ----------------------------------------------------------------------------------------- with a member


async def joined(target: Target, metadata: bytes, topic: str) -> ClassicMember:
    """A member that leads a group, with this subscription and the only task."""
    group_id = await target.new_group()
    member = ClassicMember(target.client(), group_id, protocols=[("stream", metadata)])
    await member.join()
    given = assigned(AssignmentInfo(active_tasks=(TaskId("0", 0),)), **{topic: (0,)})
    assert (await member.sync({member.member_id: given}))[0] == "NONE"
    return member


@everywhere
async def test_a_stable_group_is_described_and_one_that_rebalances_is_not(target: Target) -> None:
    topic = (await target.cluster.create_topic(1)).name
    member = await joined(target, joined_with(topics=(topic,), rack_id="r"), topic)
    async with target.admin() as admin:
        group = (await admin.describe_classic_streams_groups([member.group_id]))[member.group_id]
        (found,) = group.members
        assert (group.state, group.lag) == ("Stable", {TopicPartition(topic, 0): 0})
        assert (found.member_id, found.process_id, found.rack) == (member.member_id, str(PROCESS), "r")
        assert found.active_tasks == {TaskId("0", 0)}
        await member.join()
        error = (await admin.describe_classic_streams_groups([member.group_id])).errors[member.group_id]
        assert type(error) is IllegalStateError
        assert f"{member.group_id} is CompletingRebalance (protocol type 'consumer', 1 member)" in str(error)
        with pytest.raises(NonEmptyGroupError, match="has members \\(it is CompletingRebalance\\)"):
            await admin.reset_streams_group_offsets(member.group_id, "latest", topology=reading(topic))
        await member.leave()
        await until(lambda: state(admin, member.group_id), lambda it: it == "Empty")


async def state(admin: AsyncKafkaAdmin, group_id: str) -> str:
    return (await admin.describe_classic_streams_groups([group_id]))[group_id].state


@everywhere
async def test_data_that_cannot_be_read_names_the_member(target: Target) -> None:
    topic = (await target.cluster.create_topic(1)).name
    member = await joined(target, joined_with(b"not of an application", topics=(topic,)), topic)
    async with target.admin() as admin:
        error = (await admin.describe_classic_streams_groups([member.group_id])).errors[member.group_id]
        assert isinstance(error, MemberDataError)
        assert f"{member.group_id} (Stable, protocol 'stream') has the member {member.member_id} of" in str(error)
