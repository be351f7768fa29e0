"""What is refused in streams groups (KIP-1071), each refusal with its name: heartbeats that are bad or do not fit."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest
from attrs import evolve, frozen

from kafka_groups.protocol.messages.streams_group_parts import StreamsSubtopology, TaskIds, TaskOffset
from tests.support.members.raw_streams_group import PARTITIONS, A, B, C, RawStreamsGroup, new_group, tasks
from tests.support.members.streams_member import StreamsBeat, StreamsMember, described_streams
from tests.support.members.streams_topologies import internal, sent, subtopology
from tests.support.streams_brokers import everywhere_at_once
from tests.support.targets import Target

INVALID, NOT_FOUND, INVALID_TOPOLOGY = "INVALID_REQUEST", "GROUP_ID_NOT_FOUND", "STREAMS_INVALID_TOPOLOGY"
UNKNOWN, FENCED_EPOCH = "UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"
STRANGER = "D" * 22
UNRELEASED, FENCED_INSTANCE = "UNRELEASED_INSTANCE_ID", "FENCED_INSTANCE_ID"

LISTED = (TaskIds(subtopology_id="0", partitions=(0,)),)
ONE = sent(subtopology("0", sources=("unknown-topic",)))
REGEX = sent(StreamsSubtopology(subtopology_id="0", source_topic_regex=("a.*",)))
ODD_CHANGELOG = sent(subtopology("0", sources=("a",), changelogs=(internal("c", 3),)))
NO_WRITER = sent(subtopology("0", sources=(), repartitions=(internal("r"),)))
READS_NOTHING = sent(subtopology("0", sources=()))
IN_A_CIRCLE = sent(
    subtopology("0", repartitions=(internal("r"),), sinks=("s",)),
    subtopology("1", repartitions=(internal("s"),), sinks=("r",)),
)
JOIN: Mapping[str, Any] = {
    "epoch": 0, "rebalance_timeout_ms": 30_000, "topology": ONE, "owned": (), "process_id": "p", "client_tags": (),
}  # fmt: skip
REFUSED: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "no rebalance timeout": ({**JOIN, "rebalance_timeout_ms": -1}, INVALID),
    "no topology": ({**JOIN, "topology": None}, INVALID),
    "no group": ({**JOIN, "group_id": ""}, INVALID),
    "no member": ({**JOIN, "member_id": ""}, INVALID),
    "empty instance": ({**JOIN, "instance_id": ""}, INVALID),
    "empty rack": ({**JOIN, "rack_id": ""}, INVALID),
    "owns active tasks": ({**JOIN, "active_tasks": LISTED}, INVALID),
    "owns standby tasks": ({**JOIN, "standby_tasks": LISTED}, INVALID),
    "says nothing about tasks": ({**JOIN, "owned": None}, INVALID),
    "owns warm-up tasks": ({**JOIN, "warmup_tasks": LISTED}, INVALID),
    "a regular expression": ({**JOIN, "topology": REGEX}, INVALID),
    "changelog with a fixed number": ({**JOIN, "topology": ODD_CHANGELOG}, INVALID_TOPOLOGY),
    "repartition topic that nobody writes": ({**JOIN, "topology": NO_WRITER}, INVALID_TOPOLOGY),
    "repartition topics in a circle": ({**JOIN, "topology": IN_A_CIRCLE}, INVALID_TOPOLOGY),
    "sub-topology that reads nothing": ({**JOIN, "topology": READS_NOTHING}, INVALID_TOPOLOGY),
    "internal topic": ({**JOIN, "topology": sent(subtopology(sources=("__consumer_offsets",)))}, INVALID_TOPOLOGY),
    "invalid topic": ({**JOIN, "topology": sent(subtopology(sources=("no topic",)))}, INVALID_TOPOLOGY),
    "invalid sink": ({**JOIN, "topology": sent(subtopology(sources=("a",), sinks=("no topic",)))}, INVALID_TOPOLOGY),
    "topology when not joining": ({"epoch": 1, "topology": ONE}, INVALID),
    "some lists of tasks": ({"epoch": 1, "active_tasks": LISTED}, INVALID),
    "epoch -3": ({"epoch": -3}, INVALID),
    "epoch -2": ({"epoch": -2}, INVALID),
    "leaves": ({"epoch": -1}, NOT_FOUND),
    "leaves for a while": ({"epoch": -2, "instance_id": "i"}, NOT_FOUND),
    "stays": ({"epoch": 5}, NOT_FOUND),
}


@everywhere_at_once
@pytest.mark.parametrize("version", [0, 1])
async def test_what_is_refused(target: Target, version: int) -> None:
    group = await new_group(target)
    member = group.member(A)
    for name, (fields, error) in REFUSED.items():
        beat = await member.beat(version=version, **fields)
        assert (beat.error, beat.epoch, beat.active) == (error, 0, None), name
        assert beat.response.error_message, name
        assert beat.response.status == (), name
    assert (await described_streams(target.client(), group.group_id)).error_code.name == NOT_FOUND


# ------------------------------------------------------------------------------------- heartbeats that do not fit


@frozen
class Scene:
    """A full group of two dynamic members, of which the first has all tasks, and a static one.

    Attributes:
        group: The group.
        first: The dynamic member, in epoch 2.
        static: The static member with the instance id "i".
        stranger: Not a member.
    """

    group: RawStreamsGroup
    first: StreamsMember
    static: StreamsMember
    stranger: StreamsMember

    @classmethod
    async def of(cls, target: Target) -> "Scene":
        """Set it."""
        group = await new_group(target)
        scene = cls(group, await group.joined(A), await group.joined(B, "i"), group.member(STRANGER))
        await group.joined(C)
        return scene

    async def another_topology(self, epoch: int) -> StreamsBeat:
        """A member joins again with an epoch and another topology than the group's."""
        other = sent(subtopology("0", sources=(self.group.topic.name, "another-topic")))
        return await self.first.join(evolve(other, epoch=epoch))

    async def repeated_offset(self) -> StreamsBeat:
        """The offset of a task is given twice."""
        offset = TaskOffset(subtopology_id="0", partition=0, offset=1)
        return await self.first.beat(task_offsets=(offset, offset))

    async def as_static(self, member_id: str, epoch: int, instance: str = "i") -> StreamsBeat:
        """A heartbeat with an instance id."""
        member = self.group.member(member_id, instance)
        return await (member.join(self.group.simple) if epoch == 0 else member.beat(epoch))


