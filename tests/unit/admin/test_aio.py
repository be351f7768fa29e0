"""The admin client on a cluster of three brokers: calls fan out, failures stay with their keys, time is limited."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from kafka_groups.admin import AsyncKafkaAdmin, RemovedMember
from kafka_groups.broker.faults import LOSE_RESPONSE, answer, delay
from kafka_groups.client.assembly import Environment
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import (
    BootstrapError,
    ClosedError,
    ConfigurationError,
    GroupAuthorizationFailedError,
    GroupIdNotFoundError,
    IllegalStateError,
    NotLeaderOrFollowerError,
    OperationTimeoutError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from kafka_groups.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_groups.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupRequestMember,
    LeaveGroupResponse,
    LeaveGroupResponseMember,
)
from kafka_groups.protocol.messages.list_groups import ListGroupsResponse
from kafka_groups.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kafka_groups.protocol.messages.metadata import MetadataResponse
from kafka_groups.protocol.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from kafka_groups.types import TopicPartition
from tests.unit.admin.worlds import FIRST, TOPIC, AdminWorld, simulate

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
CREATED = {FIRST: 0}


async def make_groups(admin: AsyncKafkaAdmin, *group_ids: str) -> None:
    """Make share groups without members."""
    for group_id in group_ids:
        (await admin.alter_share_group_offsets(group_id, CREATED)).checked()


def all_of(code: ErrorCode) -> Any:
    """ShareGroupDescribe fails for each group."""

    def response(request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
        groups = (
            DescribedGroup(
                error_code=code, group_id=each, group_state="", group_epoch=0, assignment_epoch=0, assignor_name=""
            )
            for each in request.group_ids
        )
        return ShareGroupDescribeResponse(groups=tuple(groups))

    return answer(response)


def test_a_call_fans_out_over_the_coordinators() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            groups = [world.group_at(node) for node in (1, 2, 3)]
            await make_groups(admin, *groups)
            asked = {
                node: world.cluster.faults.on(ApiKey.SHARE_GROUP_DESCRIBE, delay(0), node_id=node) for node in (1, 2, 3)
            }
            described = await admin.describe_share_groups([*groups, "absent"])
            assert list(described.values) == groups
            assert isinstance(described.errors["absent"], GroupIdNotFoundError)
            assert [rule.hits for rule in asked.values()] == [1, 1, 1]
            listed = await admin.list_share_groups()
            assert [group.group_id for group in listed.groups] == sorted(groups)

    simulate(program)


def test_one_coordinator_that_loads_and_one_that_is_slow_delay_no_other() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            first, second, third = groups = [world.group_at(node) for node in (1, 2, 3)]
            await make_groups(admin, *groups)
            loading = world.cluster.faults.on(ApiKey.SHARE_GROUP_DESCRIBE, all_of(LOADING), times=3, node_id=1)
            world.cluster.faults.on(ApiKey.SHARE_GROUP_DESCRIBE, delay(60_000), node_id=2)
            before_ms = world.clock.now_ms()
            described = await admin.describe_share_groups(groups, timeout=5)
            assert list(described.values) == [first, third]
            assert isinstance(described.errors[second], OperationTimeoutError)
            assert world.clock.now_ms() - before_ms == 5_000
            assert loading.is_spent

    simulate(program)


def test_a_coordinator_that_moves_is_found_again() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            group = world.group_at(2)
            await make_groups(admin, group)
            moved = world.cluster.faults.on(
                ApiKey.SHARE_GROUP_DESCRIBE, all_of(ErrorCode.NOT_COORDINATOR), times=1, node_id=2
            )
            lookups = world.cluster.faults.on(ApiKey.FIND_COORDINATOR, delay(0))
            assert (await admin.describe_share_groups([group]))[group].state == "Empty"
            assert moved.is_spent
            assert lookups.hits == 3  # again after the move, and once for the lag
            await world.cluster.stop_broker_async(2)
            assert (await admin.describe_share_groups([group], timeout=20))[group].state == "Empty"

    simulate(program)


def test_a_change_whose_answer_is_lost_is_made_again() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await make_groups(admin, "g")
            lost = world.cluster.faults.on(ApiKey.DELETE_GROUPS, LOSE_RESPONSE, times=1)
            deleted = await admin.delete_share_groups(["g"])
            assert lost.is_spent
            assert isinstance(deleted.errors["g"], GroupIdNotFoundError)  # as it is gone
            assert not (await admin.list_share_groups()).groups

    simulate(program)


def test_a_broker_that_does_not_list_its_groups() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            groups = [world.group_at(node) for node in (1, 2, 3)]
            await make_groups(admin, *groups)
            refusal = ListGroupsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            world.cluster.faults.on(ApiKey.LIST_GROUPS, answer(refusal), node_id=2)
            listed = await admin.list_share_groups()
            assert {group.group_id for group in listed.groups} == {groups[0], groups[2]}
            assert list(listed.errors) == [2]

    simulate(program)


def test_a_lag_that_is_not_told_is_missing_from_the_description() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await make_groups(admin, "g")
            world.cluster.faults.on(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, delay(60_000))
            group = (await admin.describe_share_groups(["g"], timeout=2))["g"]
            assert (group.state, group.lag, group.total_lag) == ("Empty", {}, None)
            assert isinstance(group.lag_error, OperationTimeoutError)

    simulate(program)


def test_a_partition_whose_state_is_not_there_yet_is_altered_again() -> None:
    def told(code: ErrorCode) -> AlterShareGroupOffsetsResponse:
        partitions = (
            AlterShareGroupOffsetsResponsePartition(partition_index=0),
            AlterShareGroupOffsetsResponsePartition(partition_index=1, error_code=code),
        )
        topic = AlterShareGroupOffsetsResponseTopic(topic_name=TOPIC, partitions=partitions)
        return AlterShareGroupOffsetsResponse(responses=(topic,))

    async def program(world: AdminWorld) -> None:
        second = TopicPartition(TOPIC, 1)
        async with world.admin() as admin:
            passing = answer(told(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            rule = world.cluster.faults.on(ApiKey.ALTER_SHARE_GROUP_OFFSETS, passing, times=2)
            assert (await admin.alter_share_group_offsets("g", {FIRST: 1, second: 2})).errors == {}
            assert rule.is_spent
            world.cluster.faults.on(ApiKey.ALTER_SHARE_GROUP_OFFSETS, passing)
            altered = await admin.alter_share_group_offsets("g", {FIRST: 1, second: 2}, timeout=2)
            assert altered.values == {FIRST: None}
            assert str(altered.errors[second]) == f"COORDINATOR_NOT_AVAILABLE: {second}"

    simulate(program)


def test_a_leader_that_has_moved_is_found_again() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            moved = ListOffsetsPartitionResponse(partition_index=0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
            topics = (ListOffsetsTopicResponse(name=TOPIC, partitions=(moved,)),)
            rule = world.cluster.faults.on(ApiKey.LIST_OFFSETS, answer(ListOffsetsResponse(topics=topics)), times=2)
            assert (await admin.reset_share_group_offsets("g", "earliest", [FIRST])).values == {FIRST: 0}
            assert rule.is_spent
            world.cluster.faults.on(ApiKey.LIST_OFFSETS, answer(ListOffsetsResponse(topics=topics)))
            reset = await admin.reset_share_group_offsets("g", "earliest", [FIRST], timeout=2)
            assert isinstance(reset.errors[FIRST].__cause__, NotLeaderOrFollowerError)

    simulate(program)


def test_resetting_nothing_and_unknown_partitions() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            assert len(await admin.reset_share_group_offsets("absent", "latest")) == 0
            nowhere = TopicPartition(TOPIC, 7)
            reset = await admin.reset_share_group_offsets("g", "latest", [FIRST, nowhere])
            assert reset.values == {FIRST: 0}
            assert isinstance(reset.errors[nowhere], UnknownTopicOrPartitionError)

    simulate(program)


def test_a_broker_that_has_the_client_rebootstrap_is_obeyed() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            rebootstrap = answer(MetadataResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED))
            rule = world.cluster.faults.on(ApiKey.METADATA, rebootstrap, times=2)
            assert (await admin.list_share_groups()).groups == ()
            assert rule.is_spent

    simulate(program)


# ------------------------------------------------------------------------------------------ versions


def versions(**highest: int) -> Callable[[Any], ApiVersionsResponse]:
    """ApiVersions with these newest versions of some APIs."""
    apis = {ApiKey.API_VERSIONS: 4, ApiKey.METADATA: 12, ApiKey.FIND_COORDINATOR: 4, ApiKey.DESCRIBE_GROUPS: 5}
    apis |= {ApiKey[name]: version for name, version in highest.items()}
    listed = tuple(ApiVersion(api_key=int(key), min_version=0, max_version=high) for key, high in apis.items())
    return lambda _request: ApiVersionsResponse(api_keys=listed)


def test_a_broker_with_an_old_leave_group_cannot_remove_members() -> None:
    async def program(world: AdminWorld) -> None:
        world.cluster.faults.on(ApiKey.API_VERSIONS, answer(versions(LEAVE_GROUP=2)))
        async with world.admin() as admin:
            with pytest.raises(UnsupportedVersionError, match="LeaveGroup v2; removing members needs v3"):
                await admin.remove_members("g", ["one"])

    simulate(program)


@pytest.mark.parametrize(("version", "reason"), [(3, None), (4, None), (5, "x" * 255)])
def test_the_reason_of_a_removal_is_sent_from_v5_on(version: int, reason: str | None) -> None:
    seen: list[LeaveGroupRequestMember] = []

    def left(request: LeaveGroupRequest) -> LeaveGroupResponse:
        seen.extend(request.members)
        return LeaveGroupResponse(members=(LeaveGroupResponseMember(member_id="m", group_instance_id="one"),))

    async def program(world: AdminWorld) -> None:
        world.cluster.faults.on(ApiKey.API_VERSIONS, answer(versions(LEAVE_GROUP=version)))
        world.cluster.faults.on(ApiKey.LEAVE_GROUP, answer(left))
        async with world.admin() as admin:
            removed = await admin.remove_members("g", ["one", "one"], reason="x" * 300)
            assert removed.values == {"one": RemovedMember("m", "one")}

    simulate(program)
    assert seen == [LeaveGroupRequestMember(member_id="", group_instance_id="one", reason=reason)]


def test_a_group_that_is_refused_as_a_whole_raises() -> None:
    async def program(world: AdminWorld) -> None:
        refusal = LeaveGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        world.cluster.faults.on(ApiKey.LEAVE_GROUP, answer(refusal))
        async with world.admin() as admin:
            with pytest.raises(GroupAuthorizationFailedError):
                await admin.remove_members("g", ["one"])

    simulate(program)


def test_brokers_without_types_of_groups_list_no_share_groups() -> None:
    async def program(world: AdminWorld) -> None:
        world.cluster.faults.on(ApiKey.API_VERSIONS, answer(versions(LIST_GROUPS=4)))
        async with world.admin() as admin:
            listed = await admin.list_share_groups()
            assert listed.groups == ()
            assert {type(error) for error in listed.errors.values()} == {UnsupportedVersionError}
            described = await admin.describe_share_groups(["g"])
            assert isinstance(described.errors["g"], UnsupportedVersionError)

    simulate(program)


# ---------------------------------------------------------------------------------------- the client


def test_brokers_that_never_answer_are_an_error_of_the_call() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin(bootstrap_servers="nobody:9") as admin:
            before_ms = world.clock.now_ms()
            with pytest.raises(BootstrapError, match="nobody:9"):
                await admin.describe_share_groups(["g"], timeout=3)
            assert world.clock.now_ms() - before_ms == 3_000
            with pytest.raises(BootstrapError):
                await admin.list_share_groups(timeout=3)

    simulate(program)


def test_an_outage_ends_and_the_client_goes_on() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await make_groups(admin, "g")
            for node in (1, 2, 3):
                await world.cluster.stop_broker_async(node)
            assert isinstance((await admin.describe_share_groups(["g"], timeout=2)).errors["g"], OperationTimeoutError)
            asking = asyncio.create_task(admin.describe_share_groups(["g"], timeout=30))
            for node in (1, 2, 3):
                await world.cluster.start_broker_async(node)
            assert (await asking)["g"].state == "Empty"

    simulate(program)


def test_close_ends_calls_and_forbids_others() -> None:
    async def program(world: AdminWorld) -> None:
        admin = world.admin()
        await admin.list_share_groups()
        world.cluster.faults.on(ApiKey.FIND_COORDINATOR, delay(60_000))
        asking = asyncio.create_task(admin.describe_share_groups(["g"]))
        await asyncio.sleep(1)
        await admin.close()
        with pytest.raises(ClosedError):
            await asking
        with pytest.raises(ClosedError):
            await admin.list_share_groups()
        await admin.close()

    simulate(program)


def test_a_call_that_is_cancelled_is_forgotten() -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            world.cluster.faults.on(ApiKey.FIND_COORDINATOR, delay(1_000), times=1)
            asking = asyncio.create_task(admin.describe_share_groups(["g"]))
            await asyncio.sleep(0.1)
            assert "1 calls" in repr(admin)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            assert "0 calls" in repr(admin)
            await asyncio.sleep(2)
            assert isinstance((await admin.describe_share_groups(["g"])).errors["g"], GroupIdNotFoundError)

    simulate(program)


def test_a_client_belongs_to_one_loop() -> None:
    admin = AsyncKafkaAdmin(bootstrap_servers="nobody:9", environment=Environment(MemoryNetwork()))

    async def ask() -> None:
        await admin.list_share_groups(timeout=0.01)

    with pytest.raises(BootstrapError):
        asyncio.run(ask())
    with pytest.raises(IllegalStateError, match="another event loop"):
        asyncio.run(ask())
    asyncio.run(admin.close())


def test_a_client_that_is_not_closed_says_so() -> None:
    async def program(world: AdminWorld) -> None:
        admin = world.admin()
        await admin.list_share_groups()
        with pytest.warns(ResourceWarning, match="was not closed"):
            del admin
        await asyncio.sleep(1)

    simulate(program)


# ------------------------------------------------------------------------------------------ arguments


WRONG: dict[str, Callable[[Any], Awaitable[object]]] = {
    "group_ids='g': give a list": lambda admin: admin.describe_share_groups("g"),
    "group_ids is empty": lambda admin: admin.delete_share_groups([]),
    "group_ids: 7 is not a name": lambda admin: admin.describe_group_configs([7]),
    "states='Empty': give a list": lambda admin: admin.list_share_groups(states="Empty"),
    "group_id: '' is not a name": lambda admin: admin.alter_share_group_offsets("", {FIRST: 1}),
    "offsets: -1 is not an offset of orders-0": lambda admin: admin.alter_share_group_offsets("g", {FIRST: -1}),
    "offsets: 'orders' is not a TopicPartition": lambda admin: admin.alter_share_group_offsets("g", {"orders": 1}),
    "give a dictionary of offsets": lambda admin: admin.alter_share_group_offsets("g", [1]),
    "offsets is empty": lambda admin: admin.alter_share_group_offsets("g", {}),
    "groups: 0 is not a TopicPartition": lambda admin: admin.describe_share_group_offsets({"g": [0]}),
    "to='middle': give 'earliest'": lambda admin: admin.reset_share_group_offsets("g", "middle"),
    "has no time zone": lambda admin: admin.reset_share_group_offsets("g", datetime(2026, 1, 1)),
    "topics='orders': give a list": lambda admin: admin.reset_share_group_offsets("g", "latest", "orders"),
    "topics is empty": lambda admin: admin.reset_share_group_offsets("g", "latest", []),
    "topics: None is not a name": lambda admin: admin.delete_share_group_offsets("g", [None]),
    "give a dictionary of changes": lambda admin: admin.alter_group_configs(["g"]),
    "share.delivery.count.limit=7 is not text: give '7'": lambda admin: admin.alter_group_configs(
        {"g": {"share.delivery.count.limit": 7}}
    ),
    "is not a dictionary of values": lambda admin: admin.alter_group_configs({"g": "share"}),
    "instance_ids='one': give a list": lambda admin: admin.remove_members("g", "one"),
    "instance_ids is empty": lambda admin: admin.remove_members("g", []),
    "transactional_ids='tx': give a list": lambda admin: admin.describe_transactions("tx"),
    "transactional_ids is empty": lambda admin: admin.fence_producers([]),
    "producer_ids=7: give a list": lambda admin: admin.list_transactions(producer_ids=7),
    "producer_ids: -1 is not the id": lambda admin: admin.list_transactions(producer_ids=[-1]),
    "open_for_ms=1.5: give a whole number": lambda admin: admin.list_transactions(open_for_ms=1.5),
    "pattern: '' is not a name": lambda admin: admin.list_transactions(pattern=""),
    "partitions: 'orders' is not a TopicPartition": lambda admin: admin.describe_producers(["orders"]),
    "partitions is empty": lambda admin: admin.describe_producers([]),
    "start_offset=-1: give the offset": lambda admin: admin.abort_transaction(FIRST, -1),
    "partition: 0 is not a TopicPartition": lambda admin: admin.abort_transaction(0, 0),
    "timeout='1' is not a number": lambda admin: admin.list_share_groups(timeout="1"),
}


@pytest.mark.parametrize("message", WRONG)
async def test_wrong_arguments_are_named(message: str) -> None:
    async with AsyncKafkaAdmin(bootstrap_servers="nobody:9", environment=Environment(MemoryNetwork())) as admin:
        with pytest.raises(ConfigurationError) as raised:
            await WRONG[message](admin)
    assert message in str(raised.value)


def test_a_finished_configuration_goes_without_keywords() -> None:
    config = admin_config(bootstrap_servers="b:1")
    assert "AsyncKafkaAdmin" in repr(AsyncKafkaAdmin(config))
    with pytest.raises(ConfigurationError, match="not both"):
        AsyncKafkaAdmin(config, client_id="x")
