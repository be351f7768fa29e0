"""Streams groups by the admin client: lists, descriptions with every field, deletion."""

from typing import Any

from kafka_groups.admin import (
    StreamsGroupMemberDescription,
    StreamsGroupTasks,
    StreamsInternalTopic,
    StreamsSubtopologyDescription,
    StreamsTopologyDescription,
)
from kafka_groups.broker.faults import answer, delay
from kafka_groups.errors import (
    GroupIdNotFoundError,
    NonEmptyGroupError,
    OperationTimeoutError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_groups.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeAssignment,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupDescribeResponseGroup,
    StreamsGroupDescribeResponseMember,
    StreamsGroupDescribeSubtopology,
    StreamsGroupDescribeTopology,
)
from kafka_groups.protocol.messages.streams_group_parts import (
    KeyValue,
    StreamsTopicInfo,
    TaskIds,
    TaskOffset,
    UserEndpoint,
)
from kafka_groups.types import TaskId, TopicPartition
from tests.support.members.streams_topologies import internal, sent, subtopology
from tests.unit.admin.worlds import FIRST, TOPIC, AdminWorld, simulate

AT_ONCE = {"group.streams.initial.rebalance.delay.ms": 0, "group.streams.assignment.interval.ms": 0}
READS = sent(subtopology("0", sources=(TOPIC,)))


async def joined(world: AdminWorld, group_id: str = "app", topology: Any = READS) -> Any:
    """A member that has joined a streams group."""
    member = await world.streams_member(group_id)
    assert (await member.join(topology)).error == "NONE"
    return member


def described(**fields: Any) -> Any:
    """StreamsGroupDescribe has these fields for each group."""

    def response(request: StreamsGroupDescribeRequest) -> StreamsGroupDescribeResponse:
        groups = (StreamsGroupDescribeResponseGroup(group_id=each, **fields) for each in request.group_ids)
        return StreamsGroupDescribeResponse(groups=tuple(groups))

    return answer(response)


def test_groups_of_all_coordinators_are_listed_and_described() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            groups = [world.group_at(node) for node in (1, 2, 3)]
            for group_id in groups:
                await joined(world, group_id)
            (await admin.alter_share_group_offsets("shared", {FIRST: 0})).checked()
            listed = await admin.list_streams_groups()
            assert [(each.group_id, each.state) for each in listed.groups] == [
                (each, "Stable") for each in sorted(groups)
            ]
            assert (await admin.list_streams_groups(states=["Empty"])).groups == ()
            found = await admin.describe_streams_groups([*groups, "absent", "shared"])
            assert list(found.values) == groups
            assert {type(error) for error in found.errors.values()} == {GroupIdNotFoundError}
            assert [each.group_id for each in (await admin.list_share_groups()).groups] == ["shared"]

    simulate(program, settings=AT_ONCE)


def test_a_group_is_described_with_its_topology_its_members_and_its_lag() -> None:
    async def program(world: AdminWorld) -> None:
        world.cluster.produce(TOPIC, ["a", "b", "c"], partition=0)
        async with world.admin() as admin:
            member = await joined(world)
            await member.beat(rack_id="r", user_endpoint=UserEndpoint(host="h", port=7))
            group = (await admin.describe_streams_groups(["app"]))["app"]
            assert (group.state, group.epoch, group.assignment_epoch) == ("Stable", 3, 3)
            assert (group.assignor, group.lag_error, group.total_lag) == ("sticky", None, 3)
            assert group.lag == {FIRST: 3, TopicPartition(TOPIC, 1): 0, TopicPartition(TOPIC, 2): 0}
            assert (group.input_topics, group.internal_topics, group.read_topics) == ((TOPIC,), (), (TOPIC,))
            (found,) = group.members
            assert (found.member_id, found.process_id, found.rack, found.user_endpoint) == (
                "member", "member", "r", ("h", 7),
            )  # fmt: skip
            assert found.assignment == found.target_assignment == StreamsGroupTasks(active={"0": frozenset({0, 1, 2})})

    simulate(program, settings=AT_ONCE)


