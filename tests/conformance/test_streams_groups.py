"""Streams groups, raw (KIP-1071): members, epochs, revocation before assignment, topologies, topics, offsets."""

from functools import partial

import pytest
from attrs import evolve

from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsStatus
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, UserEndpoint
from tests.support.cluster_client import GROUP_RESOURCE
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.raw_streams_group import PARTITIONS, A, B, C, RawStreamsGroup, has_status, new_group, tasks
from tests.support.members.streams_member import described_streams
from tests.support.members.streams_topologies import internal, sent, subtopology, together
from tests.support.streams_brokers import everywhere_at_once
from tests.support.targets import Target, everywhere_with

NONE, UNKNOWN, STALE = "NONE", "UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH"
FENCED_EPOCH, FENCED_INSTANCE, UNRELEASED = "FENCED_MEMBER_EPOCH", "FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"

# ---------------------------------------------------------------------------------------------- members


@everywhere_at_once
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


@everywhere_at_once
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


@everywhere_at_once
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


@everywhere_at_once
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


@everywhere_at_once
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


@everywhere_at_once
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


@everywhere_at_once
async def test_an_older_topology_is_stale(target: Target) -> None:
    group = await new_group(target)
    first, second = group.member(A), group.member(B)
    await first.join(evolve(group.simple, epoch=2))
    assert (await second.join(evolve(group.simple, epoch=1))).statuses == (StreamsStatus.STALE_TOPOLOGY,)
    assert (await second.beat()).statuses == (StreamsStatus.STALE_TOPOLOGY,)


@everywhere_at_once
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


@everywhere_at_once
async def test_configs_that_a_group_cannot_have(target: Target) -> None:
    group = await new_group(target)
    refused = {
        "streams.nonsense": "1",
        "streams.num.standby.replicas": "-1",
        "streams.session.timeout.ms": "1",
        "streams.initial.rebalance.delay.ms": "-1",
        "streams.assignment.interval.ms": "15001",
        "streams.assignor.name": "absent",
    }
    for name, value in refused.items():
        result = await target.cluster.alter_config(GROUP_RESOURCE, group.group_id, {name: value})
        assert result.error_code.name == "INVALID_CONFIG", name


@everywhere_at_once
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
@everywhere_at_once
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


@everywhere_at_once
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


@everywhere_at_once
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
    group = RawStreamsGroup(target, await target.cluster.create_topic(PARTITIONS))
    await target.cluster.coordinator_of(group.group_id)
    first, second = group.member(A), group.member(B)
    joined = await first.join(group.simple)
    assert (joined.epoch, joined.active) == (1, frozenset())
    assert StreamsStatus.ASSIGNMENT_DELAYED in joined.statuses
    assert (await second.join(group.simple)).epoch == 1
    assert (await group.state())[2] == 1
    given = [(await until(member.beat, lambda beat: bool(beat.active))).active for member in (first, second)]
    assert [len(each or ()) for each in given] == [2, 2]
