"""Members of a classic group with a leader of their own, against an embedded cluster in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kafka_groups.admin.rules.group_topology.group_topology import ChangelogTopic, RepartitionTopic
from kafka_groups.admin.rules.group_topology.topology_builder import GroupTopologyBuilder
from kafka_groups.admin.rules.streams_leader.group_round import LeaderSettings
from kafka_groups.streams import AsyncStreamsGroupMember, MembershipState, StatusesChanged, TasksAssigned
from kafka_groups.streams.member.classic.classic_settings import ClassicSettings
from kafka_groups.streams.member.classic_membership import classic_membership
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import TaskId
from tests.unit.streams.member.clusters import TOPIC, World

__all__ = [
    "ALL",
    "COUNTING",
    "MEMBERSHIP",
    "SETTINGS",
    "at_once",
    "member",
    "owned",
    "poll",
    "shared",
    "simulate",
    "until",
]

T = TypeVar("T")
Program = Callable[[World], Awaitable[None]]
SETTINGS = ClassicSettings(session_ms=6_000, heartbeat_ms=1_000)
COUNTING = (
    GroupTopologyBuilder()
    .add_subtopology("0", sources=[TOPIC], sinks=["app-words-repartition"])
    .add_subtopology(
        "1",
        repartition_sources=[RepartitionTopic("app-words-repartition")],
        changelogs=[ChangelogTopic("app-counts-changelog", {"cleanup.policy": "compact"})],
    )
    .build()
)
ALL = {TaskId(each, number) for each in "01" for number in range(2)}


async def at_once(function: Callable[[], T]) -> T:
    """A simulation has no threads."""
    await asyncio.sleep(0)
    return function()


MEMBERSHIP = classic_membership(SETTINGS, LeaderSettings(application_id="app"), 60_000, at_once)


def member(world: World, **config: Any) -> AsyncStreamsGroupMember:
    return world.member(**{"topology": COUNTING, "_membership_of": MEMBERSHIP, **config})


def simulate(program: Program, seed: int = 1, **cluster: int) -> None:
    async def run(simulation: Simulation) -> None:
        async with World(simulation, **cluster) as made:
            await program(made)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        assert not tasks, tasks
        await asyncio.sleep(0)
        assert made.network.open_connections == 0

    run_simulated(run, seed, limit_s=7200)


async def poll(*members: AsyncStreamsGroupMember) -> None:
    """Take and confirm the events of members."""
    for each in members:
        for event in await each.poll(0):
            if not isinstance(event, TasksAssigned | StatusesChanged):
                each.confirm(event)
    await asyncio.sleep(0.1)


async def until(found: Callable[[], bool], *members: AsyncStreamsGroupMember) -> None:
    async with asyncio.timeout(120):
        while not found():
            await poll(*members)


def owned(*members: AsyncStreamsGroupMember) -> list[set[TaskId]]:
    return [set(each.tasks.active) for each in members]


def shared(*members: AsyncStreamsGroupMember) -> bool:
    """Whether the members are stable and have all tasks, each of them some."""
    its = owned(*members)
    stable = all(each.state is MembershipState.STABLE for each in members)
    return stable and all(its) and set().union(*its) == ALL and sum(map(len, its)) == len(ALL)
