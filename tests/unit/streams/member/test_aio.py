"""The asynchronous member against an embedded cluster, in virtual time: waiting, errors, ends of all kinds."""

import asyncio
import gc
import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import DROP_RESPONSE, LOSE_RESPONSE
from kafka_groups.errors import (
    BootstrapError,
    ClosedError,
    ConcurrentUseError,
    ConfigurationError,
    IllegalStateError,
    OperationTimeoutError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.streams import (
    AsyncStreamsGroupMember,
    ChangelogTopic,
    GroupTopologyBuilder,
    MembershipState,
    StatusesChanged,
    TaskId,
    TaskPosition,
    TasksRevoked,
)
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.unit.streams.member.clusters import SETTINGS, TOPIC, TOPOLOGY, World

Program = Callable[[World], Awaitable[None]]
FIRST = TopicPartition(TOPIC, 0)
KEEPING = GroupTopologyBuilder().add_subtopology("0", sources=[TOPIC], changelogs=[ChangelogTopic("rows")]).build()


def simulate(program: Program, *, seed: int = 1, **world: Any) -> None:
    async def run(simulation: Simulation) -> None:
        async with World(simulation, **world) as made:
            await program(made)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        assert not tasks, tasks
        await asyncio.sleep(0)
        assert made.network.open_connections == 0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_simulated(run, seed, limit_s=7200)


async def assigned(member: AsyncStreamsGroupMember, count: int = 2) -> None:
    """Poll until the member owns so many tasks."""
    while len(member.tasks.active) != count:
        for event in await member.poll(60):
            if isinstance(event, TasksRevoked):
                member.confirm(event)


def forget(held: list[AsyncStreamsGroupMember]) -> None:
    held.clear()
    gc.collect()


def test_a_poll_without_events_takes_its_time_and_no_more() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            begun_ms = world.simulation.clock.now_ms()
            assert await member.poll(2.5) == ()
            assert world.simulation.clock.now_ms() - begun_ms == 2_500
            assert await member.poll(0) == ()

    simulate(program)


def test_a_poll_that_waits_longer_than_the_interval_is_not_late() -> None:
    async def program(world: World) -> None:
        async with world.member(max_poll_interval_ms=1_000) as member:
            await member.join()
            await assigned(member)
            assert await member.poll(30) == ()
            assert member.state is MembershipState.STABLE
            assert await member.poll(0) == ()
            assert member.state is MembershipState.STABLE

    simulate(program)


def test_calls_before_join_say_so() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            for call in (member.poll(0), member.commit({FIRST: 1}), member.committed([FIRST])):
                with pytest.raises(IllegalStateError, match=r"call join\(\) first"):
                    await call
            with pytest.raises(IllegalStateError, match="not in the group"):
                member.group_metadata()
            assert (member.epoch, member.statuses, dict(member.endpoints)) == (0, (), {})

    simulate(program)


def test_a_member_joins_once() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            with pytest.raises(IllegalStateError, match="'join' is not possible"):
                await member.join()

    simulate(program)


def test_no_call_after_close_which_is_possible_twice() -> None:
    async def program(world: World) -> None:
        member = world.member()
        await member.join()
        await member.close()
        await member.close()
        for call in (member.join(), member.poll(0), member.commit({FIRST: 1})):
            with pytest.raises(ClosedError, match="the streams group member was closed"):
                await call
        never_joined = world.member()
        await never_joined.close()

    simulate(program)


def test_two_tasks_do_not_poll_at_once_but_may_commit() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            polling = asyncio.create_task(member.poll(5))
            await asyncio.sleep(0.1)
            with pytest.raises(ConcurrentUseError):
                await member.poll(0)
            await member.commit({FIRST: 3})
            assert await member.committed([FIRST]) == {FIRST: OffsetAndMetadata(3)}
            assert await polling == ()

    simulate(program)


def test_a_commit_waits_for_the_member_to_join() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            assert member.state is MembershipState.JOINING
            assert await member.committed([FIRST, FIRST]) == {FIRST: None}
            await member.commit({FIRST: 1}, timeout=5)
            await member.commit({})
            assert await member.committed([]) == {}

    simulate(program)


def test_a_commit_that_nobody_answers_ends_at_its_timeout() -> None:
    async def program(world: World) -> None:
        async with world.member(request_timeout_ms=1_000) as member:
            await member.join()
            await assigned(member)
            rule = world.cluster.faults.on(ApiKey.OFFSET_COMMIT, DROP_RESPONSE)
            with pytest.raises(OperationTimeoutError, match=r"commit offsets of the group \(app\) within 3000 ms"):
                await member.commit({FIRST: 1}, timeout=3)
            world.cluster.faults.remove(rule)
            await member.commit({FIRST: 1})

    simulate(program)


def test_a_commit_is_repeated_when_its_response_is_lost() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            world.cluster.faults.on(ApiKey.OFFSET_COMMIT, LOSE_RESPONSE, times=1)
            await member.commit({FIRST: 4})
            assert (await member.committed([FIRST]))[FIRST] == OffsetAndMetadata(4)

    simulate(program)


def test_the_offset_of_a_topic_that_was_made_again_is_refused_until_the_program_asks_where_to_begin() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            await member.commit({FIRST: 20})
            world.cluster.delete_topic(TOPIC)
            world.cluster.create_topic(TOPIC, world.partitions)
            for _ in range(2):
                with pytest.raises(
                    UnknownTopicIdError, match=r"deleted and created again .* Call `committed`"
                ) as raised:
                    await member.commit({FIRST: 21})
                assert not raised.value.retriable
            assert await member.committed([FIRST]) == {FIRST: None}
            await member.commit({FIRST: 3})
            assert (await member.committed([FIRST]))[FIRST] == OffsetAndMetadata(3)

    simulate(program)


def test_a_task_that_is_given_up_and_comes_back_commits_offsets_of_the_topic_of_then() -> None:
    async def program(world: World) -> None:
        async with world.member() as member, world.member() as other:
            await member.join()
            await assigned(member)
            places = {TopicPartition(TOPIC, each.partition): 20 for each in member.tasks.active}
            await member.commit(places)
            await other.join()
            await assigned(member, 1)
            kept = {TopicPartition(TOPIC, each.partition) for each in member.tasks.active}
            world.cluster.delete_topic(TOPIC)
            world.cluster.create_topic(TOPIC, world.partitions)
            await other.close()
            await assigned(member)
            (returned,) = places.keys() - kept
            await member.commit({returned: 3})
            assert (await member.committed([returned]))[returned] == OffsetAndMetadata(3)
            with pytest.raises(UnknownTopicIdError):
                await member.commit(dict.fromkeys(kept, 21))

    simulate(program)


def test_metadata_that_are_behind_cost_a_request() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            world.cluster.delete_topic(TOPIC)
            world.cluster.create_topic(TOPIC, world.partitions)
            await member.commit({FIRST: 3})
            assert (await member.committed([FIRST]))[FIRST] == OffsetAndMetadata(3)

    simulate(program)


def test_a_topic_that_was_deleted_takes_no_offset() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            await member.commit({FIRST: 20})
            world.cluster.delete_topic(TOPIC)
            with pytest.raises(UnknownTopicIdError):
                await member.commit({FIRST: 21})

    simulate(program)


def test_a_partition_that_does_not_exist_is_an_error() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            with pytest.raises(UnknownTopicOrPartitionError, match="nowhere-3"):
                await member.commit({TopicPartition("nowhere", 3): 1})

    simulate(program)


@pytest.mark.parametrize("offset", [-1, True, "7", 2**63, OffsetAndMetadata(-5)])
def test_an_offset_is_a_number(offset: Any) -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            with pytest.raises(ConfigurationError, match=r"flights-0 is invalid\. Use a whole number of 0 or more"):
                await member.commit({FIRST: offset})

    simulate(program)


def test_only_what_was_given_up_is_confirmed() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            wrong: Any = StatusesChanged(())
            with pytest.raises(ConfigurationError, match="needs no confirmation"):
                member.confirm(wrong)

    simulate(program)


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (UnprintableError(), "UnprintableError: its text cannot be shown, because str.. of it raises RuntimeError$"),
        (ValueError("x" * 5_000_000), "ValueError: x{2000}…$"),
        (KeyError(), "KeyError$"),
    ],
    ids=["unprintable", "vast", "empty"],
)
def test_the_error_of_task_offsets_is_told_whatever_its_class_does(error: Exception, told: str) -> None:
    def failing() -> Mapping[TaskId, TaskPosition]:
        raise error

    async def program(world: World) -> None:
        async with world.member(topology=KEEPING, task_offsets=failing) as member:
            await member.join()
            with pytest.raises(IllegalStateError, match=f"^task_offsets failed, .* offsets before: {told}") as raised:
                await assigned(member)
            assert raised.value.__cause__ is error

    simulate(program)