TASKS = (TaskIds(subtopology_id="1", partitions=(0, 2)), TaskIds(subtopology_id="0", partitions=(1,)))
NO_TASKS = StreamsGroupDescribeAssignment()
MEMBER = StreamsGroupDescribeResponseMember(
    member_id="m",
    member_epoch=4,
    instance_id="i",
    rack_id="r",
    client_id="c",
    client_host="/h",
    topology_epoch=1,
    process_id="p",
    user_endpoint=UserEndpoint(host="h", port=9),
    client_tags=(KeyValue(key="zone", value="a"),),
    task_offsets=tuple(TaskOffset(subtopology_id="1", partition=n, offset=n * 10) for n in (0, 2)),
    task_end_offsets=(TaskOffset(subtopology_id="1", partition=2, offset=25),),
    assignment=StreamsGroupDescribeAssignment(active_tasks=TASKS),
    target_assignment=StreamsGroupDescribeAssignment(standby_tasks=TASKS[:1], warmup_tasks=TASKS[1:]),
    is_classic=True,
)


def test_every_field_of_a_description() -> None:
    async def program(world: AdminWorld) -> None:
        parts = (
            StreamsGroupDescribeSubtopology(
                subtopology_id="1",
                source_topics=(TOPIC,),
                repartition_sink_topics=("app-x-repartition",),
                state_changelog_topics=(
                    StreamsTopicInfo(
                        name="app-s-changelog",
                        partitions=3,
                        replication_factor=2,
                        topic_configs=(KeyValue(key="cleanup.policy", value="compact"),),
                    ),
                    StreamsTopicInfo(name=TOPIC),
                    StreamsTopicInfo(name="elsewhere"),
                ),
                repartition_source_topics=(StreamsTopicInfo(name="app-x-repartition", replication_factor=-1),),
            ),
        )
        topology = StreamsGroupDescribeTopology(epoch=1, subtopologies=parts)
        rule = described(group_state="NotReady", group_epoch=9, topology=topology, members=(MEMBER,))
        world.cluster.faults.on(ApiKey.STREAMS_GROUP_DESCRIBE, rule)
        async with world.admin() as admin:
            group = (await admin.describe_streams_groups(["app"]))["app"]
        repartition = StreamsInternalTopic(
            name="app-x-repartition", partitions=None, replication_factor=None, configs={}
        )
        kept = StreamsInternalTopic(
            name="app-s-changelog", partitions=3, replication_factor=2, configs={"cleanup.policy": "compact"}
        )
        others = (
            StreamsInternalTopic(name=name, partitions=None, replication_factor=None, configs={})
            for name in (TOPIC, "elsewhere")
        )
        only = StreamsSubtopologyDescription(
            subtopology_id="1",
            source_topics=(TOPIC,),
            repartition_sources=(repartition,),
            repartition_sinks=("app-x-repartition",),
            changelogs=(kept, *others),
        )
        assert group.topology == StreamsTopologyDescription(1, (only,))
        assert group.read_topics == ("app-x-repartition", TOPIC)
        assert group.internal_topics == ("app-s-changelog", "app-x-repartition")
        assert (group.state, group.epoch, group.assignment_epoch, group.assignor) == ("NotReady", 9, 0, None)
        assert group.members == (
            StreamsGroupMemberDescription(
                member_id="m",
                epoch=4,
                process_id="p",
                instance_id="i",
                rack="r",
                client_id="c",
                client_host="/h",
                user_endpoint=("h", 9),
                client_tags={"zone": "a"},
                topology_epoch=1,
                assignment=StreamsGroupTasks(active={"1": {0, 2}, "0": {1}}),
                target_assignment=StreamsGroupTasks(standby={"1": {0, 2}}, warmup={"0": {1}}),
                task_offsets={"1": {0: 0, 2: 20}},
                task_end_offsets={"1": {2: 25}},
                is_classic=True,
            ),
        )
        assert group.members[0].task_lags == {TaskId("1", 2): 5}

    simulate(program)


def test_a_group_without_a_topology_has_no_topics() -> None:
    async def program(world: AdminWorld) -> None:
        world.cluster.faults.on(ApiKey.STREAMS_GROUP_DESCRIBE, described(group_state="Empty"))
        async with world.admin() as admin:
            group = (await admin.describe_streams_groups(["app"]))["app"]
        assert (group.topology, group.input_topics, group.internal_topics, group.read_topics) == (None, (), (), ())
        assert (group.lag, group.total_lag) == ({}, None)

    simulate(program)


def test_subtopologies_that_the_coordinator_does_not_show() -> None:
    async def program(world: AdminWorld) -> None:
        hidden = StreamsGroupDescribeTopology(epoch=2, subtopologies=None)
        world.cluster.faults.on(ApiKey.STREAMS_GROUP_DESCRIBE, described(group_state="NotReady", topology=hidden))
        async with world.admin() as admin:
            group = (await admin.describe_streams_groups(["app"]))["app"]
        assert group.topology == StreamsTopologyDescription(2)

    simulate(program)


