"""One simulated run: a cluster, its clients, their work, and what befalls them; all out of one seed."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from uuid import UUID

from attrs import define, field, frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.metadata.placement import (
    GROUP_TOPIC,
    SHARE_STATE_TOPIC,
    partition_of_key,
    share_state_key,
)
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.handshake import negotiate
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import TopicIdPartition
from tests.simulation.coincidences import counted
from tests.simulation.member import Member
from tests.simulation.seeded_faults import PRODUCER, SeededFaults
from tests.simulation.storage import LateStorage
from tests.simulation.trace import Trace, Traced
from tests.simulation.wire_tap import Place, WireTap
from tests.simulation.witness import Witness

LOCK_MS = 5_000
DELIVERY_LIMIT = 10
GROUP, TOPIC, BROKERS, MEMBERS = "workers", "jobs", 3, 5
PARTITIONS = (2, 6)
"""A run has one of these numbers: members share partitions, or most have one for themselves."""

FAULTY_MS, SETTLING_MS, QUIET_MS = 420_000, 150_000, 30_000
"""Ten virtual minutes: seven of work and faults, two and a half to settle, half a minute that must be quiet."""

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
    "share.delivery.count.limit": str(DELIVERY_LIMIT),
}


@frozen
class Report:
    """What a run came to.

    Attributes:
        violations: What must never happen and did.
        faults: How often each class of fault struck.
        produced: How many records there were.
        accepted: How many were accepted, as the wire showed.
        large_fetches: How many fetches asked for more than a poll returns.
        frames_when_quiet: How many frames were sent in the last half minute.
        digest: Of all events; another run of the seed must have the same.
    """

    violations: tuple[str, ...]
    faults: Counter[str]
    produced: int
    accepted: int
    large_fetches: int
    frames_when_quiet: int
    digest: str


@define
class World:
    """The parts of a run."""

    simulation: Simulation
    network: MemoryNetwork
    cluster: EmbeddedCluster
    faults: SeededFaults
    storage: LateStorage
    tap: WireTap
    trace: Trace
    topic_id: UUID
    partitions: int
    members: list[Member] = field(factory=list)
    departed: list[Member] = field(factory=list)
    produced: dict[TopicIdPartition, int] = field(factory=dict)

    @property
    def rng(self) -> random.Random:
        """Source of all randomness."""
        return self.simulation.rng

    @property
    def now_ms(self) -> int:
        """Virtual time."""
        return self.simulation.clock.now_ms()


def run_world(seed: int, write_event: Callable[[str], object] = lambda _line: None) -> Report:
    """Run one seed; each event is also written as a line."""
    return run_simulated(partial(_run, write_event=write_event), seed, limit_s=3600)


async def _run(simulation: Simulation, write_event: Callable[[str], object]) -> Report:
    trace = Trace(asyncio.get_running_loop().time, write_event)
    faults = SeededFaults(random.Random(simulation.rng.random()), simulation.clock, Counter())
    network = MemoryNetwork()
    tap = WireTap(Traced(faults, trace), simulation.clock, network.is_open, LOCK_MS)
    network.plan = tap
    async with EmbeddedCluster(
        BROKERS, network=network, settings=SETTINGS, clock=simulation.clock, seed=simulation.seed
    ) as cluster:
        storage = LateStorage(random.Random(simulation.rng.random()), faults.counts)
        cluster._core.parts.logs.storage = storage
        topic = cluster.create_topic(TOPIC, simulation.rng.choice(PARTITIONS))
        cluster.alter_group_configs(GROUP, GROUP_CONFIGS)
        cluster.metadata.on_change(tap.metadata_changed)
        cluster.metadata.on_change(lambda _image, delta: trace.note(delta))
        faults.arm(cluster)
        world = World(simulation, network, cluster, faults, storage, tap, trace, topic.topic_id, len(topic.partitions))
        with counted(faults.counts):
            await _live(world)
            return _report(world, await _quiet_frames(world))


# ------------------------------------------------------------------------------------------------ the run


async def _live(world: World) -> None:
    for number in range(MEMBERS):
        _hire(world, number)
    producer = asyncio.create_task(_produce(world), name="producer")
    early = asyncio.create_task(_move_at_first(world), name="early moves")
    mischief = asyncio.create_task(_mischief(world), name="mischief")
    await asyncio.sleep(FAULTY_MS / 1000)
    mischief.cancel()
    world.faults.stop()
    world.storage.stop()
    world.cluster.faults.clear()
    for member in world.members:
        member.calm_down()
    await producer
    await early
    await asyncio.gather(mischief, return_exceptions=True)
    await asyncio.sleep(SETTLING_MS / 1000)


async def _quiet_frames(world: World) -> int:
    before = world.tap.frames
    await asyncio.sleep(QUIET_MS / 1000)
    frames = world.tap.frames - before
    for member in world.members:
        await member.retire()
    return frames


def _hire(world: World, number: int) -> Member:
    kinds: tuple[dict[str, object], ...] = (
        {},
        {},
        {"acknowledgement_mode": "explicit"},
        {"acknowledgement_mode": "explicit", "auto_renew": True},
    )
    member = Member(
        f"member-{number}",
        world.cluster.bootstrap_servers,
        world.network,
        world.simulation.clock,
        random.Random(world.rng.random()),
        {
            "group_id": GROUP,
            "max_poll_interval_ms": 60_000,
            "max_poll_records": world.rng.choice((500, 5, 5)),
            **world.rng.choice(kinds),
        },
        lock_ms=LOCK_MS,
        counts=world.faults.counts,
        trace=world.trace,
    )
    member.start(TOPIC)
    world.members.append(member)
    return member


async def _produce(world: World) -> None:
    deadline_ms = world.now_ms + FAULTY_MS * 3 // 4
    while world.now_ms < deadline_ms:
        await asyncio.sleep(world.rng.uniform(0.2, 4))
        partition = world.rng.randrange(world.partitions)
        count = world.rng.choice((1, 1, 3, 10, 40))
        with contextlib.suppress(KafkaGroupsError):  # the broker is down: these records were never written
            await _produce_batch(world, partition, count)


async def _produce_batch(world: World, partition: int, count: int) -> None:
    leader = world.cluster.leader_of(TOPIC, partition)
    endpoint = world.cluster.metadata.brokers.get(leader)
    if endpoint is None:
        return
    connection = await ClientConnection.open(world.network, endpoint.host, endpoint.port, PRODUCER)
    try:
        version = (await negotiate(connection, world.now_ms + 1000)).version_for(ProduceRequest)
        records = build_batch([NewRecord(value=b"%d" % i) for i in range(count)])
        data = TopicProduceData(
            topic_id=world.topic_id, partition_data=(PartitionProduceData(index=partition, records=records),)
        )
        request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(data,))
        response = await connection.request(request, version, world.now_ms + 1000)
    finally:
        connection.close()
    written = response.responses[0].partition_responses[0]
    if not written.error_code:
        tip = TopicIdPartition(world.topic_id, partition)
        world.produced[tip] = max(world.produced.get(tip, 0), written.base_offset + count)


async def _mischief(world: World) -> None:
    acts = (_slow_broker, _move_leader, _move_coordinator, _restart_broker, _kill_broker, _kill_member)
    while True:
        await asyncio.sleep(world.rng.uniform(5, 25))
        await world.rng.choice(acts)(world)


async def _slow_broker(world: World) -> None:
    endpoint = world.rng.choice(sorted(world.cluster.metadata.brokers.values(), key=lambda broker: broker.node_id))
    world.faults.slow_down(f"{endpoint.host}:{endpoint.port}", world.rng.randrange(1000, 20_000))


async def _move_leader(world: World) -> None:
    """Move a leader; mostly one with a write under way and another one to come, if there is one soon."""
    partition = world.rng.randrange(world.partitions)
    if world.rng.random() < 0.8:
        partition = await _partition_with_writes(world, partition)
    world.faults.counts["leader moved"] += 1
    world.cluster.move_leader(TOPIC, partition, world.rng.choice(sorted(world.cluster.metadata.brokers)))


async def _partition_with_writes(world: World, otherwise: int) -> int:
    deadline_ms = world.now_ms + 10_000
    while world.now_ms < deadline_ms:
        for node in world.cluster._core.nodes.values():
            for key, writer in node._services.share._led._writers.items():
                if writer._under_way and writer._waiting:
                    return key.partition.partition
        await asyncio.sleep(0.05)
    return otherwise


async def _move_coordinator(world: World) -> None:
    """Move a partition of an internal topic, and often once more: that of the group, or one with states."""
    states = [share_state_key(GROUP, world.topic_id, number) for number in range(world.partitions)]
    topic_name, key = world.rng.choice([(GROUP_TOPIC, GROUP), *((SHARE_STATE_TOPIC, state) for state in states)])
    for _ in range(world.rng.choice((1, 2, 3))):
        _move(world, topic_name, key)
        await asyncio.sleep(world.rng.uniform(0, 0.5))


async def _move_at_first(world: World) -> None:
    """Move the group's coordinator while the share-partitions are being initialised."""
    for _ in range(20):
        await asyncio.sleep(world.rng.uniform(0, 0.1))
        _move(world, GROUP_TOPIC, GROUP)


