"""One simulated run of a consumer group with static and dynamic members, and its verdict."""

import asyncio
from collections.abc import Callable

from attrs import evolve, frozen

from kafka_groups.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_groups.testing.simulation import (
    SeededFaults,
    SimulatedWorld,
    SimulationFailedError,
    SimulationReport,
    simulate,
)
from tests.simulation.coincidences import counted
from tests.simulation.consumer.deployment import Deployment
from tests.simulation.consumer.ledger import ConsumerLedger, consumer_ledger
from tests.simulation.consumer.member import Member
from tests.simulation.consumer.membership import GROUP
from tests.simulation.consumer.topics import TOPICS
from tests.simulation.groups.coordination import (
    is_steady,
    link_to,
    move_coordinator,
    read_offsets,
    within,
)
from tests.simulation.groups.timing import SESSION_S
from tests.simulation.groups.topics import add_partition

__all__ = ["FAULTS", "run_consumer_world"]

FAULTY_S, CALM_S, TAKE_OVER_S = 120, 120, 30
STEADY_S = SESSION_S + 3
HEARD_S = 8
"""So long after a move, every member has found the new coordinator. Who leaves before that may not find it."""
FAULTS = SeededFaults(
    seconds=FAULTY_S,
    leader_moved=0,
    slow_broker=2,
    coordinator_moved=3,
    broker_killed=2,
    process_killed=2,
    refused_append=3,
    half_dead_connection=2,
)
_SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_S * 1000),
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "2000",
}


@frozen
class _Run:
    """The parts of a run."""

    world: SimulatedWorld
    ledger: ConsumerLedger
    deployment: Deployment

    def complain(self, text: str) -> None:
        self.world.violations.append(text)


def run_consumer_world(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> SimulationReport:
    """Run one seed; each event is also written as a line."""
    try:
        return simulate(_run, seed, faults=FAULTS, settings=_SETTINGS, write_event=write_event)
    except SimulationFailedError as error:
        return error.report


async def _run(world: SimulatedWorld) -> None:
    for name, partitions in TOPICS.items():
        world.cluster.create_topic(name, partitions)
    ledger = consumer_ledger(world)
    run = _Run(world, ledger, Deployment(world))
    ledger.watch()
    run.deployment.refusal.install()
    run.deployment.crew.start_all()
    supervising = asyncio.create_task(run.deployment.crew.supervise())
    with counted(world.struck):
        await run.deployment.disturb()
        await world.settle()
        await _settled(run)
    supervising.cancel()


async def _settled(run: _Run) -> None:
    """Wait until every partition has an owner, and restart every instance: nothing may move."""
    if not await is_steady(lambda: run.deployment.is_calm, lambda: run.ledger.changes, STEADY_S, CALM_S):
        members = run.deployment.crew.members()
        run.complain(f"not settled after {CALM_S} s: {members}, wanted {len(run.deployment.subscribed())} partitions")
        return
    await _expect_state(run, "Stable")
    await _restart_quietly(run)
    move_coordinator(run.world, GROUP)
    await asyncio.sleep(HEARD_S)
    await _restart_quietly(run)
    await _grow_quietly(run)
    await _expect_state(run, "Stable")
    await read_offsets(run.world, GROUP)


async def _restart_quietly(run: _Run) -> None:
    """Stop each instance and start it again. It gets its place back, and nobody else notices."""
    for before in [each for each in run.deployment.crew.members() if each.seat.instance is not None]:
        await _restart_one(run, before)


async def _restart_one(run: _Run, before: Member) -> None:
    others = [each for each in run.deployment.crew.members() if each is not before]
    were = [(each.membership.epoch, each.membership.owned) for each in others]
    epoch, owned = before.membership.epoch, before.membership.owned
    for each in run.deployment.crew.running(before.seat.name):
        await each.process.stop()
    process = run.deployment.crew.start(evolve(before.seat, subscription=before.membership.subscription))
    if not await within(TAKE_OVER_S, lambda: process.member is not None and process.member.is_in):
        run.complain(f"{before.seat.name} did not come back")
        return
    after = process.member
    assert after is not None
    if (after.membership.epoch, after.membership.owned) != (epoch, owned):
        run.complain(f"the restart of {before.seat.name} moved something: {after}, and before {epoch}, {owned}")
    if [(each.membership.epoch, each.membership.owned) for each in others] != were:
        run.complain(f"the restart of {before.seat.name} moved something of others: {others}")


async def _grow_quietly(run: _Run) -> None:
    """Let a topic grow. The new partition gets an owner."""
    await add_partition(run.world, GROUP, next(iter(TOPICS)))
    if not await within(TAKE_OVER_S, lambda: run.deployment.is_calm):
        run.complain(f"the new partition has no owner: {run.deployment.crew.members()}")


async def _expect_state(run: _Run, state: str) -> None:
    """Ask for the state of the group."""
    link = link_to(run.world, GROUP, "reader")
    await link.find(0)
    [group] = (
        await link.ask(ConsumerGroupDescribeRequest(group_ids=(GROUP,), include_authorized_operations=False), 1)
    ).groups
    link.close()
    if group.group_state != state or len(group.members) != len(run.deployment.crew.seats):
        run.complain(f"the group is {group.group_state} with {len(group.members)} members")
