"""Topologies and their topics in streams groups (KIP-1071): what is missing, created, derived, grown and refused."""

from collections.abc import Mapping
from functools import partial

from attrs import evolve

from kafka_groups.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatTopology, StreamsStatus
from kafka_groups.protocol.messages.streams_group_parts import StreamsSubtopology
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.raw_streams_group import A, B, RawStreamsGroup, has_status, new_group, tasks
from tests.support.members.streams_member import StreamsBeat, StreamsMember
from tests.support.members.streams_topologies import internal, sent, subtopology, together
from tests.support.streams_brokers import everywhere_at_once
from tests.support.targets import Target

MISSING, WRONG = StreamsStatus.MISSING_SOURCE_TOPICS, StreamsStatus.INCORRECTLY_PARTITIONED_TOPICS
MISSING_INTERNAL, STALE = StreamsStatus.MISSING_INTERNAL_TOPICS, StreamsStatus.STALE_TOPOLOGY
TOPIC_RESOURCE = 2


async def joined(group: RawStreamsGroup, *parts: StreamsSubtopology) -> tuple[StreamsMember, StreamsBeat]:
    """A member of a topology, and what it was told when it joined."""
    member = group.member(A)
    beat = await member.join(sent(*parts))
    assert beat.error == "NONE", beat
    return member, beat


async def partitions_of(group: RawStreamsGroup, *names: str) -> list[int]:
    """The numbers of partitions of topics."""
    described = [await group.target.cluster.describe_topic(name) for name in names]
    return [len(each.partitions) for each in described]


async def ready(member: StreamsMember) -> frozenset[tuple[str, int]]:
    """Wait until the topology works and the member has tasks."""
    beat = await until(member.beat, lambda it: it.statuses == () and bool(it.active))
    return beat.active or frozenset()


# ---------------------------------------------------------------------------------------------- source topics


@everywhere_at_once
async def test_without_a_source_topic_nobody_has_tasks(target: Target) -> None:
    group = await new_group(target)
    member = await group.joined(A)
    await target.cluster.delete_topic(group.topic)
    beat = await until(member.beat, partial(has_status, MISSING))
    assert group.topic.name in beat.response.status[0].status_detail
    assert (beat.epoch, beat.active) == (2, frozenset())
    assert await group.state() == ("NotReady", 3, 3)
    assert (await member.beat(owned=())).epoch == 3
    assert (await member.beat()).statuses == (MISSING,), "as long as it is missing"


@everywhere_at_once
async def test_a_group_goes_on_when_its_topic_is_there(target: Target) -> None:
    group = await new_group(target)
    name = unique("later")
    member, beat = await joined(group, subtopology("0", sources=(name,)))
    assert (beat.epoch, beat.statuses, beat.active) == (2, (MISSING,), frozenset())
    await target.cluster.create_topic(2, name=name)
    beat = await until(member.beat, lambda it: it.statuses == ())
    assert (beat.epoch, beat.active) == (3, tasks(0, 1))


@everywhere_at_once
async def test_a_topology_without_sources_is_shown_as_it_was_sent(target: Target) -> None:
    group = await new_group(target)
    name, changelog = unique("later"), f"{group.group_id}-store-changelog"
    await joined(group, subtopology("0", sources=(name,), changelogs=(internal(changelog),)))
    shown = (await group.described()).topology
    assert shown is not None
    assert shown.subtopologies is not None
    [part] = shown.subtopologies
    assert (part.source_topics, part.state_changelog_topics[0].partitions) == ((name,), 0)


@everywhere_at_once
async def test_more_partitions_are_more_tasks(target: Target) -> None:
    group = await new_group(target, partitions=2)
    member = await group.joined(A)
    await target.cluster.add_partitions(group.topic, 3)
    beat = await until(member.beat, lambda it: it.active is not None)
    assert (beat.epoch, beat.active) == (3, tasks(0, 1, 2))


@everywhere_at_once
async def test_the_largest_source_counts(target: Target) -> None:
    group = await new_group(target, partitions=1)
    other = await target.cluster.create_topic(3)
    topology = sent(subtopology("0", sources=(group.topic.name, other.name)))
    await group.until_coordinators_know(topology)
    assert (await group.member(A).join(topology)).active == tasks(0, 1, 2)


