"""Descriptions of classic groups of streams applications by the admin client."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from kafka_groups.admin.rules.classic_streams.classic_descriptions import described_classic_group
from kafka_groups.admin.rules.classic_streams.classic_groups import read_classic_group
from kafka_groups.admin.rules.classic_streams.classic_values import ClassicStreamsGroupMember
from kafka_groups.broker.faults import answer, delay
from kafka_groups.errors import GroupAuthorizationFailedError, GroupIdNotFoundError, OperationTimeoutError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeGroupsResponseGroup,
    DescribeGroupsResponseMember,
)
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK, UNKNOWN_OFFSET_SUM
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo
from kafka_groups.types import TaskId, TopicPartition
from tests.support.members.shown_classic_groups import PROCESS, assigned, joined_with, shown_group, shown_member
from tests.unit.admin.worlds import FIRST, TOPIC, AdminWorld, simulate

A, B, C, D = TaskId("0", 0), TaskId("0", 1), TaskId("1", 0), TaskId("1", 1)


def described(*members: DescribeGroupsResponseMember) -> tuple[ClassicStreamsGroupMember, ...]:
    return described_classic_group(read_classic_group(shown_group(*members))).members


def test_every_field_of_a_description() -> None:
    info = SubscriptionInfo(
        process_id=PROCESS,
        version=10,
        latest_supported_version=11,
        user_endpoint="h:9",
        error_code=4,
        task_offset_sums=((A, RUNNING_TASK), (C, 12), (D, UNKNOWN_OFFSET_SUM)),
    )
    given = AssignmentInfo(
        version=10,
        commonly_supported_version=11,
        active_tasks=(A, A),
        standby_tasks=((C, (TopicPartition("words", 0),)),),
        error_code=4,
        next_rebalance_ms=1_750_000_000_000,
    )
    owned = {TOPIC: (0, 1), "words": (0,)}
    member = shown_member(
        group_instance_id="i",
        member_metadata=joined_with(
            info, topics=(TOPIC, "words"), owned_partitions=owned, generation_id=3, rack_id="r"
        ),
        member_assignment=assigned(given, orders=(0,), more=(0,)),
    )
    assert described(member) == (
        ClassicStreamsGroupMember(
            member_id="m-1",
            process_id=str(PROCESS),
            instance_id="i",
            rack="r",
            client_id="app-1-StreamThread-1-consumer",
            client_host="/127.0.0.1",
            user_endpoint=("h", 9),
            client_tags={},
            topics=frozenset({TOPIC, "words"}),
            version=10,
            latest_version=11,
            generation=3,
            owned_partitions=frozenset({FIRST, TopicPartition(TOPIC, 1), TopicPartition("words", 0)}),
            # Nobody was given a partition of "words", so its tasks cannot be told.
            owned_tasks=frozenset({A, B}),
            running_tasks=frozenset({A}),
            task_offset_sums={C: 12, D: None},
            requests_shutdown=True,
            active_tasks=frozenset({A}),
            standby_tasks=frozenset({C}),
            assigned_version=10,
            common_version=11,
            error_code=4,
            rejoins_at_once=False,
            next_rebalance=datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC),
        ),
    )


def test_tasks_on_their_way_are_owned_by_one_and_awaited_by_the_other() -> None:
    """The partition that is given up is in no assignment; the other one of its topic tells its task."""
    owns_both = joined_with(owned_partitions={TOPIC: (0, 1)}, generation_id=1)
    gives_up = shown_member(
        member_metadata=owns_both, member_assignment=assigned(AssignmentInfo(active_tasks=(A,)), orders=(0,))
    )
    waits = shown_member(member_id="m-2", member_assignment=assigned(AssignmentInfo(next_rebalance_ms=0)))
    first, second = described(gives_up, waits)
    assert [first.owned_tasks, first.active_tasks, second.owned_tasks, second.active_tasks] == [
        {A, B},
        {A},
        set(),
        set(),
    ]
    assert (first.rejoins_at_once, second.rejoins_at_once) == (False, True)
    assert (second.generation, second.next_rebalance) == (None, None)


def test_members_are_sorted_by_process_and_thread() -> None:
    def member(number: int, process: int, thread: int) -> DescribeGroupsResponseMember:
        metadata = joined_with(SubscriptionInfo(process_id=UUID(int=process), client_tags=(("zone", f"z{process}"),)))
        return shown_member(member_id=f"m{number}", client_id=f"{process}-{thread}", member_metadata=metadata)

    group = described_classic_group(read_classic_group(shown_group(member(1, 2, 1), member(2, 1, 2), member(3, 1, 1))))
    assert [each.member_id for each in group.members] == ["m3", "m2", "m1"]
    assert [len(members) for members in group.processes.values()] == [2, 1]
    assert group.processes[str(UUID(int=2))][0].client_tags == {"zone": "z2"}
    assert (group.read_topics, group.has_members) == ((TOPIC,), True)


def test_a_time_that_no_clock_shows() -> None:
    late = AssignmentInfo(next_rebalance_ms=2**62)
    (member,) = described(shown_member(member_assignment=assigned(late)))
    assert member.next_rebalance == datetime.max.replace(tzinfo=UTC)
    (member,) = described(shown_member(member_assignment=assigned(AssignmentInfo(next_rebalance_ms=-(2**62)))))
    assert (member.next_rebalance, member.rejoins_at_once) == (None, True)


# ------------------------------------------------------------------------------------------------ the question


def shown(**groups: DescribeGroupsResponseGroup) -> Any:
    """DescribeGroups has these groups, whatever it is asked for."""

    def response(request: DescribeGroupsRequest) -> DescribeGroupsResponse:
        return DescribeGroupsResponse(groups=tuple(groups[each] for each in request.groups))

    return answer(response)


def test_a_group_is_described_with_its_lag() -> None:
    async def program(world: AdminWorld) -> None:
        world.cluster.produce(TOPIC, ["a", "b"], partition=0)
        member = await world.classic_member("app", [("stream", joined_with())])
        await member.join()
        given = assigned(AssignmentInfo(active_tasks=(A, B, TaskId("0", 2))), orders=(0, 1, 2))
        assert (await member.sync({member.member_id: given}))[0] == "NONE"
        async with world.admin() as admin:
            group = (await admin.describe_classic_streams_groups(["app"]))["app"]
            assert (group.state, group.total_lag, group.lag_error) == ("Stable", 2, None)
            assert group.lag == {FIRST: 2, TopicPartition(TOPIC, 1): 0, TopicPartition(TOPIC, 2): 0}
            assert [each.active_tasks for each in group.members] == [{A, B, TaskId("0", 2)}]
            await member.leave()
            group = (await admin.describe_classic_streams_groups(["app"]))["app"]
            assert (group.state, group.members, group.lag) == ("Empty", (), {})

    simulate(program, settings={"group.initial.rebalance.delay.ms": 0})


def test_groups_of_other_types_are_named_by_their_type() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            (await admin.alter_share_group_offsets("shared", {FIRST: 0})).checked()
            found = await admin.describe_classic_streams_groups(["shared", "absent"])
            assert {type(error) for error in found.errors.values()} == {GroupIdNotFoundError}
            assert str(found.errors["shared"]) == "The group shared is a share group and not a classic group."
            assert str(found.errors["absent"]) == "Group absent not found."

    simulate(program)


def test_older_brokers_say_of_absent_groups_that_they_are_dead() -> None:
    async def program(world: AdminWorld) -> None:
        world.cluster.faults.on(ApiKey.DESCRIBE_GROUPS, shown(app=shown_group(group_state="Dead", protocol_type="")))
        async with world.admin() as admin:
            error = (await admin.describe_classic_streams_groups(["app"])).errors["app"]
        assert isinstance(error, GroupIdNotFoundError)
        assert str(error) == "There is no classic group app."

    simulate(program)


def test_one_group_that_cannot_be_read_does_not_hide_another() -> None:
    async def program(world: AdminWorld) -> None:
        groups = {
            "app": shown_group(shown_member()),
            "broken": shown_group(shown_member(member_metadata=b""), group_id="broken"),
            "secret": shown_group(group_id="secret", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED),
        }
        world.cluster.faults.on(ApiKey.DESCRIBE_GROUPS, shown(**groups))
        async with world.admin() as admin:
            found = await admin.describe_classic_streams_groups(groups)
        assert list(found.values) == ["app"]
        assert "member m-1" in str(found.errors["broken"])
        assert isinstance(found.errors["secret"], GroupAuthorizationFailedError)

    simulate(program)


def test_a_lag_that_is_not_told_is_missing_from_the_description() -> None:
    async def program(world: AdminWorld) -> None:
        world.cluster.faults.on(ApiKey.DESCRIBE_GROUPS, shown(app=shown_group(shown_member())))
        world.cluster.faults.on(ApiKey.OFFSET_FETCH, delay(60_000))
        async with world.admin() as admin:
            group = (await admin.describe_classic_streams_groups(["app"], timeout=2))["app"]
        assert (group.lag, group.total_lag) == ({}, None)
        assert isinstance(group.lag_error, OperationTimeoutError)

    simulate(program)
