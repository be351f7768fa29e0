"""One simulated run of our own: members that do everything that members may do, and moves at the worst moments."""

import asyncio
import random
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from attrs import define, field

from kafka_groups.broker.metadata.placement import GROUP_TOPIC, partition_of_key
from kafka_groups.testing.simulation import (
    SeededFaults,
    SimulatedWorld,
    SimulationReport,
    simulate,
)
from kafka_groups.testing.simulation.checks.ledger import GroupLedger, shown
from tests.simulation.coincidences import counted
from tests.simulation.coordinated import Coordinated
from tests.simulation.member import Member
from tests.simulation.reporting import report_of

T = TypeVar("T")

LOCK_MS = 5_000
GROUP, TOPIC, BROKERS, MEMBERS = "workers", "jobs", 3, 5
PARTITIONS = (2, 6)
"""A run has one of these numbers: members share partitions, or most have one for themselves."""

FAULTY_S, SETTLING_S, QUIET_S = 420, 150, 30
"""Seven virtual minutes of work and faults, at most two and a half to settle, half a minute that must be quiet."""

FAULTS = SeededFaults(seconds=FAULTY_S, leader_moved=2, broker_killed=2)
SETTINGS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.max.delivery.count.limit": "10",
}
GROUP_CONFIGS = {
    "share.auto.offset.reset": "earliest",
    "share.record.lock.duration.ms": str(LOCK_MS),
    "share.session.timeout.ms": "10000",
    "share.heartbeat.interval.ms": "2000",
    "share.delivery.count.limit": "10",
}
_KINDS: tuple[dict[str, object], ...] = (
    {},
    {},
    {"acknowledgement_mode": "explicit"},
    {"acknowledgement_mode": "explicit", "auto_renew": True},
)


@define
class Run:
    """The parts of a run."""

    world: SimulatedWorld
    coordinated: Coordinated
    members: list[Member] = field(factory=list)

    @property
    def rng(self) -> random.Random:
        """Source of all randomness."""
        return self.world.rng

    @property
    def ledger(self) -> GroupLedger:
        """What the wire shows of the group."""
        return self.world.tap.ledger(GROUP)


def run_world(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> SimulationReport:
    """Run one seed; each event is also written as a line."""
    return report_of(
        partial(simulate, _run, seed, faults=FAULTS, brokers=BROKERS, settings=SETTINGS, write_event=write_event)
    )


async def _run(world: SimulatedWorld) -> None:
    topic = world.cluster.create_topic(TOPIC, world.rng.choice(PARTITIONS))
    world.cluster.alter_group_configs(GROUP, GROUP_CONFIGS)
    run = Run(world, Coordinated(world.cluster, GROUP, topic.topic_id, len(topic.partitions)))
    acts = world._stage.chaos.acts
    acts["leader_moved"], acts["broker_killed"] = partial(_move_leader, run), partial(_kill_broker, run)
    with counted(world.struck):
        processes = [world.start(_live, run, name=f"member-{number}") for number in range(MEMBERS)]
        await asyncio.gather(_produce(run), _move_at_first(run))
        await world.settle(within_s=SETTLING_S)
        await _expect_quiet(run)
        for process in processes:
            await process.stop()
    _judge(run)


async def _live(run: Run) -> None:
    """One life of a member: each has another name, configuration and randomness."""
    keywords = {
        "group_id": GROUP,
        "max_poll_interval_ms": 60_000,
        "max_poll_records": run.rng.choice((500, 5, 5)),
        **run.rng.choice(_KINDS),
    }
    name = f"member-{len(run.members)}"
    run.members.append(Member(name, run.world, random.Random(run.rng.random()), keywords, lock_ms=LOCK_MS))
    await run.members[-1].live(TOPIC)


async def _produce(run: Run) -> None:
    deadline_ms = run.world.clock.now_ms() + FAULTY_S * 750
    while run.world.clock.now_ms() < deadline_ms:
        await asyncio.sleep(run.rng.uniform(0.2, 4))
        values = [str(number) for number in range(run.rng.choice((1, 1, 3, 10, 40)))]
        await run.world.produce(TOPIC, values, partition=run.rng.randrange(run.coordinated.partitions))


# --------------------------------------------------------------------------------------- the worst moments


async def _move_at_first(run: Run) -> None:
    """Move the group's coordinator while the share-partitions are being initialised."""
    for _ in range(20):
        await asyncio.sleep(run.rng.uniform(0, 0.1))
        topic = run.world.cluster.metadata.topic(GROUP_TOPIC)
        if topic is not None:
            run.world.struck["coordinator_moved"] += 1
            _move(run, GROUP_TOPIC, partition_of_key(GROUP, topic.num_partitions))


async def _move_leader(run: Run) -> None:
    """Move a leader; mostly one with a write under way and another one to come, if there is one soon."""
    partition = run.rng.randrange(run.coordinated.partitions)
    if run.rng.random() < 0.8:
        partition = run.rng.choice(await _soon(run, run.coordinated.being_written) or [partition])
    run.world.struck["leader_moved"] += 1
    _move(run, TOPIC, partition)


async def _kill_broker(run: Run) -> None:
    """Kill a broker; mostly one with records that are not committed, if there is one soon.

    If these are of states, other leaders read the states.
    """
    cluster = run.world.cluster
    node_id, states = run.rng.choice(cluster.running_brokers), list[int]()
    if run.rng.random() < 0.8:
        node_id, states = run.rng.choice(await _soon(run, run.coordinated.uncommitted) or [(node_id, states)])
    run.world.struck["broker_killed"] += 1
    await cluster.kill_broker_async(node_id, run.rng.choice((0, 500, 5_000)))
    await asyncio.sleep(run.rng.choice((0, 0, 1, 2)))  # the longer a write is repeated, the later the next time
    for partition in states:
        _move(run, TOPIC, partition)
    await asyncio.sleep(run.rng.uniform(0.1, 10))
    await cluster.start_broker_async(node_id)


async def _soon(run: Run, find: Callable[[], list[T]]) -> list[T]:
    """Return what is found within a few seconds."""
    deadline_ms = run.world.clock.now_ms() + 10_000
    while True:
        found = find()
        if found or run.world.clock.now_ms() >= deadline_ms:
            return found
        await asyncio.sleep(0.05)


def _move(run: Run, topic: str, partition: int) -> None:
    run.world.cluster.move_leader(topic, partition, run.rng.choice(run.world.cluster.running_brokers))


# --------------------------------------------------------------------------------------------- the verdict


async def _expect_quiet(run: Run) -> None:
    before = run.world.tap.frames
    await asyncio.sleep(QUIET_S)
    frames = run.world.tap.frames - before
    # A heartbeat every two seconds, and a fetch every five seconds to each leader; a request and a response each.
    budget = QUIET_S * MEMBERS * (1 + BROKERS)
    if frames > budget:
        run.world.violations.append(f"{frames} frames in the quiet half minute, at most {budget} are due")


def _judge(run: Run) -> None:
    run.world.struck["large fetch"] += run.ledger.large_fetches
    wanted = set().union(*(member.accepted for member in run.members))
    unwanted = [f"{shown(place)}: accepted, which no application wanted" for place in run.ledger.accepted - wanted]
    run.world.violations += unwanted
    for member in run.members:
        run.world.violations += member.violations(run.ledger)