@everywhere_at_once
async def test_what_is_wrong_is_told_together_with_other_statuses(target: Target) -> None:
    group = await new_group(target)
    first, second = group.member(A), group.member(B)
    missing = evolve(sent(subtopology("0", sources=(unique("missing"),))), epoch=2)
    await first.join(missing)
    told = await second.join(evolve(missing, epoch=1), shutdown_application=True)
    assert sorted(told.statuses) == [STALE, MISSING, StreamsStatus.SHUTDOWN_APPLICATION]
    assert sorted((await first.beat()).statuses) == [MISSING, StreamsStatus.SHUTDOWN_APPLICATION]


# -------------------------------------------------------------------------------------------- internal topics


@everywhere_at_once
async def test_numbers_of_partitions_are_derived_along_the_way(target: Target) -> None:
    group = await new_group(target, partitions=2)
    wide = await target.cluster.create_topic(3)
    name = group.group_id
    one, two, fixed, store = (f"{name}-{each}" for each in ("one", "two", "fixed", "store"))
    parts = (
        subtopology("0", sources=(group.topic.name, wide.name), sinks=(one,)),
        subtopology("1", repartitions=(internal(one),), sinks=(two, fixed)),
        subtopology("2", repartitions=(internal(fixed, 5), internal(two)), changelogs=(internal(store),)),
    )
    await group.until_coordinators_know(sent(subtopology("0", sources=(group.topic.name, wide.name))))
    member, beat = await joined(group, *parts)
    assert (beat.statuses, beat.active) == ((MISSING_INTERNAL,), frozenset())
    given = await ready(member)
    assert await partitions_of(group, one, two, fixed, store) == [3, 3, 5, 5]
    assert [sum(task[0] == part for task in given) for part in "012"] == [3, 3, 5]


@everywhere_at_once
async def test_copartitioned_repartition_topics_follow_the_others(target: Target) -> None:
    group = await new_group(target, partitions=3)
    small = await target.cluster.create_topic(1)
    await group.until_coordinators_know(sent(subtopology("0", sources=(small.name,))))
    joint = f"{group.group_id}-joint"
    member, _ = await joined(
        group,
        subtopology("0", sources=(small.name,), sinks=(joint,)),
        subtopology(
            "1",
            sources=(group.topic.name,),
            repartitions=(internal(joint),),
            together=(together(0, repartitions=(0,)),),
        ),
    )
    await ready(member)
    assert await partitions_of(group, joint) == [3]


@everywhere_at_once
async def test_numbers_of_partitions_that_contradict_each_other(target: Target) -> None:
    group = await new_group(target, partitions=3)
    joint, copartitioned = f"{group.group_id}-joint", (together(0, repartitions=(0,)),)
    source = group.topic.name
    member, beat = await joined(
        group,
        subtopology("0", sources=(source,), sinks=(joint,)),
        subtopology("1", sources=(source,), repartitions=(internal(joint, 2),), together=copartitioned),
    )
    assert (beat.statuses, beat.active) == ((WRONG,), frozenset())
    assert joint in beat.response.status[0].status_detail
    assert await group.state() == ("NotReady", 2, 2)
    assert (await member.beat()).statuses == (WRONG,)


@everywhere_at_once
async def test_an_internal_topic_that_exists_must_fit(target: Target) -> None:
    group = await new_group(target, partitions=3)
    store = f"{group.group_id}-store-changelog"
    await target.cluster.create_topic(2, name=store)
    await group.until_coordinators_know(sent(subtopology("0", sources=(store,))))
    _, beat = await joined(group, subtopology("0", sources=(group.topic.name,), changelogs=(internal(store),)))
    assert beat.statuses == (WRONG,)
    assert store in beat.response.status[0].status_detail


async def configs_of(group: RawStreamsGroup, name: str) -> Mapping[str, str | None]:
    """The configs of a topic."""
    resource = DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None)
    [result] = (await group.target.client().ask(DescribeConfigsRequest(resources=(resource,)))).results
    return {config.name: config.value for config in result.configs}