def _move(world: World, topic_name: str, key: str) -> None:
    image = world.cluster.metadata.image
    topic = image.topic(topic_name)
    if topic is not None:
        world.faults.counts["coordinator moved"] += 1
        node_id = world.rng.choice(sorted(image.brokers))
        world.cluster.move_leader(topic_name, partition_of_key(key, topic.num_partitions), node_id)


async def _kill_broker(world: World) -> None:
    node_id = world.rng.choice(sorted(world.cluster.metadata.brokers))
    world.faults.counts["broker killed"] += 1
    await world.cluster.kill_broker_async(node_id, world.rng.choice((0, 500, 5_000)))
    try:
        await asyncio.sleep(world.rng.uniform(0.1, 10))
    finally:
        await world.cluster.start_broker_async(node_id)


async def _restart_broker(world: World) -> None:
    node_id = world.rng.choice(sorted(world.cluster.metadata.brokers))
    world.faults.counts["broker restarted"] += 1
    await world.cluster.stop_broker_async(node_id)
    try:
        await asyncio.sleep(world.rng.uniform(0.1, 10))
    finally:
        await world.cluster.start_broker_async(node_id)


async def _kill_member(world: World) -> None:
    victim = world.rng.choice(world.members)
    world.faults.counts["member killed"] += 1
    world.members.remove(victim)
    world.departed.append(victim)
    await victim.kill()
    await asyncio.sleep(world.rng.uniform(0, 5))
    _hire(world, world.rng.randrange(100, 1000))


