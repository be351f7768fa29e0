"""The member of a streams group as a program uses it (KIP-1071): tasks that move, commits, shutdown, static members."""

import asyncio

import pytest
from attrs import evolve

from kafka_groups.errors import (
    ApplicationShutdownError,
    ClosedError,
    IllegalStateError,
    InvalidRequestError,
    KafkaGroupsError,
    TasksLostError,
    UnreleasedInstanceIdError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse
from kafka_groups.streams import (
    ChangelogTopic,
    GroupMembershipOperation,
    GroupTopology,
    GroupTopologyBuilder,
    MembershipState,
    RepartitionTopic,
    StatusesChanged,
    StreamsMembershipEvent,
    StreamsStatus,
    TaskId,
    TaskPosition,
    TasksAssigned,
    TasksLost,
    TasksRevoked,
    UserEndpoint,
)
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.streams_member import StreamsMember, described_streams
from tests.support.members.streams_program import StreamsProgram, tasks_of
from tests.support.requests.rewriting_network import RewritingNetwork
from tests.support.streams_brokers import everywhere_at_once
from tests.support.targets import Target

PARTITIONS = 4
TASKS = [TaskId("0", partition) for partition in range(PARTITIONS)]
HEARTBEAT_MS = 200


def reading(*topics: str) -> GroupTopology:
    return GroupTopologyBuilder().add_subtopology("0", sources=topics).build()


def counting(topic: Topic, group_id: str) -> GroupTopology:
    repartition, changelog = f"{group_id}-words-repartition", f"{group_id}-counts-changelog"
    return (
        GroupTopologyBuilder()
        .add_subtopology("0", sources=[topic.name], sinks=[repartition])
        .add_subtopology(
            "1",
            repartition_sources=[RepartitionTopic(repartition, configs={"cleanup.policy": "delete"})],
            changelogs=[ChangelogTopic(changelog, {"cleanup.policy": "compact"})],
        )
        .build()
    )


async def new_group(target: Target, **configs: str) -> str:
    """A group whose members heartbeat often."""
    group_id = unique("app")
    await target.cluster.coordinator_of(group_id)
    given = {f"streams.{name.replace('_', '.')}": value for name, value in configs.items()}
    await target.cluster.set_group_config(group_id, {"streams.heartbeat.interval.ms": str(HEARTBEAT_MS), **given})
    return group_id


async def state_of(program: StreamsProgram) -> MembershipState:
    return program.member.state


async def error_of(program: StreamsProgram) -> KafkaGroupsError | None:
    return program.error


async def heard(program: StreamsProgram, kind: type[object]) -> int:
    return sum(isinstance(event, kind) for event in program.heard)


@everywhere_at_once
async def test_tasks_move_when_members_come_and_go(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(PARTITIONS), await new_group(target)
    topology = reading(topic.name)
    async with StreamsProgram(target, topology, application_id=group_id) as first:
        assert await first.runs(PARTITIONS) == set(TASKS)
        await until(lambda: state_of(first), lambda it: it is MembershipState.STABLE)
        assert first.member.tasks.active == set(TASKS)
        given_up: list[int] = []
        async with StreamsProgram(target, topology, application_id=group_id) as second:
            first.before_confirming = lambda event: given_up.append(len(second.running & event.tasks.active))
            await second.runs(PARTITIONS // 2)
            await first.runs(PARTITIONS // 2)
            assert tasks_of((first, second)) == TASKS
            assert given_up == [0]  # nobody else has a task before its owner has confirmed
        assert await first.runs(PARTITIONS) == set(TASKS)
    kinds = [type(event) for event in first.heard if not isinstance(event, StatusesChanged)]
    assert kinds == [TasksAssigned, TasksRevoked, TasksAssigned]
    described = await described_streams(target.client(), group_id)
    assert (described.group_state, described.members) == ("Empty", ())


@everywhere_at_once
async def test_a_revocation_that_the_program_has_not_heard_of_becomes_part_of_the_loss(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(2), await new_group(target)
    topology = reading(topic.name)
    async with StreamsProgram(target, topology, application_id=group_id) as slow:
        await slow.runs(2)
        await until(lambda: state_of(slow), lambda it: it is MembershipState.STABLE)
        await slow.stop()
        async with StreamsProgram(target, topology, application_id=group_id) as other:
            await until(lambda: state_of(slow), lambda it: it is MembershipState.RECONCILING)
            # The coordinator removes the member, which hears of it with its next heartbeat.
            await StreamsMember(target.client(), group_id, slow.member.member_id).leave()
            await until(lambda: state_of(slow), lambda it: it is MembershipState.FENCED)
            assert await other.runs(2) == slow.running
            with pytest.raises(TasksLostError):
                await slow.member.commit({TopicPartition(topic.name, 0): 1})
            [event] = [each for each in await slow.member.poll(0) if not isinstance(each, StatusesChanged)]
            assert isinstance(event, TasksLost)
            assert event.tasks.active == slow.running
            slow.member.confirm(event)
            slow.member.confirm(event)
            metrics = slow.member.metrics()
            assert (metrics["tasks-assigned-total"], metrics["tasks-lost-total"]) == (2, 2)
            assert (metrics["tasks-revoked-total"], metrics["failed-rebalance-total"]) == (0, 1)
            assert metrics["rebalance-total"] == 1
            assert metrics["heartbeat-total"] > 2


@everywhere_at_once
async def test_offsets_are_committed_with_the_epoch(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(2), await new_group(target)
    first, other = TopicPartition(topic.name, 0), TopicPartition(topic.name, 1)
    async with StreamsProgram(target, reading(topic.name), application_id=group_id) as program:
        await program.runs(2)
        assert await program.member.committed([first]) == {first: None}
        await program.member.commit({first: OffsetAndMetadata(5, metadata="five"), other: 7})
        expected = {first: OffsetAndMetadata(5, None, "five"), other: OffsetAndMetadata(7)}
        assert await program.member.committed([first, other]) == expected
        # The coordinator removes the member, which does not know it yet.
        await StreamsMember(target.client(), group_id, program.member.member_id).leave()
        with pytest.raises(TasksLostError):
            await program.member.commit({first: 6})
        await until(lambda: heard(program, TasksLost), bool)
        await program.runs(2)
        assert (await program.member.committed([first]))[first] == expected[first]
        await program.member.commit({first: 6})


@everywhere_at_once
async def test_what_keeps_the_group_from_working_is_told(target: Target) -> None:
    missing, group_id = unique("missing"), await new_group(target)
    async with StreamsProgram(target, reading(missing), application_id=group_id) as program:

        async def codes() -> set[int]:
            return {status.status_code for status in program.member.statuses}

        await until(codes, lambda it: it == {StreamsStatus.MISSING_SOURCE_TOPICS})
        assert missing in program.member.statuses[0].status_detail
        await target.cluster.create_topic(PARTITIONS, name=missing)
        await program.runs(PARTITIONS)
        assert await codes() == set()
    told = [event.statuses for event in program.heard if isinstance(event, StatusesChanged)]
    assert [len(statuses) for statuses in told] == [1, 0]


@everywhere_at_once
async def test_internal_topics_are_created_and_shared(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(2), await new_group(target)
    topology = counting(topic, group_id)
    async with (
        StreamsProgram(target, topology, application_id=group_id) as first,
        StreamsProgram(target, topology, application_id=group_id) as second,
    ):
        await first.runs(2)
        await second.runs(2)
        assert tasks_of((first, second)) == sorted(TaskId(each, partition) for each in "01" for partition in range(2))
        assert {task.subtopology_id for task in first.running} == {"0", "1"}


@everywhere_at_once
async def test_one_member_shuts_all_down(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(2), await new_group(target)
    topology = reading(topic.name)
    async with (
        StreamsProgram(target, topology, application_id=group_id) as first,
        StreamsProgram(target, topology, application_id=group_id) as second,
    ):
        await first.runs(1)
        await second.runs(1)
        first.member.request_shutdown()
        for program in (first, second):
            await program.fails(ApplicationShutdownError)
            statuses = [event.statuses for event in program.heard if isinstance(event, StatusesChanged)]
            assert [status.status_code for status in statuses[-1]] == [StreamsStatus.SHUTDOWN_APPLICATION]
            with pytest.raises(ClosedError):
                await program.member.poll(0)
    assert (await described_streams(target.client(), group_id)).group_state == "Empty"


@everywhere_at_once
async def test_a_static_member_finds_its_tasks_again(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(PARTITIONS), await new_group(target)
    topology = reading(topic.name)
    static = {"application_id": group_id, "group_instance_id": "worker"}
    async with StreamsProgram(target, topology, number=1, **static) as stays:
        async with StreamsProgram(target, topology, number=2, **static) as before:
            await stays.runs(2)
            kept = await before.runs(2)
            assert [program.member.instance_id for program in (stays, before)] == ["worker-1", "worker-2"]
        told = len(stays.heard)
        async with StreamsProgram(target, topology, number=2, process_id=before.member.process_id, **static) as again:
            assert await again.runs(2) == kept
            assert len(stays.heard) == told
            await again.stop()
            await again.member.close(operation=GroupMembershipOperation.LEAVE_GROUP)
        assert await stays.runs(PARTITIONS) == set(TASKS)


async def heard_by_who_misses_tasks(target: Target, instance_id: str | None) -> list[StreamsMembershipEvent]:
    """The events of a member that has to give up half of its tasks, and gets them back; the response is lost."""
    topic, group_id = await target.cluster.create_topic(PARTITIONS), await new_group(target)
    losing = LosingTasks()
    network = RewritingNetwork(target.network, {ApiKey.STREAMS_GROUP_HEARTBEAT: losing})
    topology, group = reading(topic.name), {"application_id": group_id}
    member = StreamsProgram(evolve(target, network=network), topology, group_instance_id=instance_id, **group)
    async with member:
        await member.runs(PARTITIONS)  # or the other one may be first
        async with StreamsProgram(target, topology, **group) as other:
            await member.runs(2)
            await other.runs(2)
            losing.losses = 1
        await until(lambda: losses_of(losing), lambda it: it == 0)
        assert await member.runs(PARTITIONS) == set(TASKS)
    return [each for each in member.heard if not isinstance(each, StatusesChanged)]


@everywhere_at_once
async def test_a_dynamic_member_whose_tasks_did_not_arrive_joins_again_and_keeps_its_own(target: Target) -> None:
    first, revoked, second = await heard_by_who_misses_tasks(target, None)
    assert isinstance(first, TasksAssigned)
    assert isinstance(revoked, TasksRevoked)
    assert isinstance(second, TasksAssigned)
    assert second.tasks == revoked.tasks


@everywhere_at_once
async def test_a_static_member_whose_tasks_did_not_arrive_leaves_for_a_while(target: Target) -> None:
    first, revoked, lost, second = await heard_by_who_misses_tasks(target, "worker")
    assert isinstance(first, TasksAssigned)
    assert isinstance(revoked, TasksRevoked)
    assert isinstance(lost, TasksLost)
    assert isinstance(second, TasksAssigned)
    assert second.tasks == first.tasks


class LosingTasks:
    """Puts NOT_COORDINATOR in the place of so many answers that have tasks."""

    def __init__(self) -> None:
        self.losses = 0

    def __call__(self, response: StreamsGroupHeartbeatResponse) -> StreamsGroupHeartbeatResponse:
        if not self.losses or not response.active_tasks:
            return response
        self.losses -= 1
        return StreamsGroupHeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR)


async def losses_of(losing: LosingTasks) -> int:
    return losing.losses


@everywhere_at_once
async def test_a_static_member_that_crashed_waits_for_its_session(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(2), await new_group(target, session_timeout_ms="1500")
    static = {"application_id": group_id, "group_instance_id": "worker"}
    crashed = StreamsProgram(target, reading(topic.name), **static)
    async with crashed:
        await crashed.runs(2)
        await crashed.stop()
        await crashed.member._client.abort()
        async with StreamsProgram(target, reading(topic.name), **static) as again:
            assert len(await again.runs(2)) == 2


@everywhere_at_once
async def test_a_static_member_gives_up_when_a_session_of_its_group_is_over(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(2), await new_group(target, session_timeout_ms="1500")
    static = {"application_id": group_id, "group_instance_id": "worker"}
    async with StreamsProgram(target, reading(topic.name), **static) as alive:
        await alive.runs(2)
        async with StreamsProgram(target, reading(topic.name), **static) as twin:
            await until(lambda: error_of(twin), lambda it: isinstance(it, UnreleasedInstanceIdError))
        assert len(await alive.runs(2)) == 2


@everywhere_at_once
async def test_a_program_that_stays_away_loses_its_tasks_and_comes_back(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(2), await new_group(target)
    async with StreamsProgram(
        target, reading(topic.name), application_id=group_id, max_poll_interval_ms=700
    ) as program:
        await program.runs(2)
        await program.stop()
        member = program.member
        await until(lambda: state_of(program), lambda it: it is MembershipState.STALE)
        with pytest.raises(TasksLostError, match=r"not in the group \(state 'stale'\)"):
            await member.commit({TopicPartition(topic.name, 0): 1})
        (event,) = await member.poll(0)
        assert isinstance(event, TasksLost)
        member.confirm(event)
        [assigned] = [each for each in await collected(program, 2) if isinstance(each, TasksAssigned)]
        assert len(assigned.tasks.active) == 2


async def collected(program: StreamsProgram, tasks: int) -> list[object]:
    """The events until the member owns so many tasks."""
    events: list[object] = []
    async with asyncio.timeout(15):
        while len(program.member.tasks.active) < tasks or not events:
            events += await program.member.poll(1)
    return events


@everywhere_at_once
async def test_members_know_who_answers_queries(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(2), await new_group(target)
    topology = reading(topic.name)
    async with StreamsProgram(target, topology, application_id=group_id) as early:
        await early.runs(2)  # so the coordinator has heard of the topic: before, Kafka refuses members with an endpoint
    async with (
        StreamsProgram(target, topology, application_id=group_id, application_server="one:1") as first,
        StreamsProgram(target, topology, application_id=group_id, application_server="two:2") as second,
    ):
        await first.runs(1)
        await second.runs(1)
        servers = {UserEndpoint(host="one", port=1): first, UserEndpoint(host="two", port=2): second}

        async def known() -> dict[UserEndpoint, set[TopicPartition]]:
            return {server: set(found.active) for server, found in first.member.endpoints.items()}

        expected = {
            server: {TopicPartition(topic.name, task.partition) for task in program.running}
            for server, program in servers.items()
        }
        await until(known, lambda it: it == expected)


@everywhere_at_once
async def test_offsets_of_tasks_are_asked_for_and_an_error_is_told(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(1), await new_group(target)
    dormant, asked = TaskId("1", 7), 0

    def positions() -> dict[TaskId, TaskPosition]:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise ValueError("no disk")
        return {dormant: TaskPosition(30, 40)}

    program = StreamsProgram(target, counting(topic, group_id), application_id=group_id, task_offsets=positions)
    async with program:
        error = await program.fails(IllegalStateError)
        assert "no disk" in str(error)
        assert await collected(program, 2)  # the member itself goes on


@everywhere_at_once
async def test_another_topology_is_refused(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(1), await new_group(target)
    async with StreamsProgram(target, reading(topic.name), application_id=group_id) as first:
        await first.runs(1)
        async with StreamsProgram(target, reading(unique("other")), application_id=group_id) as other:
            await other.fails(InvalidRequestError)
            assert other.member.state is MembershipState.FATAL
        await first.runs(1)


@everywhere_at_once
async def test_a_member_that_remains_keeps_its_tasks_for_a_session(target: Target) -> None:
    topic, group_id = await target.cluster.create_topic(1), await new_group(target)
    program = StreamsProgram(target, reading(topic.name), application_id=group_id)
    async with program:
        await program.runs(1)
        await program.stop()
        await program.member.close(operation=GroupMembershipOperation.REMAIN_IN_GROUP)
        [member] = (await described_streams(target.client(), group_id)).members
        assert member.member_id == program.member.member_id
