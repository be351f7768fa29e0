"""A member during outages: what its state, its commits and its log say."""

import asyncio
import logging
import math
from contextlib import nullcontext

import pytest

from kafka_groups.broker.faults import DROP_CONNECTION, LOSE_RESPONSE, answer
from kafka_groups.errors import BrokerError, OperationTimeoutError, TasksLostError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.streams import AsyncStreamsGroupMember, MembershipState, TasksAssigned, TasksLost, TasksRevoked
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.unit.streams.member.clusters import TOPIC, World
from tests.unit.streams.member.test_aio import FIRST, assigned, simulate

SESSION_S = 45


def state_of(member: AsyncStreamsGroupMember) -> MembershipState:
    """A function, because mypy takes an attribute that was compared for constant."""
    return member.state


async def close_lost(member: AsyncStreamsGroupMember) -> None:
    """Poll until tasks are lost, and confirm that they are closed."""
    lost = False
    while not lost:
        for event in await member.poll(60):
            if isinstance(event, TasksLost | TasksRevoked):
                member.confirm(event)
                lost = True


def test_a_member_says_that_no_broker_answers_and_survives_it(caplog: pytest.LogCaptureFixture) -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            assert state_of(member) is MembershipState.UNJOINED
            await member.join()
            await assigned(member)
            await member.poll(5)
            await world.cluster.stop_broker_async(1)
            await member.poll(5)
            assert state_of(member) is MembershipState.UNREACHABLE
            assert len(member.tasks.active) == 2
            gauges = member.metrics()
            assert gauges["state"] == list(MembershipState).index(MembershipState.UNREACHABLE)
            assert 3 <= gauges["unreachable-seconds"] <= 5
            await world.cluster.start_broker_async(1)
            while state_of(member) is MembershipState.UNREACHABLE:
                await member.poll(1)
            assert member.metrics()["unreachable-seconds"] == 0
            await assigned(member)
            assert state_of(member) in (MembershipState.STABLE, MembershipState.ACKNOWLEDGING)

    simulate(program)


@pytest.mark.parametrize("fault", [DROP_CONNECTION, LOSE_RESPONSE])
def test_a_commit_is_retried_until_its_timeout(fault: object) -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            world.cluster.faults.on(ApiKey.OFFSET_COMMIT, fault, times=5)  # type: ignore[arg-type]
            await member.commit({FIRST: 4})
            assert (await member.committed([FIRST]))[FIRST] == OffsetAndMetadata(4)

    simulate(program)


def test_a_commit_outlasts_a_broker_that_is_restarted() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            await world.cluster.stop_broker_async(1)
            commit = asyncio.create_task(member.commit({FIRST: 4}))
            await asyncio.sleep(20)
            assert not commit.done()
            await world.cluster.start_broker_async(1)
            await commit
            assert (await member.committed([FIRST]))[FIRST] == OffsetAndMetadata(4)
            assert member.metrics()["commit-total"] == 1
            assert member.metrics()["commit-latency-max"] >= 20_000

    simulate(program)


def test_a_commit_fails_when_the_outage_outlasts_it_and_the_next_one_works() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            await world.cluster.stop_broker_async(1)
            with pytest.raises(OperationTimeoutError, match="within 3000 ms"):
                await member.commit({FIRST: 4}, timeout=3)
            await world.cluster.start_broker_async(1)
            await member.commit({FIRST: 4})

    simulate(program)


def test_a_commit_that_outlasts_the_membership_is_not_sent_in_the_next_life() -> None:
    """Another task of the program polls meanwhile: the member is fenced, rejoins, and has another epoch."""

    async def program(world: World) -> None:
        async with world.member(max_poll_interval_ms=10_000) as member:
            await member.join()
            await assigned(member)
            rule = world.cluster.faults.on(ApiKey.OFFSET_COMMIT, DROP_CONNECTION)
            commit = asyncio.create_task(member.commit({FIRST: 4}, timeout=60))
            await asyncio.sleep(11)  # nobody polls
            assert state_of(member) is MembershipState.STALE
            await close_lost(member)
            await assigned(member)
            world.cluster.faults.remove(rule)
            with pytest.raises(TasksLostError):
                await commit
            assert (await member.committed([FIRST]))[FIRST] is None

    simulate(program)


def test_the_error_says_what_to_do_when_tasks_are_lost() -> None:
    async def program(world: World) -> None:
        async with world.member(max_poll_interval_ms=1_000) as member:
            await member.join()
            await assigned(member)
            await asyncio.sleep(2)
            for call in (member.commit({FIRST: 4}), member.committed([FIRST])):
                with pytest.raises(TasksLostError, match=r"not in the group \(state 'stale'\).*Call poll"):
                    await call
            with pytest.raises(TasksLostError, match="Call poll"):
                member.group_metadata()
            await close_lost(member)
            await assigned(member)
            await member.commit({FIRST: 4})

    simulate(program)


