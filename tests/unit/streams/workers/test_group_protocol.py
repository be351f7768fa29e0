"""Applications whose brokers or groups do not have their protocol, against an embedded cluster in virtual time."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import pytest

from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    AssignmentConfigs,
    KafkaStreamsAssignment,
    TaskAssignment,
)
from kafka_groups.broker.faults import LOSE_RESPONSE, answer
from kafka_groups.config.clients.streams import streams_config
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolSubscription
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsResponse
from kafka_groups.protocol.messages.join_group import JoinGroupRequest
from kafka_groups.protocol.messages.list_groups import ListGroupsResponse
from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse
from kafka_groups.protocol.streams_user_data.subscription_info import SubscriptionInfo, decode_subscription
from kafka_groups.streams import AsyncStreamsGroupMember, StatusesChanged, TasksAssigned
from kafka_groups.streams.workers.group_protocol import membership_of
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.support.old_brokers import of_an_old_broker
from tests.unit.streams.member.clusters import World

T = TypeVar("T")
SWITCHED_OFF = StreamsGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)


async def at_once(function: Callable[[], T]) -> T:
    """A simulation has no threads."""
    await asyncio.sleep(0)
    return function()


def simulate(program: Callable[[World], Awaitable[None]]) -> None:
    async def run(simulation: Simulation) -> None:
        async with World(simulation) as world:
            await program(world)
            world.cluster.faults.clear()

    run_simulated(run, seed=1, limit_s=3600)


def member_of_application(
    world: World, protocol: str, keys: Mapping[str, object] | None = None, **member: Any
) -> AsyncStreamsGroupMember:
    given = {"bootstrap.servers": "b:1", "application.id": "app", "group.protocol": protocol, **(keys or {})}
    config = streams_config(given)
    return world.member(_membership_of=membership_of(config, at_once), **member)


async def assigned(member: AsyncStreamsGroupMember) -> None:
    await member.join()
    while not member.tasks.active:
        for event in await member.poll(60):
            assert isinstance(event, TasksAssigned | StatusesChanged)


async def polled(member: AsyncStreamsGroupMember) -> None:
    while True:
        await member.poll(60)


async def refused(member: AsyncStreamsGroupMember) -> str:
    """The error of a member that is refused, twice."""
    await member.join()
    with pytest.raises(KafkaGroupsError) as caught:
        await polled(member)
    with pytest.raises(type(caught.value)) as again:
        await member.poll(0)
    assert str(again.value) == str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("api", "given", "said"),
    [
        (ApiKey.API_VERSIONS, of_an_old_broker(), "Streams groups need Kafka 4.2 or newer."),
        (ApiKey.STREAMS_GROUP_HEARTBEAT, SWITCHED_OFF, "to group.coordinator.rebalance.protocols of the brokers."),
    ],
)
def test_only_an_application_hears_of_classic_groups(api: ApiKey, given: Any, said: str) -> None:
    async def program(world: World) -> None:
        world.cluster.faults.on(api, answer(given))
        async with member_of_application(world, "streams") as member:
            assert (await refused(member)).endswith(f"{said} Set group_protocol='classic'.")
        async with world.member() as other:
            assert (await refused(other)).endswith(said)

    simulate(program)


@pytest.mark.parametrize(("lives", "joins"), [("classic", "streams"), ("streams", "classic")])
def test_an_application_that_runs_with_the_other_protocol(lives: str, joins: str) -> None:
    async def program(world: World) -> None:
        async with member_of_application(world, lives) as there, member_of_application(world, joins) as other:
            await assigned(there)
            assert await refused(other) == (
                f"Application 'app' runs with group.protocol={lives}. Stop all its instances and wait until the group "
                f"is empty, or set group_protocol='{lives}'."
            )
            assert await there.poll(0) == ()

    simulate(program)


def test_a_member_of_a_program_hears_of_the_classic_group_alone() -> None:
    async def program(world: World) -> None:
        async with member_of_application(world, "classic") as there, world.member() as other:
            await assigned(there)
            said = await refused(other)
            assert said.startswith("Group 'app' is a classic group, not a streams group. Stop all its members")
            assert said.endswith("keeps its committed offsets. Or choose another application_id.")

    simulate(program)


def test_the_rack_and_the_tags_of_an_application_are_sent_to_leaders_in_java() -> None:
    async def program(world: World) -> None:
        asked: list[JoinGroupRequest] = []

        def note(request: JoinGroupRequest) -> bool:
            asked.append(request)
            return False

        world.cluster.faults.on(ApiKey.JOIN_GROUP, LOSE_RESPONSE, when=note)
        config: dict[str, Any] = {"client_rack": "r1", "client_tags": {"zone": "z1"}}
        async with member_of_application(world, "classic", **config) as member:
            await assigned(member)
            said = ConsumerProtocolSubscription.decode(asked[0].protocols[0].metadata)
            info = decode_subscription(said.user_data)
            assert isinstance(info, SubscriptionInfo)
            assert (said.rack_id, info.client_tags) == ("r1", (("zone", "z1"),))

    simulate(program)


@pytest.mark.parametrize("protocol", ["classic", "streams"])
def test_a_group_whose_type_no_broker_tells(protocol: str) -> None:
    async def program(world: World) -> None:
        other = {"classic": "streams", "streams": "classic"}[protocol]
        async with member_of_application(world, other) as there, member_of_application(world, protocol) as member:
            await assigned(there)
            world.cluster.faults.on(ApiKey.DESCRIBE_GROUPS, answer(DescribeGroupsResponse()))
            world.cluster.faults.on(ApiKey.LIST_GROUPS, answer(ListGroupsResponse()))
            assert re.search(r"of another (type than streams|kind: a group of consumers, or)", await refused(member))

    simulate(program)


def test_the_assignor_of_an_application_decides_with_its_configuration() -> None:
    heard: list[AssignmentConfigs] = []

    def by_age(state: ApplicationState) -> TaskAssignment:
        """All tasks stay in the process that came first."""
        heard.append(state.assignment_configs)
        first, *others = state.kafka_streams_states(compute_task_lags=False).values()
        oldest = next((each for each in (first, *others) if each.previous_active_tasks), first)
        every = KafkaStreamsAssignment.of(oldest.process_id, map(AssignedTask.active, state.all_tasks))
        rest = [KafkaStreamsAssignment.of(each.process_id) for each in (first, *others) if each is not oldest]
        return TaskAssignment([every, *rest])

    async def program(world: World) -> None:
        keys = {"task.assignor.class": by_age, "num.standby.replicas": 1, "acceptable.recovery.lag": 7}
        async with member_of_application(world, "classic", keys) as first:
            await assigned(first)
            async with member_of_application(world, "classic", keys) as second:
                await second.join()
                while len(heard) < 2 or second.epoch != first.epoch:
                    await first.poll(1)
                    await second.poll(1)
                assert len(first.tasks.active) == 2
                assert not second.tasks.active
        configs = AssignmentConfigs(acceptable_recovery_lag=7, num_standby_replicas=1)
        assert set(map(repr, heard)) == {repr(configs)}

    simulate(program)
