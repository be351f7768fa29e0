"""Streams groups, raw (KIP-1071): members, epochs, revocation before assignment, topologies, topics, offsets."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.protocol.messages.streams_group import (
    KeyValue,
    StreamsSubtopology,
    TaskIds,
    TaskOffset,
    UserEndpoint,
)
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology, StreamsStatus
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.real_kafka import unique
from tests.support.streams_member import StreamsBeat, StreamsMember, described_streams
from tests.support.streams_topologies import internal, sent, subtopology, together
from tests.support.targets import Target, everywhere_with

NONE, UNKNOWN, STALE = "NONE", "UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH"
FENCED_EPOCH, FENCED_INSTANCE, UNRELEASED = "FENCED_MEMBER_EPOCH", "FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"
INVALID, NOT_FOUND, INVALID_TOPOLOGY = "INVALID_REQUEST", "GROUP_ID_NOT_FOUND", "STREAMS_INVALID_TOPOLOGY"
A, B, C = (letter * 22 for letter in "ABC")
PARTITIONS = 4

at_once = everywhere_with({
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.max.size": "3",
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.min.heartbeat.interval.ms": "100",
})  # fmt: skip
"""With brokers that assign tasks as soon as something has changed."""


class Group:
    """A new group, a topic, and members."""

    def __init__(self, target: Target, topic: Topic) -> None:
        self.target = target
        self.group_id = unique("app")
        self.topic = topic

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

    def member(self, member_id: str, instance: str | None = None, group_id: str | None = None) -> StreamsMember:
        """A member that has not joined yet."""
        return StreamsMember(self.target.client(), group_id or self.group_id, member_id, instance)

    async def joined(self, member_id: str, instance: str | None = None) -> StreamsMember:
        """A member that has joined with the simple topology."""
        member = self.member(member_id, instance)
        beat = await member.join(self.simple)
        assert beat.error == NONE, beat
        return member

    async def balanced(self, first: StreamsMember, second: StreamsMember) -> StreamsBeat:
        """Let the first of two members give half of its tasks to the second; returns what the second gets."""
        told = await first.beat()
        assert told.active is not None, told
        await first.beat(owned=told.active)
        given = await second.beat()
        assert (await self.state())[0] == "Stable"
        return given

    async def state(self) -> tuple[str, int, int]:
        """State, group epoch and assignment epoch."""
        group = await described_streams(self.target.client(), self.group_id)
        return group.group_state, group.group_epoch, group.assignment_epoch


async def new_group(target: Target) -> Group:
    """A group whose coordinator knows the topic: on a real Kafka, it hears of it after the rest of the broker."""
    group = Group(target, await target.cluster.create_topic(PARTITIONS))
    await target.cluster.coordinator_of(group.group_id)
    scout = group.member(A, group_id=unique("scout"))
    await target.cluster.coordinator_of(scout.group_id)

    async def statuses() -> tuple[int, ...]:
        beat = await scout.join(group.simple)
        return beat.statuses

    await until(statuses, lambda found: found == ())
    await scout.leave()
    return group


def has_status(status: StreamsStatus, beat: StreamsBeat) -> bool:
    return beat.statuses == (status,)


def tasks(*numbers: int) -> frozenset[tuple[str, int]]:
    return frozenset(("0", number) for number in numbers)


# --------------------------------------------------------------------------------------------- refusals

LISTED = (TaskIds(subtopology_id="0", partitions=(0,)),)
ONE = sent(subtopology("0", sources=("unknown-topic",)))
REGEX = sent(StreamsSubtopology(subtopology_id="0", source_topic_regex=("a.*",)))
ODD_CHANGELOG = sent(subtopology("0", sources=("a",), changelogs=(internal("c", 3),)))
NO_WRITER = sent(subtopology("0", sources=(), repartitions=(internal("r"),)))
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


@at_once
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


@at_once
async def test_what_the_group_refuses(target: Target) -> None:
    group = await new_group(target)
    first = await group.joined(A)
    stranger = group.member(B)
    assert (await stranger.beat(1)).error == UNKNOWN
    assert (await stranger.beat(-1)).error == UNKNOWN
    assert (await first.beat(3)).error == FENCED_EPOCH
    assert (await first.beat(1)).error == FENCED_EPOCH
    assert (await first.beat(owned=tasks(PARTITIONS))).error == INVALID
    assert (await first.beat(owned={("7", 0)})).error == INVALID
    offset = TaskOffset(subtopology_id="0", partition=0, offset=1)
    assert (await first.beat(task_offsets=(offset, offset))).error == INVALID
    assert (await stranger.join(evolve(group.simple, epoch=1))).error == INVALID
    other = sent(subtopology("0", sources=(group.topic.name, "another-topic")))
    assert (await stranger.join(other)).error == INVALID
    for member_id in (B, C):
        await group.joined(member_id)
    assert (await group.member("D" * 22).join(group.simple)).error == "GROUP_MAX_SIZE_REACHED"


# ---------------------------------------------------------------------------------------------- members


@at_once
async def test_a_task_is_given_when_its_owner_has_revoked_it(target: Target) -> None:
    group = await new_group(target)
    first, second = group.member(A), group.member(B)
    alone = await first.join(group.simple)
    assert (alone.epoch, alone.active, alone.statuses) == (2, tasks(0, 1, 2, 3), ())
    assert (alone.response.heartbeat_interval_ms, alone.response.task_offset_interval_ms) == (5_000, 60_000)
    assert alone.response.acceptable_recovery_lag == 10_000
    assert (await first.beat()).active is None
    assert (await second.join(group.simple)).active == frozenset()
    assert (await group.state())[0] == "Reconciling"
    told = await first.beat()
    assert told.active is not None
    assert (told.epoch, len(told.active)) == (2, 2)
    assert (await second.beat()).active is None
    assert (await first.beat(owned=told.active)).epoch == 3
    assert (await second.beat()).active == tasks(0, 1, 2, 3) - told.active
    assert await group.state() == ("Stable", 3, 3)
    assert (await first.beat(2, told.active)).epoch == 3, "the previous epoch"
    assert (await first.beat(2)).error == FENCED_EPOCH, "it does not say what it owns"
    assert (await second.leave()).epoch == -1
    assert (await first.beat()).active == tasks(0, 1, 2, 3)
    assert await group.state() == ("Stable", 4, 4)
    await first.leave()
    assert await group.state() == ("Empty", 5, 5)


@at_once
async def test_a_static_member_keeps_its_tasks(target: Target) -> None:
    group = await new_group(target)
    first = await group.joined(A, "i")
    assert (await group.member(B, "i").join(group.simple)).error == UNRELEASED
    assert (await group.member(A, "i").join(group.simple)).error == UNRELEASED
    assert (await group.member(B, "i").beat(2)).error == FENCED_INSTANCE
    assert (await group.member(A, "j").beat(2)).error == UNKNOWN
    assert (await first.leave_for_a_while()).epoch == -2
    assert (await group.state())[0] == "Reconciling"
    again = await group.member(B, "i").join(group.simple, process_id=A)
    assert (again.epoch, again.active) == (2, tasks(0, 1, 2, 3))
    assert await group.state() == ("Stable", 2, 2)


@at_once
async def test_all_are_told_to_shut_down(target: Target) -> None:
    group = await new_group(target)
    first, second = await group.joined(A), await group.joined(B)
    await first.beat(shutdown_application=True)
    told = await second.beat()
    assert told.statuses == (StreamsStatus.SHUTDOWN_APPLICATION,)
    assert A in told.response.status[0].status_detail
    await first.leave()
    assert (await second.beat()).statuses == (StreamsStatus.SHUTDOWN_APPLICATION,)
    await second.leave()
    assert (await group.member(C).join(group.simple)).statuses == ()


@at_once
async def test_who_answers_queries(target: Target) -> None:
    group = await new_group(target)
    first, second = await group.joined(A), await group.joined(B)
    await group.balanced(first, second)
    endpoint = UserEndpoint(host="host", port=65_535)
    told = (await first.beat(user_endpoint=endpoint)).response
    assert told.endpoint_information_epoch > 0
    [entry] = told.partitions_by_user_endpoint
    assert entry.user_endpoint == endpoint
    assert [(each.topic, len(each.partitions)) for each in entry.active_partitions] == [(group.topic.name, 2)]
    assert (await second.beat()).response.partitions_by_user_endpoint == (entry,)
    known = (await second.beat(endpoint_information_epoch=told.endpoint_information_epoch)).response
    assert known.partitions_by_user_endpoint is None


# ------------------------------------------------------------------------------------- topologies and topics


@at_once
async def test_internal_topics_are_created(target: Target) -> None:
    group = await new_group(target)
    member = group.member(A)
    first = await member.join(group.counting)
    assert (first.statuses, first.active) == ((StreamsStatus.MISSING_INTERNAL_TOPICS,), frozenset())
    shown = await described_streams(target.client(), group.group_id)
    assert (shown.group_state, shown.group_epoch) == ("NotReady", 2)
    assert shown.topology is not None
    assert shown.topology.subtopologies is not None
    assert shown.topology.subtopologies[1].state_changelog_topics[0].partitions == 0

    await until(member.beat, lambda beat: beat.statuses == ())
    shown = await described_streams(target.client(), group.group_id)
    assert shown.group_state == "Stable"
    assert shown.topology is not None
    assert shown.topology.subtopologies is not None
    [changelog] = shown.topology.subtopologies[1].state_changelog_topics
    assert changelog.partitions == PARTITIONS
    assert [each.partitions for each in shown.members[0].assignment.active_tasks] == [(0, 1, 2, 3)] * 2
    assert shown.assignor_name == "sticky"


@at_once
async def test_problems_of_topologies_are_told_in_their_order(target: Target) -> None:
    group = await new_group(target)
    small = await target.cluster.create_topic(1)
    together_ = subtopology("0", sources=(group.topic.name, small.name), together=(together(0, 1),))
    missing = subtopology("1", sources=(unique("missing"),), changelogs=(internal(unique("changelog")),))
    cases = {
        StreamsStatus.MISSING_SOURCE_TOPICS: sent(together_, missing),
        StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS: sent(
            together_, evolve(missing, source_topics=(group.topic.name,))
        ),
    }
    for status, topology in cases.items():
        group_id = unique("app")
        await target.cluster.coordinator_of(group_id)
        member = group.member(A, group_id=group_id)

        await until(partial(member.join, topology), partial(has_status, status))
        assert (await described_streams(target.client(), group_id)).group_state == "NotReady"


@at_once
async def test_an_older_topology_is_stale(target: Target) -> None:
    group = await new_group(target)
    first, second = group.member(A), group.member(B)
    await first.join(evolve(group.simple, epoch=2))
    assert (await second.join(evolve(group.simple, epoch=1))).statuses == (StreamsStatus.STALE_TOPOLOGY,)
    assert (await second.beat()).statuses == (StreamsStatus.STALE_TOPOLOGY,)


@at_once
async def test_configs_of_a_group(target: Target) -> None:
    group = await new_group(target)
    first, second = await group.joined(A), await group.joined(B)
    await group.balanced(first, second)
    configs = {"streams.num.standby.replicas": "1", "streams.heartbeat.interval.ms": "6000"}
    await target.cluster.set_group_config(group.group_id, configs)

    async def interval_ms() -> int:
        return int((await first.beat()).response.heartbeat_interval_ms)

    await until(interval_ms, lambda found: found == 6_000)
    assert (await group.state())[1:] == (4, 4), "the number of standby tasks is a new epoch"


@at_once
async def test_members_must_have_the_tags_of_the_group(target: Target) -> None:
    group = await new_group(target)
    first = await group.joined(A)
    await target.cluster.set_group_config(group.group_id, {"streams.rack.aware.assignment.tags": "zone,cluster"})
    await until(first.beat, partial(has_status, StreamsStatus.MISSING_CLIENT_TAGS))
    assert (await first.beat(version=0)).statuses == ()
    zone, cluster = (KeyValue(key=key, value="x") for key in ("zone", "cluster"))
    told = await first.beat(client_tags=(zone,))
    assert told.statuses == (StreamsStatus.MISSING_CLIENT_TAGS,)
    assert "cluster" in told.response.status[0].status_detail
    assert (await first.beat(client_tags=(zone, cluster))).statuses == ()


# --------------------------------------------------------------------------------- sessions and timeouts


@pytest.mark.slow
@at_once
async def test_a_session_ends(target: Target) -> None:
    group = await new_group(target)
    configs = {"streams.session.timeout.ms": "1000", "streams.heartbeat.interval.ms": "100"}
    await target.cluster.set_group_config(group.group_id, configs)
    first = await group.joined(A, "i")

    async def interval_ms() -> int:
        return int((await first.beat()).response.heartbeat_interval_ms)

    await until(interval_ms, lambda found: found == 100)
    assert (await group.member(B, "i").join(group.simple)).error == UNRELEASED
    await until(group.state, lambda found: found[0] == "Empty")
    assert (await first.beat()).error == UNKNOWN
    assert (await group.member(B, "i").join(group.simple)).error == NONE


@at_once
async def test_who_does_not_revoke_in_time_is_removed(target: Target) -> None:
    group = await new_group(target)
    first, second = group.member(A), group.member(B)
    await first.join(group.simple, rebalance_timeout_ms=300)
    await second.join(group.simple)
    assert (await first.beat()).active != tasks(0, 1, 2, 3)
    beat = await until(second.beat, lambda beat: beat.active is not None)
    assert beat.active == tasks(0, 1, 2, 3)
    assert (await first.beat()).error == UNKNOWN


# ---------------------------------------------------------------------------------------------- offsets


@at_once
async def test_offsets_are_fenced_by_task(target: Target) -> None:
    group = await new_group(target)
    topic = group.topic.name
    first, second = await group.joined(A), await group.joined(B)
    given = (await group.balanced(first, second)).active
    assert given is not None
    theirs, mine = min(given)[1], min(tasks(0, 1, 2, 3) - given)[1]
    assert await first.commit(topic, mine) == NONE
    assert await first.commit(topic, mine, epoch=2) == NONE, "it has the task since then"
    assert await first.commit(topic, theirs, epoch=2) == STALE
    assert await first.commit(topic, mine, epoch=1) == STALE
    assert await first.commit(topic, mine, epoch=4) == STALE
    assert await second.commit(topic, theirs, epoch=2) == STALE
    assert await first.commit(topic, mine, version=8) == "UNSUPPORTED_VERSION"
    assert await group.member(C).commit(topic, mine, epoch=3) == UNKNOWN


# ------------------------------------------------------------------------------------------------ delays

with_delay = everywhere_with({
    "group.streams.initial.rebalance.delay.ms": "1000",
    "group.streams.assignment.interval.ms": "0",
})  # fmt: skip


@pytest.mark.slow
@with_delay
async def test_the_first_members_wait_for_more(target: Target) -> None:
    group = Group(target, await target.cluster.create_topic(PARTITIONS))
    await target.cluster.coordinator_of(group.group_id)
    first, second = group.member(A), group.member(B)
    joined = await first.join(group.simple)
    assert (joined.epoch, joined.active) == (1, frozenset())
    assert StreamsStatus.ASSIGNMENT_DELAYED in joined.statuses
    assert (await second.join(group.simple)).epoch == 1
    assert (await group.state())[2] == 1
    given = [(await until(member.beat, lambda beat: bool(beat.active))).active for member in (first, second)]
    assert [len(each or ()) for each in given] == [2, 2]
