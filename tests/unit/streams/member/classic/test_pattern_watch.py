"""Members whose topology has patterns: they look for topics, join with them, and lead with those of all members."""

import random
import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from kafka_groups import serdes
from kafka_groups.admin.rules.group_topology.pattern_sources import PatternSources
from kafka_groups.admin.rules.streams_leader.group_round import LeaderSettings
from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.errors import DisconnectedError, KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leave_group import LeaveGroupResponse
from kafka_groups.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_groups.streams import AsyncStreamsGroupMember, MembershipState, StreamsBuilder
from kafka_groups.streams.member.classic.pattern_watch import PatternWatch, WatchPace
from kafka_groups.streams.member.classic_membership import classic_membership
from kafka_groups.streams.member.rules.member_events import StatusesChanged, TasksAssigned
from kafka_groups.streams.topology.matched_topics import pattern_sources
from kafka_groups.types import TaskId, TopicPartition
from tests.unit.streams.member.classic.driven import Member, assignment, subscription_in
from tests.unit.streams.member.classic_members import SETTINGS, at_once, poll, simulate
from tests.unit.streams.member.clusters import World

TEXT = serdes.string
AGE_MS = 10_000


def sources_of(*patterns: str, has_table: bool = False) -> PatternSources:
    builder = StreamsBuilder()
    for number, pattern in enumerate(patterns or ("p-.*",)):
        lines = builder.stream(re.compile(pattern), key=TEXT, value=TEXT)
        lines.to("out")
        if has_table:
            lines.group_by_key().count(store=f"counts-{number}")
    found = pattern_sources(builder.build().graph, "app")
    assert found is not None
    return found


SOURCES = sources_of()


# ------------------------------------------------------------------------------------------------ asking


class Watched:
    """A watch, and the member for which it looks."""

    def __init__(self, sources: PatternSources = SOURCES) -> None:
        self.member = Member(sources=sources, topology=sources.topology_of(())).started()
        self.metadata, self.errors = Metadata(), BackgroundErrors()
        backoff = BackoffTimer(100, 1000, random.Random(1))
        pace = WatchPace(AGE_MS, 30_000)
        self.watch = PatternWatch(
            self.member.membership, sources, self.metadata, self.errors, pace=pace, backoff=backoff
        )

    def ask(self) -> OutgoingRequest:
        [request] = self.watch.poll(self.member.now_ms).requests
        assert request.api is ApiKey.METADATA
        built = request.build(12)
        assert isinstance(built, MetadataRequest)
        assert built.topics is None
        assert not built.allow_auto_topic_creation
        assert self.watch.poll(self.member.now_ms).requests == (), "one at a time"
        return request

    def answer(self, *topics: str | MetadataResponseTopic, **response: Any) -> None:
        found = tuple(topic if isinstance(topic, MetadataResponseTopic) else described(topic) for topic in topics)
        message = MetadataResponse(topics=found, **response)
        self.watch.on_response(self.ask(), ClientResponse(message, 9, 1), self.member.now_ms)

    def quiet_ms(self) -> int:
        result = self.watch.poll(self.member.now_ms)
        assert result.requests == ()
        return result.wait_ms

    def joined_with(self) -> tuple[str, ...]:
        return subscription_in(self.member.joining()).topics


def described(name: str, **values: Any) -> MetadataResponseTopic:
    partition = MetadataResponsePartition(partition_index=0, leader_id=1)
    given = {"topic_id": UUID(int=len(name)), "partitions": (partition,), **values}
    return MetadataResponseTopic(name=name, **given)


def test_a_member_joins_with_the_topics_that_exist_but_not_before_it_knows_them() -> None:
    watched = Watched()
    assert watched.member.membership.needs_topics
    assert watched.member.requests() == {}
    watched.answer("p-2", "in", "p-1")
    assert watched.joined_with() == ("p-1", "p-2")
    assert watched.metadata.id_of("p-1") is not None
    assert watched.metadata.id_of("in") is None, "the metadata of others is not kept"


