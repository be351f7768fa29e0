"""One simulated run of a consumer group with static and dynamic members, and its verdict."""

from collections.abc import Callable
from functools import partial

from kafka_groups.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_groups.testing.simulation import SimulatedWorld, SimulationReport, simulate
from tests.simulation.consumer.deployment import consumer_deployment
from tests.simulation.consumer.ledger import consumer_ledger
from tests.simulation.consumer.member import Member
from tests.simulation.consumer.membership import GROUP, Seat
from tests.simulation.consumer.topics import TOPICS
from tests.simulation.groups.coordination import within
from tests.simulation.groups.epochs.deployment import EpochDeployment
from tests.simulation.groups.epochs.play import play
from tests.simulation.groups.epochs.settled_groups import TAKE_OVER_S, SettledGroups
from tests.simulation.groups.faults import faults_for
from tests.simulation.groups.timing import SESSION_S
from tests.simulation.groups.topics import add_partition
from tests.simulation.reporting import report_of

__all__ = ["run_consumer_world"]

_FAULTS = faults_for(120)
_SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_S * 1000),
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "2000",
}
_DESCRIBE = ConsumerGroupDescribeRequest(group_ids=(GROUP,), include_authorized_operations=False)


def run_consumer_world(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> SimulationReport:
    """Run one seed; each event is also written as a line."""
    return report_of(partial(simulate, _run, seed, faults=_FAULTS, settings=_SETTINGS, write_event=write_event))


async def _run(world: SimulatedWorld) -> None:
    for name, partitions in TOPICS.items():
        world.cluster.create_topic(name, partitions)
    deployment = consumer_deployment(world)
    changes = (partial(_grow_quietly, world, deployment),)
    await play(SettledGroups(world, consumer_ledger(world), deployment, GROUP, _DESCRIBE, changes))


async def _grow_quietly(world: SimulatedWorld, deployment: EpochDeployment[Seat, Member]) -> None:
    """Let a topic grow. The new partition gets an owner."""
    await add_partition(world, GROUP, next(iter(TOPICS)))
    if not await within(TAKE_OVER_S, lambda: deployment.is_calm):
        world.violations.append(f"the new partition has no owner: {deployment.crew.members()}")
