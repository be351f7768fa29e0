"""What heartbeats of streams groups tell besides tasks (KIP-1071): statuses, who answers queries, what is listed."""

from functools import partial

from kafka_groups.protocol.messages.list_groups import ListGroupsRequest
from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse, StreamsStatus
from kafka_groups.protocol.messages.streams_group_parts import KeyValue, UserEndpoint
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.raw_streams_group import A, B, C, RawStreamsGroup, has_status, new_group
from tests.support.streams_brokers import everywhere_at_once
from tests.support.targets import Target

SHUTDOWN = StreamsStatus.SHUTDOWN_APPLICATION
ENDPOINT = UserEndpoint(host="host", port=7)


# --------------------------------------------------------------------------------------------------- shutdown


@everywhere_at_once
async def test_a_member_that_leaves_may_shut_all_down(target: Target) -> None:
    group = await new_group(target)
    first, second = await group.joined(A), await group.joined(B)
    left = await first.beat(-1, shutdown_application=True)
    assert (left.error, left.statuses) == ("NONE", ())
    told = await second.beat()
    assert told.statuses == (SHUTDOWN,)
    assert A in told.response.status[0].status_detail


@everywhere_at_once
async def test_the_first_request_to_shut_down_counts(target: Target) -> None:
    group = await new_group(target)
    first, second = await group.joined(A), await group.joined(B)
    for member in (first, second):
        await member.beat(shutdown_application=True)
    assert A in (await first.beat()).response.status[0].status_detail
    joined = await group.member(C).join(group.simple)
    assert joined.statuses == (SHUTDOWN,), "who joins is told, too"


@everywhere_at_once
async def test_the_request_of_the_member_that_makes_the_group_is_lost(target: Target) -> None:
    group = await new_group(target)
    first = group.member(A)
    assert SHUTDOWN in (await first.join(group.simple, shutdown_application=True)).statuses
    assert (await first.beat()).statuses == ()


# ------------------------------------------------------------------------------------------------------- tags


@everywhere_at_once
async def test_tags_that_are_missing_are_named(target: Target) -> None:
    group = await new_group(target)
    await group.configure({"rack.aware.assignment.tags": "zone,cluster"})
    zone, cluster = (KeyValue(key=key, value="x") for key in ("zone", "cluster"))
    first, second = group.member(A), group.member(B)
    told = await first.join(group.simple, client_tags=(zone,))
    assert told.statuses == (StreamsStatus.MISSING_CLIENT_TAGS,)
    assert "cluster" in told.response.status[0].status_detail
    assert told.active, "it has tasks nevertheless"
    assert (await second.join(group.simple, client_tags=(zone, cluster))).statuses == ()


# -------------------------------------------------------------------------------------------------- endpoints


def partitions(response: StreamsGroupHeartbeatResponse) -> dict[str, tuple[list[int], list[int]]]:
    """Active and standby partitions of the only topic, by host."""
    return {
        each.user_endpoint.host: (
            [number for topic in each.active_partitions for number in topic.partitions],
            [number for topic in each.standby_partitions for number in topic.partitions],
        )
        for each in response.partitions_by_user_endpoint or ()
    }


@everywhere_at_once
async def test_the_epoch_of_endpoints_increases_when_answers_change(target: Target) -> None:
    group = await new_group(target)
    first = group.member(A)
    beat = await first.join_where_topics_are_new(group.simple, user_endpoint=ENDPOINT)
    assert beat.response.endpoint_information_epoch == 0
    second = group.member(B)
    await second.join(group.simple, user_endpoint=UserEndpoint(host="other", port=1))
    known = (await first.beat()).response
    assert partitions(known).keys() == {"host", "other"}
    same = (await second.beat(endpoint_information_epoch=known.endpoint_information_epoch)).response
    assert same.partitions_by_user_endpoint is None, "it knows"
    kept = (await group.members())[A].active
    await first.beat(owned=kept)
    await second.beat()
    later = (await first.beat(endpoint_information_epoch=known.endpoint_information_epoch)).response
    assert later.endpoint_information_epoch > known.endpoint_information_epoch
    assert sorted(number for active, _ in partitions(later).values() for number in active) == [0, 1, 2, 3]


@everywhere_at_once
async def test_standbys_answer_queries_too(target: Target) -> None:
    group = await new_group(target, partitions=2)
    await group.configure({"num.standby.replicas": "1"})
    first, second = group.member(A), group.member(B)
    await first.join(group.stateful)
    await until(first.beat, lambda beat: beat.statuses == ())
    await second.join(group.stateful)
    for _ in range(3):
        for member, host in ((first, "one"), (second, "two")):
            seen = (await group.members())[member.member_id]
            beat = await member.beat(
                owned=seen.active, standbys=seen.standby, user_endpoint=UserEndpoint(host=host, port=1)
            )
    found = partitions(beat.response)
    assert found["one"] == (found["two"][1], found["two"][0])
    assert sorted(found["one"][0] + found["one"][1]) == [0, 1]


@everywhere_at_once
async def test_endpoints_without_topics_are_an_error(target: Target) -> None:
    group = await new_group(target)
    first, second = group.member(A), group.member(B)
    await first.join(group.simple)
    await target.cluster.delete_topic(group.topic)
    await until(first.beat, partial(has_status, StreamsStatus.MISSING_SOURCE_TOPICS))
    failed = await second.join(group.simple, user_endpoint=ENDPOINT)
    assert (failed.error, failed.epoch) == ("UNKNOWN_SERVER_ERROR", 0)
    assert list(await group.members()) == [A]


# ------------------------------------------------------------------------------------------ listed and described


async def listed(group: RawStreamsGroup, **filters: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Protocol, state and type of the group, if it is listed."""
    coordinator = await group.target.cluster.coordinator_of(group.group_id)
    response = await coordinator.ask(ListGroupsRequest(**filters))
    assert response.error_code.name == "NONE"
    return [
        (each.protocol_type, each.group_state, each.group_type)
        for each in response.groups
        if each.group_id == group.group_id
    ]


@everywhere_at_once
async def test_groups_are_listed_by_type_and_state(target: Target) -> None:
    group = await new_group(target)
    await group.joined(A)
    shown = [("streams", "Stable", "streams")]
    assert await listed(group) == shown
    assert await listed(group, types_filter=("Streams",)) == shown
    assert await listed(group, types_filter=("share", "consumer", "classic")) == []
    assert await listed(group, states_filter=("stable",)) == shown
    assert await listed(group, states_filter=("NotReady", "Empty")) == []


@everywhere_at_once
async def test_groups_are_described_together_with_those_that_do_not_exist(target: Target) -> None:
    group = await new_group(target)
    await group.joined(A)
    absent = unique("absent")
    coordinator = await target.cluster.coordinator_of(group.group_id)
    response = await coordinator.ask(StreamsGroupDescribeRequest(group_ids=(absent, group.group_id, "")))
    found = {each.group_id: (each.error_code.name, each.group_state) for each in response.groups}
    assert found == {
        absent: ("GROUP_ID_NOT_FOUND", ""), group.group_id: ("NONE", "Stable"), "": ("INVALID_GROUP_ID", ""),
    }  # fmt: skip
