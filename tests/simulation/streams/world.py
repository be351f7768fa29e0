"""One simulated run of a streams group with static and dynamic members, and its verdict."""

import asyncio
from collections.abc import Callable

from kafka_groups.testing.simulation import (
    SeededFaults,
    SimulatedWorld,
    SimulationFailedError,
    SimulationReport,
    simulate,
)
from tests.simulation.coincidences import counted
from tests.simulation.groups.timing import SESSION_S
from tests.simulation.streams.deployment import Deployment
from tests.simulation.streams.ledger import streams_ledger
from tests.simulation.streams.settled import HEARTBEAT_S, Settled
from tests.simulation.streams.topics import SOURCES

__all__ = ["FAULTS", "run_streams_world"]

FAULTY_S = 120
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
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.session.timeout.ms": str(SESSION_S * 1000),
    "group.streams.min.heartbeat.interval.ms": "1000",
    "group.streams.heartbeat.interval.ms": str(HEARTBEAT_S * 1000),
}
_WITH_DELAYS = {"group.streams.initial.rebalance.delay.ms": "3000", "group.streams.assignment.interval.ms": "1000"}
_AT_ONCE = {"group.streams.initial.rebalance.delay.ms": "0", "group.streams.assignment.interval.ms": "0"}


def run_streams_world(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> SimulationReport:
    """Run one seed; each event is also written as a line. Every third run assigns tasks after Kafka's delays only."""
    delays = _AT_ONCE if seed % 3 else _WITH_DELAYS
    try:
        return simulate(_run, seed, faults=FAULTS, settings={**_SETTINGS, **delays}, write_event=write_event)
    except SimulationFailedError as error:
        return error.report


async def _run(world: SimulatedWorld) -> None:
    for name, partitions in SOURCES.items():
        world.cluster.create_topic(name, partitions)
    ledger, deployment = streams_ledger(world), Deployment(world)
    ledger.watch()
    deployment.refusal.install()
    deployment.crew.start_all()
    supervising = asyncio.create_task(deployment.crew.supervise())
    with counted(world.struck):
        await deployment.disturb()
        await world.settle()
        await Settled(world, ledger, deployment, supervising).check()
    supervising.cancel()