def test_the_log_says_which_tasks_come_and_go(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka_groups.group")

    async def program(world: World) -> None:
        async with world.member(max_poll_interval_ms=10_000) as first:
            await first.join()
            await assigned(first)
            async with world.member() as second:
                await second.join()
                while len(second.tasks.active) != 1:
                    await second.poll(0.5)
                    for event in await first.poll(0.5):
                        if isinstance(event, TasksRevoked):
                            first.confirm(event)
            await asyncio.sleep(11)
            await close_lost(first)

    simulate(program)
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    for start in ("Tasks assigned to member app/", "Tasks revoked from member app/", "Tasks closed by member app/"):
        assert any(each.startswith(start) and each.endswith(("0_0.", "0_1.", "0_0, 0_1.")) for each in told), told
    assert any(each.startswith("Tasks lost by member app/") for each in told), told


def test_the_metrics_follow_a_life_that_is_known() -> None:
    async def program(world: World) -> None:
        async with world.member(max_poll_interval_ms=10_000) as member:
            before = member.metrics()
            assert before["state"] == before["active-tasks"] == before["heartbeat-total"] == 0
            assert before["last-poll-seconds-ago"] == before["last-rebalance-seconds-ago"] == -1
            assert math.isnan(before["commit-latency-avg"])
            assert all(isinstance(value, float) for value in before.values())
            await member.join()
            events = await member.poll()
            while not any(isinstance(event, TasksAssigned) for event in events):
                events = await member.poll()
            await asyncio.sleep(2)  # the program restores its stores
            await member.poll(1)
            await member.commit({TopicPartition(TOPIC, 0): 1})
            metrics = member.metrics()
            assert metrics["tasks-assigned-total"] == metrics["active-tasks"] == 2
            assert metrics["tasks-assigned-latency-max"] == metrics["tasks-assigned-latency-avg"] == 2_000
            assert metrics["time-between-poll-max"] >= 2_000
            assert metrics["rebalance-total"] == metrics["commit-total"] == 1
            assert metrics["heartbeat-total"] > 2
            assert 0 <= metrics["last-heartbeat-seconds-ago"] < 5
            await asyncio.sleep(11)
            for event in await member.poll(0):
                assert isinstance(event, TasksLost)
                await asyncio.sleep(1)
                member.confirm(event)
            lost = member.metrics()
            assert (lost["tasks-lost-total"], lost["tasks-lost-latency-max"]) == (2, 1_000)
            assert (lost["active-tasks"], lost["tasks-revoked-total"]) == (0, 0)

    simulate(program)


def test_a_rebalance_during_which_the_tasks_are_lost_counts_as_failed_for_a_while() -> None:
    async def program(world: World) -> None:
        async with world.member() as first:
            await first.join()
            await assigned(first)
            async with world.member() as second:
                await second.join()
                while not (revoked := [event for event in await first.poll(1) if isinstance(event, TasksRevoked)]):
                    await second.poll(0)
                assert first.metrics()["failed-rebalance-rate-per-hour"] == 0  # it has not ended
                world.cluster.faults.on(ApiKey.STREAMS_GROUP_HEARTBEAT, answer(ErrorCode.UNKNOWN_MEMBER_ID), times=1)
                while not (lost := [event for event in await first.poll(1) if isinstance(event, TasksLost)]):
                    await second.poll(0)
                soon = first.metrics()
                assert soon["failed-rebalance-total"] == 1
                assert 116 <= soon["failed-rebalance-rate-per-hour"] <= 120  # one in the window of 30 seconds
                await asyncio.sleep(15)
                later = first.metrics()["failed-rebalance-rate-per-hour"]
                assert later == pytest.approx(3_600 / (3_600 / soon["failed-rebalance-rate-per-hour"] + 15))
                await asyncio.sleep(60)
                old = first.metrics()
                assert (old["failed-rebalance-total"], old["failed-rebalance-rate-per-hour"]) == (1, 0)
                for each in revoked:
                    first.confirm(each)
                for every in lost:
                    first.confirm(every)

    simulate(program)


def test_a_program_that_does_not_confirm_lost_tasks_is_warned_again_and_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "kafka_groups")

    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            world.cluster.faults.on(ApiKey.STREAMS_GROUP_HEARTBEAT, answer(ErrorCode.UNKNOWN_MEMBER_ID), times=1)
            (lost,) = await member.poll(60)
            assert isinstance(lost, TasksLost)
            assert member.metrics()["failed-rebalance-rate-per-hour"] == 0  # it had its tasks: no rebalance failed
            await member.poll(1000)
            gauges = member.metrics()
            assert gauges["unconfirmed-tasks"] == 2
            assert 995 <= gauges["unconfirmed-seconds"] <= 1001
            assert sum("to confirm that it has closed" in each for each in caplog.messages) == 5
            member.confirm(lost)
            await assigned(member)
            assert (member.metrics()["unconfirmed-tasks"], member.metrics()["unconfirmed-seconds"]) == (0, 0)

    simulate(program)


@pytest.mark.parametrize(
    ("code", "expected"),
    [(ErrorCode.NONE, None), (ErrorCode.UNKNOWN_MEMBER_ID, None), (ErrorCode.FENCED_INSTANCE_ID, BrokerError)],
)
def test_a_member_asks_its_group_whether_it_is_still_there(code: ErrorCode, expected: type[Exception] | None) -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            if code is not ErrorCode.NONE:
                world.cluster.faults.on(ApiKey.STREAMS_GROUP_HEARTBEAT, answer(code), times=1)
            begun_ms = world.simulation.clock.now_ms()
            with nullcontext() if expected is None else pytest.raises(expected):
                await member._ask_group(2)
            assert world.simulation.clock.now_ms() - begun_ms < 1_000, "the answer ends the wait"
            states = {
                ErrorCode.NONE: {MembershipState.STABLE, MembershipState.ACKNOWLEDGING},
                ErrorCode.UNKNOWN_MEMBER_ID: {MembershipState.FENCED},
                ErrorCode.FENCED_INSTANCE_ID: {MembershipState.FATAL},
            }
            assert state_of(member) in states[code]

    simulate(program)


def test_a_group_that_does_not_answer_is_asked_for_a_limited_time() -> None:
    async def program(world: World) -> None:
        async with world.member() as member:
            await member.join()
            await assigned(member)
            await world.cluster.stop_broker_async(1)
            begun_ms = world.simulation.clock.now_ms()
            await member._ask_group(2)
            assert world.simulation.clock.now_ms() - begun_ms == 2_000
            await world.cluster.start_broker_async(1)

    simulate(program)
