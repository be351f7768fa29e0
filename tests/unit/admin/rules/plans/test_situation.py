"""What brokers are asked before a plan."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_groups.admin import CopyBasis, PlannedProcess
from kafka_groups.admin.rules.plans.situation import ask_for_situation
from kafka_groups.assignment import TaskAssignorError
from kafka_groups.broker.faults import answer
from kafka_groups.client.calls.questions import Question, gathered
from kafka_groups.client.calls.results import Results
from kafka_groups.errors import (
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    IllegalStateError,
    TopicAuthorizationFailedError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kafka_groups.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_groups.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_groups.protocol.messages.streams_group_describe import (
    StreamsGroupDescribeAssignment,
    StreamsGroupDescribeResponse,
    StreamsGroupDescribeResponseGroup,
    StreamsGroupDescribeResponseMember,
    StreamsGroupDescribeSubtopology,
    StreamsGroupDescribeTopology,
)
from kafka_groups.protocol.messages.streams_group_parts import StreamsTopicInfo, TaskIds, TaskOffset
from kafka_groups.types import TopicPartition
from tests.support.conditions import until
from tests.support.members.streams_topologies import internal, sent, subtopology
from tests.unit.admin.worlds import TOPIC, AdminWorld, simulate

AT_ONCE = {"group.streams.initial.rebalance.delay.ms": 0, "group.streams.assignment.interval.ms": 0}
CHANGELOG = "app-counts-changelog"
COUNTING = sent(subtopology("0", sources=(TOPIC,), changelogs=(internal(CHANGELOG),)))


async def running(world: AdminWorld) -> Any:
    """A member that has three tasks, has written nine records, and has reported how far it is."""
    member = await world.streams_member("app")
    await member.join(COUNTING)
    beat = await until(member.beat, lambda it: bool(it.active))
    reports = tuple(TaskOffset(subtopology_id="0", partition=number, offset=3) for number in range(3))
    await member.beat(owned=beat.active, task_offsets=reports, task_end_offsets=reports)
    for number in range(3):
        world.cluster.produce(CHANGELOG, ["a", "b", "c"], partition=number)
    return member


def test_a_running_group_is_planned_and_not_changed() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await running(world)
            before = (await admin.describe_streams_groups(["app"]))["app"]
            made = await admin.plan_streams_group("app", "sticky", leaving=["member"], joining=[PlannedProcess()])
            assert (made.state, made.group_assignor, made.error) == ("Stable", "sticky", None)
            assert [(move.records, move.basis) for move in made.moves] == [(3, CopyBasis.WHOLE)] * 3
            assert (await admin.describe_streams_groups(["app"]))["app"] == before
            assert (await admin.list_streams_groups()).groups[0].group_id == "app"

    simulate(program, settings=AT_ONCE)


def test_the_configuration_of_the_group_counts() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await running(world)
            (await admin.alter_group_configs({"app": {"streams.num.standby.replicas": "1"}})).checked()
            made = await admin.plan_streams_group("app", "highly_available", joining=[PlannedProcess()])
            assert sum(each.after.standby for each in made.processes if each.after) == 3
            refused = DescribeConfigsResult(
                error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED, resource_type=32, resource_name="app"
            )
            world.cluster.faults.on(ApiKey.DESCRIBE_CONFIGS, answer(DescribeConfigsResponse(results=(refused,))))
            made = await admin.plan_streams_group("app", "highly_available")
            assert any(each.startswith("The configuration of the group could not be read") for each in made.warnings)

    simulate(program, settings=AT_ONCE)


@pytest.mark.parametrize("profile", ["4.2", "4.3"])
def test_brokers_before_4_4_have_no_offsets_of_tasks(profile: str) -> None:
    async def program(world: AdminWorld) -> None:
        member = await world.streams_member("app")
        await member.join(COUNTING, version=0)
        beat = await until(lambda: member.beat(version=0), lambda it: bool(it.active))
        await member.beat(owned=beat.active, version=0)
        async with world.admin() as admin:
            made = await admin.plan_streams_group("app", "highly_available", joining=[PlannedProcess()])
        assert made.group_assignor is None
        assert len(made.moves) == 1
        (warning,) = made.warnings
        assert warning.startswith("Kafka before 4.4 does not return offsets of tasks.")

    simulate(program, profile=profile)


def test_groups_that_cannot_be_planned() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            with pytest.raises(GroupIdNotFoundError):
                await admin.plan_streams_group("absent", "sticky")
            member = await world.streams_member("app")
            await member.join(sent(subtopology("0", sources=("missing",))))
            with pytest.raises(IllegalStateError, match="The streams group app is NotReady"):
                await admin.plan_streams_group("app", "sticky")
            await member.leave()
            with pytest.raises(IllegalStateError, match="The streams group app is Empty"):
                await admin.plan_streams_group("app", "sticky")

    simulate(program, settings=AT_ONCE)


def test_an_assignor_that_fails_leaves_the_client_usable() -> None:
    def failing(_state: object) -> Any:
        raise ZeroDivisionError

    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await running(world)
            with pytest.raises(TaskAssignorError):
                await admin.plan_streams_group("app", failing)
            assert (await admin.plan_streams_group("app", "highly_available")).moves == ()

    simulate(program, settings=AT_ONCE)


# -------------------------------------------------------------------------------------------------- racks


def group(changelog: str = "in", **fields: Any) -> StreamsGroupDescribeResponse:
    """One member that runs task 0_0, whose changelog is the source unless it has another."""
    mine = StreamsGroupDescribeAssignment(active_tasks=(TaskIds(subtopology_id="0", partitions=(0,)),))
    member = StreamsGroupDescribeResponseMember(
        member_id="m", member_epoch=1, client_id="c", client_host="/h", topology_epoch=0, process_id="p",
        assignment=mine, target_assignment=mine,
    )  # fmt: skip
    part = StreamsGroupDescribeSubtopology(
        subtopology_id="0", source_topics=("in",), state_changelog_topics=(StreamsTopicInfo(name=changelog),)
    )
    described = StreamsGroupDescribeResponseGroup(
        group_id="app",
        group_state="Stable",
        group_epoch=1,
        assignment_epoch=1,
        topology=StreamsGroupDescribeTopology(epoch=0, subtopologies=(part,)),
        members=(member,),
        **fields,
    )
    return StreamsGroupDescribeResponse(groups=(described,))


def brokers(
    *partitions: tuple[int, ...], error: ErrorCode = ErrorCode.NONE, topics: tuple[str, ...] = ("in",)
) -> MetadataResponse:
    """Three brokers, the third without a rack, and a topic with replicas on these."""
    return MetadataResponse(
        brokers=tuple(
            MetadataResponseBroker(node_id=node, host="h", port=1, rack=rack)
            for node, rack in ((1, "x"), (2, "y"), (3, None))
        ),
        topics=tuple(
            MetadataResponseTopic(
                name=topic,
                error_code=error,
                partitions=tuple(
                    MetadataResponsePartition(partition_index=number, leader_id=1, replica_nodes=nodes)
                    for number, nodes in enumerate(partitions)
                ),
            )
            for topic in topics
        ),
    )


class Brokers:
    """Answers questions with responses made by hand."""

    def __init__(self, responses: Mapping[ApiKey, object]) -> None:
        self.responses = {
            ApiKey.STREAMS_GROUP_DESCRIBE: group(),
            ApiKey.LIST_OFFSETS: ListOffsetsResponse(),
            ApiKey.DESCRIBE_CONFIGS: DescribeConfigsResponse(),
            **responses,
        }
        self.asked: list[object] = []

    async def __call__(self, question: Question[Any, Any]) -> Results[Any, Any]:
        self.asked.append(question.build(question.keys, 1))
        return gathered(question.read(question.keys, self.responses[question.api]))


async def test_partitions_have_the_racks_of_their_replicas() -> None:
    asking = Brokers({ApiKey.METADATA: brokers((1, 2), (3, 2), (3, 9), ())})
    found = await ask_for_situation(asking, "app")
    racks = [{"x", "y"}, {"y"}, set[str](), set[str]()]
    assert found.racks == {TopicPartition("in", number): rack for number, rack in enumerate(racks)}
    assert found.partition_counts == {"in": 4}
    assert [type(each).__name__ for each in asking.asked] == [
        "StreamsGroupDescribeRequest",
        "MetadataRequest",
        "DescribeConfigsRequest",
        "ListOffsetsRequest",
        "ListOffsetsRequest",
    ]


async def test_only_changelogs_are_asked_for_offsets() -> None:
    described, metadata = group("app-x-changelog"), brokers((1,), (1,), topics=("app-x-changelog", "in"))
    asking = Brokers({ApiKey.METADATA: metadata, ApiKey.STREAMS_GROUP_DESCRIBE: described})
    await ask_for_situation(asking, "app")
    asked = [each for each in asking.asked if isinstance(each, ListOffsetsRequest)]
    assert [[topic.name for topic in each.topics] for each in asked] == [["app-x-changelog"]] * 2


async def test_a_topic_that_cannot_be_described_is_an_error() -> None:
    asking = Brokers({ApiKey.METADATA: brokers(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)})
    with pytest.raises(TopicAuthorizationFailedError, match="TOPIC_AUTHORIZATION_FAILED: the topic in"):
        await ask_for_situation(asking, "app")


async def test_a_group_that_may_not_be_described_is_an_error() -> None:
    refused = group(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(GroupAuthorizationFailedError):
        await ask_for_situation(Brokers({ApiKey.STREAMS_GROUP_DESCRIBE: refused}), "app")