def test_a_member_that_is_forgotten_lets_go_of_its_connections() -> None:
    async def program(world: World) -> None:
        held = [world.member()]
        await held[0].join()
        await assigned(held[0])
        with pytest.warns(ResourceWarning, match="was not closed"):
            forget(held)
        while world.network.open_connections:  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0.1)

    simulate(program)


def test_brokers_that_never_answer_are_an_error() -> None:
    async def program(world: World) -> None:
        async with world.member(bootstrap_servers="127.0.0.1:9", default_api_timeout_ms=2_000) as member:
            await member.join()
            with pytest.raises(BootstrapError):
                await member.poll(60)

    simulate(program)


def test_a_member_belongs_to_one_event_loop() -> None:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        cluster.create_topic(TOPIC)
        member = AsyncStreamsGroupMember(
            bootstrap_servers=cluster.bootstrap_servers, application_id="app", topology=TOPOLOGY
        )
        with asyncio.Runner() as runner:
            runner.run(member.join())
            runner.run(member.poll())
            with asyncio.Runner() as other, pytest.raises(IllegalStateError, match="belongs to another event loop"):
                other.run(member.poll(0))
            runner.run(member.close())


def test_tasks_go_on_when_the_coordinator_restarts() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            rule = world.cluster.faults.on(ApiKey.STREAMS_GROUP_HEARTBEAT, LOSE_RESPONSE, times=3)
            while rule.hits < 3:
                for event in await member.poll(1):
                    assert not isinstance(event, TasksRevoked)
            await member.poll(5)
            assert member.tasks.active == {TaskId("0", 0), TaskId("0", 1)}
            assert member.state is MembershipState.STABLE

    simulate(program)


@pytest.mark.parametrize(("given", "timeout_s"), [({}, 5), ({"close_timeout": 0.5}, 0.5)])
def test_the_end_of_a_with_statement_does_not_wait_long_for_brokers_that_are_down(
    given: dict[str, float], timeout_s: float
) -> None:
    async def program(world: World) -> None:
        async with world.member(**given) as member:
            await member.join()
            await assigned(member)
            await world.cluster.stop_broker_async(1)
            before_ms = world.simulation.clock.now_ms()
        assert timeout_s * 1000 - 1 <= world.simulation.clock.now_ms() - before_ms <= timeout_s * 1000 + 1
        await world.cluster.start_broker_async(1)

    simulate(program)


@pytest.mark.parametrize("wrong", [-1, "5", None])
def test_the_timeout_of_close_is_checked(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"close_timeout={wrong!r} is"):
        AsyncStreamsGroupMember(bootstrap_servers="b:1", application_id="a", topology=TOPOLOGY, close_timeout=wrong)