Attempt = Callable[[Scene], Awaitable[StreamsBeat]]

REFUSED_BY_THE_GROUP: Mapping[str, tuple[Attempt, str]] = MappingProxyType({
    "a stranger stays": (lambda it: it.stranger.beat(1), UNKNOWN),
    "a stranger leaves": (lambda it: it.stranger.beat(-1), UNKNOWN),
    "a newer epoch": (lambda it: it.first.beat(7), FENCED_EPOCH),
    "the previous epoch without tasks": (lambda it: it.first.beat(1), FENCED_EPOCH),
    "the previous epoch with other tasks": (lambda it: it.static.beat(1, tasks(0)), FENCED_EPOCH),
    "a task beyond the last": (lambda it: it.first.beat(owned=tasks(PARTITIONS)), INVALID),
    "a task of no sub-topology": (lambda it: it.first.beat(owned={("7", 0)}), INVALID),
    "an offset given twice": (Scene.repeated_offset, INVALID),
    "another topology": (partial(Scene.another_topology, epoch=0), INVALID),
    "a newer topology": (partial(Scene.another_topology, epoch=1), INVALID),
    "a newer epoch of the topology": (lambda it: it.first.join(evolve(it.group.simple, epoch=1)), INVALID),
    "a full group": (lambda it: it.stranger.join(it.group.simple), "GROUP_MAX_SIZE_REACHED"),
    "an instance that is there": (partial(Scene.as_static, member_id=STRANGER, epoch=0), UNRELEASED),
    "an instance that is there, same member id": (partial(Scene.as_static, member_id=B, epoch=0), UNRELEASED),
    "another member's instance": (partial(Scene.as_static, member_id=STRANGER, epoch=2), FENCED_INSTANCE),
    "another member's instance leaves": (partial(Scene.as_static, member_id=STRANGER, epoch=-1), FENCED_INSTANCE),
    "another member's instance leaves for a while": (
        partial(Scene.as_static, member_id=STRANGER, epoch=-2), FENCED_INSTANCE,
    ),
    "an unknown instance": (partial(Scene.as_static, member_id=A, epoch=2, instance="j"), UNKNOWN),
    "an unknown instance leaves for a while": (
        partial(Scene.as_static, member_id=A, epoch=-2, instance="j"), UNKNOWN,
    ),
})  # fmt: skip

TAKEN = "Static member {} with instance id i cannot join the group because the instance id is owned by {} member."
FENCED_BY = f"Static member {STRANGER} with instance id i was fenced by member {B}."
NO_INSTANCE = "Instance id j is unknown."
TEXTS: Mapping[str, str] = MappingProxyType({
    "an instance that is there": TAKEN.format(STRANGER, B),
    "an instance that is there, same member id": TAKEN.format(B, B),
    "another member's instance": FENCED_BY,
    "another member's instance leaves": FENCED_BY,
    "another member's instance leaves for a while": FENCED_BY,
    "an unknown instance": NO_INSTANCE,
    "an unknown instance leaves for a while": NO_INSTANCE,
})  # fmt: skip
"""Kafka's texts about instance ids, which users see when two processes have the same one."""


@everywhere_at_once
async def test_what_the_group_refuses(target: Target) -> None:
    scene = await Scene.of(target)
    before = await scene.group.members()
    for name, (attempt, error) in REFUSED_BY_THE_GROUP.items():
        beat = await attempt(scene)
        assert (beat.error, beat.epoch, beat.active, beat.response.status) == (error, 0, None, ()), name
        assert beat.response.error_message, name
        assert beat.response.error_message == TEXTS.get(name, beat.response.error_message), name
    assert await scene.group.members() == before