def test_topics_of_kafka_itself_and_topics_that_are_gone_are_left_out() -> None:
    watched = Watched(sources_of(".*"))
    watched.answer(
        described("__consumer_offsets", is_internal=True),
        described("gone", error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        described("new", error_code=ErrorCode.LEADER_NOT_AVAILABLE),
    )
    assert watched.joined_with() == ("new",)


def test_it_looks_again_when_its_metadata_is_old_and_joins_again_if_topics_have_changed() -> None:
    watched = Watched()
    watched.answer("p-1")
    member = watched.member
    member.round()
    assert watched.quiet_ms() == AGE_MS
    member.wait(AGE_MS)
    watched.answer("p-1", "in")
    assert member.requests().keys() == {ApiKey.HEARTBEAT}, "nothing has changed"
    member.wait(AGE_MS)
    member.log()
    watched.answer("p-1", "p-2")
    assert member.log() == ["Group app: topics that match the patterns have changed (new: p-2)."]
    assert member.requests() == {}, "it looks again before it joins"
    watched.answer("p-2")
    assert subscription_in(member.send(ApiKey.JOIN_GROUP)).topics == ("p-2",)


def test_before_each_round_it_looks_but_not_before_a_repeated_request() -> None:
    watched = Watched()
    watched.answer("p-1")
    member = watched.member.round()
    member.rebalance()
    assert member.requests() == {}
    watched.answer("p-1")
    request = member.send(ApiKey.JOIN_GROUP)
    member.refuse(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    member.wait(1000)
    assert ApiKey.JOIN_GROUP in member.requests()


def test_it_asks_again_when_no_broker_has_answered() -> None:
    watched = Watched()
    watched.watch.on_failure(watched.ask(), DisconnectedError("gone"), watched.member.now_ms)
    assert 0 < watched.quiet_ms() <= 200
    watched.member.wait(200)
    watched.answer("p-1", error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
    assert watched.member.membership.needs_topics
    watched.member.wait(1000)
    watched.answer("p-1")
    assert watched.joined_with() == ("p-1",)


def test_another_cluster_ends_the_client() -> None:
    watched = Watched()
    watched.answer("p-1", cluster_id="one")
    watched.member.wait(AGE_MS)
    watched.answer("p-1", cluster_id="two")
    assert "different clusters" in str(watched.errors.fatal)


@pytest.mark.parametrize("has_joined", [False, True])
def test_a_topic_of_two_sources_ends_the_member(*, has_joined: bool) -> None:
    watched = Watched(sources_of("p-.*", ".*-1"))
    if has_joined:
        watched.answer("p-2")
        watched.member.round()
        watched.member.wait(AGE_MS)
    watched.answer("p-1")
    member = watched.member
    if has_joined:  # others need not wait for its session
        member.answer(member.send(ApiKey.LEAVE_GROUP), LeaveGroupResponse())
    assert member.state is MembershipState.FATAL
    assert "Topic 'p-1' matches the pattern" in str(member.fatal())
    watched.member.wait(AGE_MS)
    watched.answer("p-2")
    assert member.state is MembershipState.FATAL


def test_an_assignment_may_have_topics_that_the_member_has_not_seen() -> None:
    watched = Watched()
    watched.answer("p-1")
    member, task = watched.member, TaskId("0", 0)
    member.admit(member.joining())
    member.sync(assignment({task: (TopicPartition("p-1", 0), TopicPartition("p-2", 0))}))
    assert member.assigned().inputs[task] == {TopicPartition("p-1", 0), TopicPartition("p-2", 0)}
    member.wait(AGE_MS)
    watched.answer("p-1", "p-2")
    member.requests()
    assert member.state is MembershipState.STABLE, "it has them already"


def test_an_assignment_with_a_topic_that_no_source_reads_ends_the_member() -> None:
    watched = Watched()
    watched.answer("p-1")
    member = watched.member
    member.admit(member.joining())
    member.sync(assignment({TaskId("0", 0): (TopicPartition("q-1", 0),)}))
    assert member.state is MembershipState.LEAVING


def test_a_topic_that_was_deleted_belongs_to_its_task_until_that_is_closed() -> None:
    watched = Watched()
    watched.answer("p-1", "p-2")
    member, task = watched.member, TaskId("0", 0)
    member.admit(member.joining())
    member.sync(assignment({task: (TopicPartition("p-1", 0), TopicPartition("p-2", 0))}))
    member.wait(AGE_MS)
    watched.answer("p-1")
    assert ApiKey.JOIN_GROUP not in member.requests()
    watched.answer("p-1")
    subscription = subscription_in(member.requests()[ApiKey.JOIN_GROUP])
    assert subscription.topics == ("p-1",)
    assert subscription.owned_partitions == {"p-1": (0,), "p-2": (0,)}
    [part] = member.membership.description.topology.subtopologies
    assert part.source_topics == ("p-1", "p-2"), "offsets of it can still be committed"


# ------------------------------------------------------------------------------------- groups, in virtual time


def membership_of(sources: PatternSources) -> Any:
    return classic_membership(SETTINGS, LeaderSettings(application_id="app"), 60_000, at_once, sources=sources)


class Inputs:
    """The partitions that the programs of members read, by the events that they got."""

    def __init__(self, *members: AsyncStreamsGroupMember) -> None:
        self.members = members
        self.of: list[dict[TaskId, frozenset[TopicPartition]]] = [{} for _ in members]

    async def poll(self) -> None:
        for member, inputs in zip(self.members, self.of, strict=True):
            for event in await member.poll(0):
                if isinstance(event, TasksAssigned):
                    inputs.update(event.inputs)
                elif not isinstance(event, StatusesChanged):
                    for task in event.tasks.active:
                        inputs.pop(task, None)
                    member.confirm(event)
            read = [partition for each in self.of for its in each.values() for partition in its]
            assert len(read) == len(set(read)), "a partition has one reader"
        await poll()

    @property
    def read(self) -> set[str]:
        return {str(partition) for each in self.of for its in each.values() for partition in its}

    async def until(self, found: Callable[[], bool]) -> None:
        for _ in range(10_000):
            await self.poll()
            if found():
                return
        raise AssertionError([self.of, [member.state for member in self.members]])


def member_of(world: World, sources: PatternSources = SOURCES, **config: Any) -> AsyncStreamsGroupMember:
    return world.member(
        topology=sources.topology_of(()),
        _membership_of=membership_of(sources),
        **{"metadata_max_age_ms": AGE_MS, **config},
    )


def test_a_group_runs_without_topics_and_reads_them_within_the_age_of_metadata() -> None:
    async def program(world: World) -> None:
        async with member_of(world) as first, member_of(world) as second:
            inputs = Inputs(first, second)
            for each in inputs.members:
                await each.join()
            await inputs.until(lambda: all(each.state is MembershipState.STABLE for each in inputs.members))
            assert inputs.read == set()
            world.cluster.create_topic("p-1", 2)
            begun_ms = world.simulation.clock.now_ms()
            await inputs.until(lambda: inputs.read == {"p-1-0", "p-1-1"})
            assert world.simulation.clock.now_ms() - begun_ms <= AGE_MS + 1_000
            world.cluster.create_topic("p-2", 3)
            await inputs.until(lambda: inputs.read == {"p-1-0", "p-1-1", "p-2-0", "p-2-1", "p-2-2"})
            world.cluster.delete_topic("p-2")
            await inputs.until(lambda: inputs.read == {"p-1-0", "p-1-1"})
            world.cluster.delete_topic("p-1")
            await inputs.until(lambda: inputs.read == set())
            assert all(each.state in {MembershipState.STABLE, MembershipState.JOINING} for each in inputs.members)

    simulate(program)


@pytest.mark.slow
def test_a_new_topic_makes_few_rounds() -> None:
    async def program(world: World) -> None:
        members = [member_of(world) for _ in range(4)]
        inputs = Inputs(*members)
        for each in members:
            await each.join()
        world.cluster.create_topic("p-1", 4)
        await inputs.until(lambda: len(inputs.read) == 4 and all(inputs.of))
        for _ in range(int(2 * AGE_MS / 100)):
            await inputs.poll()
        before = members[0].epoch
        world.cluster.create_topic("p-2", 1)
        await inputs.until(lambda: "p-2-0" in inputs.read)
        for _ in range(int(2 * AGE_MS / 100)):
            await inputs.poll()
        assert members[0].epoch - before <= 2, "members look before they join, so that one round does"
        for each in members:
            await each.close()

    simulate(program)


@pytest.mark.slow
def test_the_leader_watches_topics_that_only_other_members_have_found() -> None:
    half_blind = PatternSources((re.compile("p-1"),), SOURCES.topology_of)

    async def program(world: World) -> None:
        world.cluster.create_topic("p-1", 2)
        async with member_of(world, half_blind) as first, member_of(world) as second:
            alone, inputs = Inputs(first), Inputs(first, second)
            await first.join()
            await alone.until(lambda: len(alone.read) == 2)
            inputs.of[0] = alone.of[0]
            await second.join()
            await inputs.until(lambda: all(inputs.of))
            [task] = inputs.of[1]
            world.cluster.create_topic("p-2", 1 + task.partition)
            await inputs.until(lambda: len(inputs.read) == 3 + task.partition)
            epoch = first.epoch
            for _ in range(int(3 * AGE_MS / 100)):
                await inputs.poll()
            assert first.epoch == epoch, "nothing has changed since"
            world.cluster.metadata.create_partitions("p-2", 3)
            await inputs.until(lambda: "p-2-2" in inputs.read)

    simulate(program)


def test_a_topic_with_more_partitions_than_the_changelog_ends_the_leader_with_the_reason() -> None:
    sources = sources_of(has_table=True)

    async def program(world: World) -> None:
        world.cluster.create_topic("p-1", 2)
        async with member_of(world, sources) as first:
            inputs = Inputs(first)
            await first.join()
            await inputs.until(lambda: len(inputs.read) == 2)
            world.cluster.create_topic("p-2", 3)
            with pytest.raises(KafkaGroupsError, match=r"counts-0-changelog has 2 .* reads p-1 \(2\), p-2 \(3\)"):
                await inputs.until(lambda: False)

    simulate(program)


def test_the_largest_topic_of_a_changelog_may_be_deleted() -> None:
    sources = sources_of(has_table=True)

    async def program(world: World) -> None:
        for topic, count in (("p-1", 3), ("p-2", 1)):
            world.cluster.create_topic(topic, count)
        async with member_of(world, sources) as first:
            inputs = Inputs(first)
            await first.join()
            await inputs.until(lambda: len(inputs.read) == 4)
            world.cluster.delete_topic("p-1")
            await inputs.until(lambda: inputs.read == {"p-2-0"})
            world.cluster.create_topic("p-3", 3)
            await inputs.until(lambda: inputs.read == {"p-2-0", "p-3-0", "p-3-1", "p-3-2"})

    simulate(program)


def test_a_static_leader_that_comes_back_still_sees_topics() -> None:
    async def program(world: World) -> None:
        world.cluster.create_topic("p-1", 1)
        config: dict[str, Any] = {"group_instance_id": "w", "process_id": "p"}
        async with member_of(world, **config) as first:
            inputs = Inputs(first)
            await first.join()
            await inputs.until(lambda: len(inputs.read) == 1)
        async with member_of(world, **config) as again:
            inputs = Inputs(again)
            await again.join()
            await inputs.until(lambda: len(inputs.read) == 1)
            world.cluster.create_topic("p-2", 1)
            await inputs.until(lambda: len(inputs.read) == 2)

    simulate(program)


@pytest.mark.parametrize(
    "seed",
    [
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3)),
        *(pytest.param(seed, marks=[pytest.mark.slow, pytest.mark.long]) for seed in range(3, 20)),
    ],
)
def test_whatever_comes_and_goes_the_group_reads_what_exists_in_the_end(seed: int) -> None:
    rng = random.Random(seed)

    async def program(world: World) -> None:
        members = [member_of(world) for _ in range(3)]
        inputs, existing = Inputs(*members), dict[str, int]()
        for each in members:
            await each.join()
        for _ in range(12):
            topic = f"{rng.choice('pq')}-{rng.randint(1, 4)}"
            if existing.pop(topic, 0):
                world.cluster.delete_topic(topic)
            else:
                existing[topic] = rng.randint(1, 3)
                world.cluster.create_topic(topic, existing[topic])
            for _ in range(rng.choice((1, 20, 150))):
                await inputs.poll()
        wanted = {f"{topic}-{n}" for topic, count in existing.items() if topic.startswith("p") for n in range(count)}
        await inputs.until(lambda: inputs.read == wanted)
        for each in members:
            await each.close()

    simulate(program, seed)