@everywhere_at_once
async def test_internal_topics_get_their_configs_unless_they_exist(target: Target) -> None:
    group = await new_group(target, partitions=2)
    made, there = f"{group.group_id}-made", f"{group.group_id}-there"
    await target.cluster.create_topic(2, name=there)
    await group.until_coordinators_know(sent(subtopology("0", sources=(there,))))
    configs = {"cleanup.policy": "compact", "segment.bytes": "52428800"}
    changelogs = (internal(made, configs=configs), internal(there, configs=configs))
    member, _ = await joined(group, subtopology("0", sources=(group.topic.name,), changelogs=changelogs))
    await ready(member)
    assert configs.items() <= (await configs_of(group, made)).items()
    assert (await configs_of(group, there))["cleanup.policy"] == "delete", "it is left as it was"


@everywhere_at_once
async def test_an_internal_topic_that_is_deleted_is_created_again(target: Target) -> None:
    group = await new_group(target, partitions=2)
    # A real Kafka may take two intervals until it creates a topic again.
    await group.configure({"heartbeat.interval.ms": "100"})
    store = f"{group.group_id}-store-changelog"
    member, _ = await joined(group, subtopology("0", sources=(group.topic.name,), changelogs=(internal(store),)))
    await ready(member)
    made = await target.cluster.describe_topic(store)
    await target.cluster.delete_topic_named(store)
    beat = await until(member.beat, lambda it: it.statuses != ())
    assert (beat.statuses, beat.active) == ((MISSING_INTERNAL,), frozenset())
    await member.beat(owned=())
    assert await ready(member) == tasks(0, 1)
    assert (await target.cluster.describe_topic(store)).topic_id != made.topic_id


@everywhere_at_once
async def test_why_an_internal_topic_cannot_be_created_is_told(target: Target) -> None:
    group = await new_group(target)
    store = f"{group.group_id}-store-changelog"
    bad = internal(store, configs={"cleanup.policy": "nonsense"})
    member, _ = await joined(group, subtopology("0", sources=(group.topic.name,), changelogs=(bad,)))
    beat = await until(member.beat, lambda it: "nonsense" in it.response.status[0].status_detail)
    assert beat.statuses == (MISSING_INTERNAL,)
    assert "Creation failed" in beat.response.status[0].status_detail


# --------------------------------------------------------------------------------------- topologies of members


@everywhere_at_once
async def test_the_order_of_subtopologies_does_not_matter(target: Target) -> None:
    group = await new_group(target)
    parts = [subtopology(each, sources=(group.topic.name,)) for each in "01"]
    await group.member(A).join(sent(*parts))
    assert (await group.member(B).join(sent(*reversed(parts)))).error == "NONE"


@everywhere_at_once
async def test_a_member_with_an_older_topology_works_with_the_newer_one(target: Target) -> None:
    group = await new_group(target)
    newer = evolve(group.simple, epoch=2)
    first, second = await group.joined(A, topology=newer), group.member(B)
    older: StreamsGroupHeartbeatTopology = sent(subtopology("0", sources=(unique("missing"),)))
    told = await second.join(evolve(older, epoch=1))
    assert (told.error, told.statuses) == ("NONE", (STALE,))
    assert (await first.beat()).statuses == ()
    await first.beat(owned=(await group.members())[A].active)
    assert (await second.beat()).active is not None
    described = {each.member_id: each.topology_epoch for each in (await group.described()).members}
    assert described == {A: 2, B: 1}


@everywhere_at_once
async def test_copartitioned_topics_are_compared_with_their_order(target: Target) -> None:
    group = await new_group(target)
    other = await target.cluster.create_topic(len(tasks(0, 1, 2, 3)))
    sources = tuple(sorted((group.topic.name, other.name)))
    first, second = (sent(subtopology("0", sources=sources, together=(together(*it),))) for it in ((1, 0), (0, 1)))
    await group.until_coordinators_know(first)
    assert (await group.member(A).join(first)).error == "NONE"
    assert (await group.member(B).join(second)).error == "INVALID_REQUEST"
    assert (await group.member(B).join(first)).error == "NONE"