def test_a_group_with_a_topic_that_you_may_not_see() -> None:
    async def program(world: AdminWorld) -> None:
        rule = described(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message="not yours")
        world.cluster.faults.on(ApiKey.STREAMS_GROUP_DESCRIBE, rule)
        async with world.admin() as admin:
            error = (await admin.describe_streams_groups(["app"])).errors["app"]
        assert isinstance(error, TopicAuthorizationFailedError)
        assert str(error).startswith("User:ANONYMOUS needs DESCRIBE on each of the topics of the group (")

    simulate(program)


def test_a_lag_that_is_not_told_is_missing_from_the_description() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await joined(world)
            world.cluster.faults.on(ApiKey.OFFSET_FETCH, delay(60_000))
            group = (await admin.describe_streams_groups(["app"], timeout=2))["app"]
            assert (group.state, group.lag, group.total_lag) == ("Stable", {}, None)
            assert isinstance(group.lag_error, OperationTimeoutError)

    simulate(program, settings=AT_ONCE)


def test_a_partition_whose_end_is_not_told_has_an_unknown_lag() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await joined(world)
            world.cluster.faults.on(ApiKey.LIST_OFFSETS, delay(60_000))
            group = (await admin.describe_streams_groups(["app"], timeout=2))["app"]
            assert group.lag == dict.fromkeys(TopicPartition(TOPIC, number) for number in range(3))
            assert (group.total_lag, group.lag_error) == (None, None)

    simulate(program, settings=AT_ONCE)


def test_only_streams_groups_without_members_are_deleted() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await joined(world, "busy")
            await (await joined(world, "idle")).leave()
            (await admin.alter_share_group_offsets("shared", {FIRST: 0})).checked()
            deleted = await admin.delete_streams_groups(["busy", "idle", "shared"])
            assert deleted.values == {"idle": None}
            assert isinstance(deleted.errors["busy"], NonEmptyGroupError)
            assert isinstance(deleted.errors["shared"], GroupIdNotFoundError)
            assert [each.group_id for each in (await admin.list_streams_groups()).groups] == ["busy"]
            assert [each.group_id for each in (await admin.list_share_groups()).groups] == ["shared"]

    simulate(program, settings=AT_ONCE)


def test_internal_topics_with_derived_partitions() -> None:
    words, counts = "app-words-repartition", "app-counts-changelog"
    topology = sent(
        subtopology("0", sources=(TOPIC,), sinks=(words,)),
        subtopology("1", repartitions=(internal(words),), changelogs=(internal(counts),)),
    )

    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await joined(world, topology=topology)
            group = (await admin.describe_streams_groups(["app"]))["app"]
            assert group.topology is not None
            ((changelog,),) = (each.changelogs for each in group.topology.subtopologies if each.changelogs)
            assert (group.state, changelog.name, changelog.partitions) == ("NotReady", counts, None)
            while group.state != "Stable":
                await (await world.streams_member("app")).join(topology)
                group = (await admin.describe_streams_groups(["app"]))["app"]
            assert group.topology is not None
            ((changelog,),) = (each.changelogs for each in group.topology.subtopologies if each.changelogs)
            assert changelog.partitions == 3
            assert sorted(group.lag) == [TopicPartition(topic, n) for topic in (words, TOPIC) for n in range(3)]

    simulate(program, settings=AT_ONCE)


def test_brokers_without_streams_groups() -> None:
    highest = {ApiKey.API_VERSIONS: 4, ApiKey.METADATA: 12, ApiKey.FIND_COORDINATOR: 4, ApiKey.LIST_GROUPS: 4}
    listed = tuple(ApiVersion(api_key=int(key), min_version=0, max_version=high) for key, high in highest.items())

    async def program(world: AdminWorld) -> None:
        world.cluster.faults.on(ApiKey.API_VERSIONS, answer(lambda _request: ApiVersionsResponse(api_keys=listed)))
        async with world.admin() as admin:
            errors = (await admin.list_streams_groups()).errors
            assert {str(error) for error in errors.values()} == {"ListGroups v4 cannot list streams groups."}
            error = (await admin.describe_streams_groups(["app"])).errors["app"]
            assert isinstance(error, UnsupportedVersionError)

    simulate(program)
