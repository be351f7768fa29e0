"""Assignors of applications (KIP-924) on the embedded broker over TCP, in real time."""

import asyncio
import threading

import pytest
from attrs import frozen

from kafka_groups.assignment import (
    ApplicationState,
    AssignedTask,
    KafkaStreamsAssignment,
    Registered,
    TaskAssignment,
)
from tests.support.members.assignor_scene import GROUP, TOPOLOGY, tasks, with_assignors
from tests.support.members.streams_member import StreamsMember, described_streams

LIMIT_S = 30


def to_first_process(state: ApplicationState) -> TaskAssignment:
    """Give all tasks to the process with the lowest id."""
    first, *others = state.kafka_streams_states(compute_task_lags=False)
    mine = KafkaStreamsAssignment.of(first, map(AssignedTask.active, state.all_tasks))
    return TaskAssignment([mine, *map(KafkaStreamsAssignment.of, others)])


@frozen
class Hanging:
    """An assignor that returns when it is let go."""

    let_go: threading.Event

    def __call__(self, state: ApplicationState) -> TaskAssignment:
        if not self.let_go.wait(LIMIT_S):
            raise TimeoutError
        return to_first_process(state)


async def assigned(member: StreamsMember) -> frozenset[tuple[str, int]]:
    """Send heartbeats until the member gets tasks."""
    async with asyncio.timeout(LIMIT_S):
        while (beat := await member.beat()).active is None:
            assert beat.error == "NONE"
        return beat.active


@pytest.mark.parametrize(
    "assignor",
    [to_first_process, Registered(to_first_process, name="mine"), f"{__name__}:to_first_process", "highly_available"],
    ids=["function", "registered", "place", "built in"],
)
async def test_a_group_uses_an_assignor_of_applications(assignor: object) -> None:
    async with with_assignors(assignor) as scene:
        member = scene.member("a")
        await member.join(TOPOLOGY)
        assert await assigned(member) == tasks(0, 1, 2, 3)


async def test_a_group_changes_its_assignor_at_run_time() -> None:
    async with with_assignors(to_first_process, "highly_available") as scene:
        first, second = scene.member("a"), scene.member("b")
        await first.join(TOPOLOGY)
        assert await assigned(first) == tasks(0, 1, 2, 3)
        scene.cluster.alter_group_configs(GROUP, {"streams.assignor.name": "highly_available"})
        assert (await described_streams(scene.client, GROUP)).assignor_name == "highly_available"
        await second.join(TOPOLOGY)
        assert len(await assigned(first)) == 2


async def test_heartbeats_go_on_while_an_assignor_hangs_and_it_is_given_up() -> None:
    hanging = Hanging(threading.Event())
    async with with_assignors(
        Registered(hanging, name="hanging"), "sticky", **{"group.streams.assignor.timeout.ms": 50}
    ) as scene:
        member = scene.member("a")
        await member.join(TOPOLOGY)
        for _ in range(100):
            beat = await member.beat()
            assert (beat.error, beat.active) == ("NONE", None)
        scene.cluster.alter_group_configs(GROUP, {"streams.assignor.name": "sticky"})
        assert await assigned(member) == tasks(0, 1, 2, 3), "another assignor is not held up"
        hanging.let_go.set()


async def test_a_cluster_stops_while_an_assignor_hangs() -> None:
    hanging = Hanging(threading.Event())
    async with with_assignors(Registered(hanging, name="hanging")) as scene:
        await scene.member("a").join(TOPOLOGY)
    hanging.let_go.set()
