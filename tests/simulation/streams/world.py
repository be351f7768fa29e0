"""One simulated run of a streams group with static and dynamic members, and its verdict."""

from collections.abc import Callable
from functools import partial

from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafka_groups.testing.simulation import SimulatedWorld, SimulationReport, simulate
from tests.simulation.groups.epochs.play import play
from tests.simulation.groups.epochs.settled_groups import SettledGroups
from tests.simulation.groups.faults import faults_for
from tests.simulation.groups.timing import SESSION_S
from tests.simulation.reporting import report_of
from tests.simulation.streams.deployment import streams_deployment
from tests.simulation.streams.ledger import streams_ledger
from tests.simulation.streams.settled import HEARTBEAT_S, StreamsChanges
from tests.simulation.streams.topics import GROUP, SOURCES

__all__ = ["AT_ONCE", "DESCRIBE", "FAULTS", "SETTINGS", "run_streams_world"]

FAULTS = faults_for(120)
SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.session.timeout.ms": str(SESSION_S * 1000),
    "group.streams.min.heartbeat.interval.ms": "1000",
    "group.streams.heartbeat.interval.ms": str(HEARTBEAT_S * 1000),
}
_WITH_DELAYS = {"group.streams.initial.rebalance.delay.ms": "3000", "group.streams.assignment.interval.ms": "1000"}
AT_ONCE = {"group.streams.initial.rebalance.delay.ms": "0", "group.streams.assignment.interval.ms": "0"}
DESCRIBE = StreamsGroupDescribeRequest(group_ids=(GROUP,))


def run_streams_world(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> SimulationReport:
    """Run one seed; each event is also written as a line. Every third run assigns tasks after Kafka's delays only."""
    settings = SETTINGS | (AT_ONCE if seed % 3 else _WITH_DELAYS)
    return report_of(partial(simulate, _run, seed, faults=FAULTS, settings=settings, write_event=write_event))


async def _run(world: SimulatedWorld) -> None:
    for name, partitions in SOURCES.items():
        world.cluster.create_topic(name, partitions)
    deployment = streams_deployment(world)
    changes = StreamsChanges(world, deployment).in_order()
    await play(SettledGroups(world, streams_ledger(world), deployment, GROUP, DESCRIBE, changes))
