"""One simulated run of a group with a dead-letter queue: leaders move and die while its records are being archived."""

import asyncio
import random
from collections.abc import Callable
from functools import partial

from attrs import define, field

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.testing import RecordState
from kafka_groups.testing.simulation import SeededFaults, SimulatedWorld, SimulationReport, simulate
from kafka_groups.types import AcknowledgeType
from tests.simulation.dead_letters.letter_journal import LetterJournal, journal_of_letters
from tests.simulation.reporting import report_of

GROUP, TOPIC, QUEUE, BROKERS, MEMBERS = "workers", "jobs", "dlq.jobs", 3, 3
FAULTY_S, SETTLING_S = 120, 150
ENABLE = "errors.deadletterqueue.group.enable"
FAULTS = SeededFaults(
    seconds=FAULTY_S, leader_moved=4, broker_killed=4, broker_restarted=2, half_dead_connection=0, refused_connection=0
)
SETTINGS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "500",
}
GROUP_CONFIGS = {
    "share.auto.offset.reset": "earliest",
    "share.record.lock.duration.ms": "5000",
    "share.session.timeout.ms": "10000",
    "share.heartbeat.interval.ms": "2000",
    "share.delivery.count.limit": "3",
    "errors.deadletterqueue.topic.name": QUEUE,
}
_KINDS = (AcknowledgeType.ACCEPT,) * 5 + (AcknowledgeType.REJECT,) * 4 + (AcknowledgeType.RELEASE,)


@define
class Run:
    """The parts of a run."""

    world: SimulatedWorld
    journal: LetterJournal
    partitions: int = field(init=False, default=2)

    @property
    def rng(self) -> random.Random:
        """Source of all randomness."""
        return self.world.rng

    def archiving(self) -> list[int]:
        """The partitions that have records whose letters are being written."""
        flying = self.world.cluster.group(GROUP).in_flight
        return sorted({run.partition for run in flying if run.state is RecordState.ARCHIVING})


def run_letters_world(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> SimulationReport:
    """Run one seed; each event is also written as a line."""
    return report_of(
        partial(simulate, _run, seed, faults=FAULTS, brokers=BROKERS, settings=SETTINGS, write_event=write_event)
    )


async def _run(world: SimulatedWorld) -> None:
    with journal_of_letters(world) as journal:
        run = Run(world, journal)
        world.cluster.create_topic(TOPIC, run.partitions)
        world.cluster.create_topic(QUEUE, 3, configs={ENABLE: "true"})
        copies = {"errors.deadletterqueue.copy.record.enable": world.rng.choice(["true", "false"])}
        world.cluster.alter_group_configs(GROUP, {**GROUP_CONFIGS, **copies})
        acts = world._stage.chaos.acts
        acts["leader_moved"], acts["broker_killed"] = partial(_move_leader, run), partial(_kill_broker, run)
        processes = [world.start(_live, run, name=f"member-{number}") for number in range(MEMBERS)]
        await asyncio.gather(_produce(run), _break_queue(run))
        await world.settle(within_s=SETTLING_S)
        for process in processes:
            await process.stop()
        world.violations += journal.violations(GROUP, TOPIC, QUEUE)


async def _live(run: Run) -> None:
    """One life of a member, which decides at random about each record."""
    rng = random.Random(run.rng.random())
    consumer = run.world.consumer(
        group_id=GROUP, acknowledgement_mode="explicit", request_timeout_ms=6_000, prefetch_batches=0
    )
    async with consumer:
        await consumer.subscribe([TOPIC])
        while True:
            try:
                for record in await consumer.poll(timeout=2):
                    consumer.acknowledge(record, rng.choice(_KINDS))
                await consumer.commit_sync()
            except KafkaGroupsError:
                await asyncio.sleep(0.2)  # a fault struck: the records come again


async def _produce(run: Run) -> None:
    deadline_ms = run.world.clock.now_ms() + FAULTY_S * 750
    while run.world.clock.now_ms() < deadline_ms:
        await asyncio.sleep(run.rng.uniform(0.2, 3))
        values = [str(number) for number in range(run.rng.choice((1, 3, 10)))]
        await run.world.produce(TOPIC, values, partition=run.rng.randrange(run.partitions))


async def _break_queue(run: Run) -> None:
    """Disable the queue now and then: what is archived then is logged."""
    metadata = run.world.cluster.metadata
    while run.world.is_faulty:
        await asyncio.sleep(run.rng.uniform(5, 30))
        if run.world.strikes("queue disabled", 0.7):
            metadata.alter_configs(TOPIC_RESOURCE, QUEUE, {ENABLE: "false"})
            await asyncio.sleep(run.rng.uniform(0.5, 5))
            metadata.alter_configs(TOPIC_RESOURCE, QUEUE, {ENABLE: "true"})


async def _move_leader(run: Run) -> None:
    """Move a leader; mostly one with records that are being archived, or that of their queue."""
    topic, partition = await _worst(run)
    run.world.struck["leader_moved"] += 1
    run.world.cluster.move_leader(topic, partition, run.rng.choice(run.world.cluster.running_brokers))


async def _kill_broker(run: Run) -> None:
    """Kill a broker; mostly one that leads records that are being archived, or their queue."""
    cluster = run.world.cluster
    node_id = cluster.leader_of(*await _worst(run))
    if node_id not in cluster.running_brokers or len(cluster.running_brokers) == 1:
        return
    run.world.struck["broker_killed"] += 1
    await cluster.kill_broker_async(node_id, run.rng.choice((0, 500, 5_000)))
    await asyncio.sleep(run.rng.uniform(0.1, 10))
    await cluster.start_broker_async(node_id)


async def _worst(run: Run) -> tuple[str, int]:
    deadline_ms = run.world.clock.now_ms() + 10_000
    archiving: list[int] = []
    while not archiving and run.world.clock.now_ms() < deadline_ms:
        archiving = run.archiving()
        await asyncio.sleep(0 if archiving else 0.02)
    if archiving:
        run.world.struck["struck while archiving"] += 1
    partition = run.rng.choice(archiving or range(run.partitions))
    return run.rng.choice([(TOPIC, partition), (TOPIC, partition), (QUEUE, partition % 3)])
