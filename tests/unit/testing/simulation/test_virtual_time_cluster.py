"""A whole cluster with consumers in virtual time: the same seed makes the same run, byte for byte."""

import asyncio
import hashlib
import random

from kafka_groups import AsyncKafkaShareConsumer
from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import NetworkError
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.memory import Link, MemoryNetwork, Passage
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.share.parts import Environment
from kafka_groups.testing.simulation import Simulation, run_simulated

RUN_MS = 60_000


class FaultyWires:
    """Delays everything, breaks some connections, and keeps a fingerprint of all that went over the network."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.rng = random.Random(f"{sim.seed}/wires")
        self.digest = hashlib.sha256()
        self.frames = self.breaks = 0

    def on_connect(self, address: str) -> Passage:
        return Passage(delay_ms=self.rng.randrange(5))

    def on_frame(self, link: Link, payload: bytes) -> Passage:
        self.frames += 1
        self.digest.update(f"{link} {self.sim.clock.now_ms()}".encode() + payload)
        breaks = self.rng.random() < 0.005
        self.breaks += breaks
        return Passage(delay_ms=self.rng.randrange(20), breaks=breaks)


async def feed(sim: Simulation, cluster: EmbeddedCluster) -> None:
    records = build_batch([NewRecord(value=b"v")] * 5)
    for number in range(RUN_MS // 1000):
        partition = number % 4
        data = TopicProduceData(name="t", partition_data=(PartitionProduceData(index=partition, records=records),))
        try:
            leader = cluster.leader_of("t", partition)
            connection = await ClientConnection.open(cluster.network, "127.0.0.1", leader, "feed")
            request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=(data,))
            await connection.request(request, 9, sim.clock.now_ms() + 5000)
            connection.close()
        except NetworkError:
            pass  # one of the breaks: these records may not be there
        await asyncio.sleep(1)


async def consume(sim: Simulation, cluster: EmbeddedCluster, number: int) -> int:
    environment = Environment(cluster.network, sim.clock, random.Random(f"{sim.seed}/{number}"))
    consumer = AsyncKafkaShareConsumer(
        bootstrap_servers=cluster.bootstrap_servers, group_id="g", environment=environment
    )
    await consumer.subscribe(["t"])
    end_ms, count = sim.clock.now_ms() + RUN_MS, 0
    while sim.clock.now_ms() < end_ms:
        count += len(await consumer.poll(1.0))
    await consumer.close()
    return count


async def program(sim: Simulation) -> tuple[str, int, int, int]:
    wires = FaultyWires(sim)
    network = MemoryNetwork(wires)
    async with EmbeddedCluster(3, network=network, clock=sim.clock, seed=sim.seed) as cluster:
        cluster.create_topic("t", 4)
        cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
        feeding = asyncio.create_task(feed(sim, cluster))
        counts = await asyncio.gather(*(consume(sim, cluster, number) for number in range(3)))
        await feeding
    return wires.digest.hexdigest(), wires.frames, wires.breaks, sum(counts)


def test_same_seed_makes_the_same_run_and_another_does_not() -> None:
    first, second, other = run_simulated(program, 7), run_simulated(program, 7), run_simulated(program, 8)
    assert first == second
    assert first[0] != other[0]
    _, frames, breaks, records = first
    assert frames > 500
    assert breaks > 0
    assert records >= 200