# --------------------------------------------------------------------------------------------- the verdict


def _report(world: World, frames: int) -> Report:
    violations = [*world.tap.violations, *_unfinished(world), *_unwanted(world), *_noise(frames), *_testified(world)]
    for member in world.members:
        violations += member.violations(partial(_may_be_done, world.tap, member.member_id))
    return Report(
        violations=tuple(violations),
        faults=world.faults.counts,
        produced=sum(world.produced.values()),
        accepted=len(world.tap.accepted),
        large_fetches=world.tap.large_fetches,
        frames_when_quiet=frames,
        digest=world.trace.digest,
    )


def _unfinished(world: World) -> list[str]:
    tap = world.tap
    return [
        f"{place}: not accepted, rejected or at its delivery limit: {tap.delivery_counts.get(place, 0)} deliveries"
        for place in _places(world)
        if not _is_done(tap, place) and not tap.is_unanswered(place)
    ]


def _is_done(tap: WireTap, place: Place) -> bool:
    is_at_limit = tap.delivery_counts.get(place, 0) >= DELIVERY_LIMIT
    return place in tap.accepted or place in tap.rejected or is_at_limit


def _may_be_done(tap: WireTap, member_id: str, place: Place) -> bool:
    """Whether a broker may have told this member that the record is done with.

    Where another member's acknowledgement was taken and the answer lost, a late one is taken without a word.
    """
    return _is_done(tap, place) or tap.is_unanswered(place, besides=member_id)


def _unwanted(world: World) -> list[str]:
    wanted = set().union(*(member.accepted for member in (*world.members, *world.departed)))
    return [f"{place}: accepted, which no application wanted" for place in world.tap.accepted - wanted]


def _testified(world: World) -> list[str]:
    """What the wire and the log of share states tell differently."""
    tap, witness = world.tap, Witness(world.cluster.metadata, world.cluster._core.parts.logs, GROUP)
    lost = [place for place in tap.accepted if witness.contradicts_acceptance(place)]
    made_up = [
        place
        for place in _places(world)
        if witness.is_settled(place) and not _is_done(tap, place) and not tap.is_unanswered(place)
    ]
    return [
        *(f"{place}: accepted on the wire, and not in the log" for place in lost),
        *(f"{place}: settled in the log, and nobody settled it" for place in made_up),
    ]


def _places(world: World) -> list[Place]:
    return [(partition, offset) for partition, end in world.produced.items() for offset in range(end)]


def _noise(frames: int) -> list[str]:
    # A heartbeat every two seconds, and a fetch every five seconds to each leader; a request and a response each.
    budget = QUIET_MS // 1000 * MEMBERS * (1 + BROKERS)
    return [f"{frames} frames in the quiet half minute, at most {budget} are due"] if frames > budget else []
