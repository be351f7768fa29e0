"""How one broker is put together: what wakes a waiting share fetch, and what ends with a connection."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.metadata.placement import GROUP_TOPIC, partition_of_key
from kafka_groups.broker.runtime.scheduling.purgatory import Purgatory
from kafka_groups.broker.share_partitions.partition import SharePartitionKey
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kafka_groups.protocol.messages.share_fetch import (
    ShareFetchPartition,
    ShareFetchPartitionData,
    ShareFetchRequest,
    ShareFetchTopic,
)
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import AcknowledgeType, TopicIdPartition

LOCK_MS = 15_000
WAIT_MS = 20_000


class Bench:
    """One topic with one partition on two brokers; a group whose share-partition is initialised."""

    def __init__(self, sim: Simulation) -> None:
        self.clock = sim.clock
        self.network = MemoryNetwork()
        self.cluster = EmbeddedCluster(2, network=self.network, clock=sim.clock, settings={
            "group.share.record.lock.duration.ms": LOCK_MS,
        })  # fmt: skip

    async def __aenter__(self) -> "Bench":
        await self.cluster.start_async()
        self.topic = self.cluster.create_topic("t", 1)
        self.cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
        await self.join("m0")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cluster.stop_async()

    async def join(self, member_id: str) -> None:
        first = await self.connect()
        [found] = (await self.ask(first, FindCoordinatorRequest(coordinator_keys=("g",)), 4)).coordinators
        first.close()
        coordinator = await self.connect(found.node_id)
        await self.ask(coordinator, ShareGroupHeartbeatRequest(
            group_id="g", member_id=member_id, member_epoch=0, rack_id=None, subscribed_topic_names=("t",),
        ), 1)  # fmt: skip
        coordinator.close()

    async def connect(self, node_id: int = 1) -> ClientConnection:
        return await ClientConnection.open(self.network, "127.0.0.1", node_id, "tests")

    async def ask(self, connection: ClientConnection, request: object, version: int) -> Any:
        return await connection.request(request, version, self.clock.now_ms() + 60_000)

    async def produce(self, count: int) -> None:
        records = build_batch([NewRecord(value=b"v") for _ in range(count)])
        connection = await self.connect(self.cluster.leader_of("t", 0))
        data = TopicProduceData(name="t", partition_data=(PartitionProduceData(index=0, records=records),))
        response = await self.ask(connection, ProduceRequest(acks=1, timeout_ms=1000, topic_data=(data,)), 9)
        assert response.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        connection.close()

    async def fetch(self, connection: ClientConnection, member: str, epoch: int) -> ShareFetchPartitionData | None:
        """What the member gets; None when the response does not name the partition."""
        topic = ShareFetchTopic(topic_id=self.topic.topic_id, partitions=(ShareFetchPartition(partition_index=0),))
        request = ShareFetchRequest(
            group_id="g", member_id=member, share_session_epoch=epoch, max_wait_ms=WAIT_MS, min_bytes=1,
            max_records=500, batch_size=500, topics=(topic,),
        )  # fmt: skip
        response = await self.ask(connection, request, 2)
        assert response.error_code == ErrorCode.NONE, response.error_message
        data: ShareFetchPartitionData | None = next((p for topic in response.responses for p in topic.partitions), None)
        return data

    def acknowledged(self, batch: AcknowledgementBatch) -> AcknowledgeTopic:
        partition = AcknowledgePartition(partition_index=0, acknowledgement_batches=(batch,))
        return AcknowledgeTopic(topic_id=self.topic.topic_id, partitions=(partition,))

    def later(self, work: Awaitable[Any]) -> "asyncio.Future[Any]":
        return asyncio.ensure_future(work)


def simulated(program: Callable[[Bench], Awaitable[None]]) -> None:
    async def whole(sim: Simulation) -> None:
        async with Bench(sim) as bench:
            await program(bench)

    run_simulated(whole, 1)


def ranges(data: ShareFetchPartitionData | None) -> list[tuple[int, int, int]]:
    acquired = () if data is None else data.acquired_records
    return [(each.first_offset, each.last_offset, each.delivery_count) for each in acquired]


def test_new_records_wake_a_waiting_fetch() -> None:
    async def program(bench: Bench) -> None:
        start_ms = bench.clock.now_ms()
        waiting = bench.later(bench.fetch(await bench.connect(), "m1", 0))
        await asyncio.sleep(3)
        assert not waiting.done()
        await bench.produce(10)
        assert ranges(await waiting) == [(0, 9, 1)]
        assert bench.clock.now_ms() - start_ms == 3000

    simulated(program)


def test_records_of_a_coordinator_wake_a_fetch_that_waits_at_the_end_of_its_log() -> None:
    async def program(bench: Bench) -> None:
        await asyncio.sleep(1)  # the states of the share-partitions are created
        topic = bench.cluster.metadata.topic(GROUP_TOPIC)
        assert topic is not None
        index = partition_of_key("g", topic.num_partitions)
        connection = await bench.connect(topic.partitions[index].leader_id)
        log = bench.cluster._core.parts.logs.get(topic.topic_id, index)
        partition = FetchPartition(partition=index, fetch_offset=log.high_watermark, partition_max_bytes=2**20)
        request = FetchRequest(
            max_wait_ms=WAIT_MS, min_bytes=1, topics=(FetchTopic(topic=GROUP_TOPIC, partitions=(partition,)),)
        )
        start_ms = bench.clock.now_ms()
        waiting = bench.later(bench.ask(connection, request, 12))
        await asyncio.sleep(3)
        assert not waiting.done()
        await bench.join("m1")
        [answer] = (await waiting).responses
        assert answer.partitions[0].records
        assert bench.clock.now_ms() - start_ms == 3000

    simulated(program)


def test_locks_that_end_wake_a_waiting_fetch_at_their_deadline() -> None:
    async def program(bench: Bench) -> None:
        await bench.produce(10)
        start_ms = bench.clock.now_ms()
        assert ranges(await bench.fetch(await bench.connect(), "m1", 0)) == [(0, 9, 1)]
        waiting = bench.later(bench.fetch(await bench.connect(), "m2", 0))
        assert ranges(await waiting) == [(0, 9, 2)]
        assert bench.clock.now_ms() - start_ms == LOCK_MS

    simulated(program)


def test_acknowledgements_that_move_the_start_wake_a_waiting_fetch() -> None:
    async def program(bench: Bench) -> None:
        await bench.produce(10)
        first, second = await bench.connect(), await bench.connect()
        assert ranges(await bench.fetch(first, "m1", 0)) == [(0, 9, 1)]
        waiting = bench.later(bench.fetch(second, "m2", 0))
        await asyncio.sleep(1)
        types = (AcknowledgeType.ACCEPT, *[AcknowledgeType.RELEASE] * 9)
        released = AcknowledgementBatch(first_offset=0, last_offset=9, acknowledge_types=types)
        request = ShareAcknowledgeRequest(
            group_id="g", member_id="m1", share_session_epoch=1, topics=(bench.acknowledged(released),)
        )
        start_ms = bench.clock.now_ms()
        await bench.ask(first, request, 2)
        assert ranges(await waiting) == [(1, 9, 2)]
        assert bench.clock.now_ms() == start_ms

    simulated(program)


def test_lost_connection_gives_back_what_its_session_acquired() -> None:
    async def program(bench: Bench) -> None:
        await bench.produce(10)
        start_ms = bench.clock.now_ms()
        killed = await bench.connect()
        assert ranges(await bench.fetch(killed, "m1", 0)) == [(0, 9, 1)]
        waiting = bench.later(bench.fetch(await bench.connect(), "m2", 0))
        await asyncio.sleep(2)
        killed.abort()
        assert ranges(await waiting) == [(0, 9, 2)]
        assert bench.clock.now_ms() - start_ms == WAIT_MS  # as in Kafka, releasing alone ends no wait

    simulated(program)


def test_moved_leader_wakes_a_waiting_fetch_and_the_new_one_delivers() -> None:
    async def program(bench: Bench) -> None:
        await bench.produce(10)
        start_ms = bench.clock.now_ms()
        assert ranges(await bench.fetch(await bench.connect(1), "m1", 0)) == [(0, 9, 1)]
        waiting = bench.later(bench.fetch(await bench.connect(1), "m2", 0))
        await asyncio.sleep(2)
        bench.cluster.move_leader("t", 0, 2)
        refused = await waiting
        assert refused is not None
        assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (2, 1)
        # Acquired records are no hard state: the next leader has them available, with the count that was persisted.
        assert ranges(await bench.fetch(await bench.connect(2), "m2", 0)) == [(0, 9, 1)]
        assert bench.clock.now_ms() - start_ms == 2000

    simulated(program)


def test_stopped_broker_comes_back_without_sessions_and_locks() -> None:
    async def program(bench: Bench) -> None:
        await bench.produce(10)
        assert ranges(await bench.fetch(await bench.connect(1), "m1", 0)) == [(0, 9, 1)]
        await bench.cluster.stop_broker_async(1)
        assert bench.cluster.leader_of("t", 0) == -1
        await bench.cluster.start_broker_async(1)
        assert ranges(await bench.fetch(await bench.connect(1), "m2", 0)) == [(0, 9, 1)]

    simulated(program)


def test_a_restarted_broker_gives_out_other_member_ids() -> None:
    request = JoinGroupRequest(
        group_id="classic",
        session_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),),
    )

    async def program(bench: Bench) -> None:
        given = []
        for _ in range(3):
            await bench.cluster.stop_broker_async(2)  # so that the first broker coordinates all groups
            connection = await bench.connect(1)
            given.append((await connection.request(request, 9, bench.clock.now_ms() + WAIT_MS)).member_id)
            await bench.cluster.start_broker_async(2)
            await bench.cluster.stop_broker_async(1)
            await bench.cluster.start_broker_async(1)
        assert all(given)
        assert len(set(given)) == 3

    simulated(program)


def test_deleted_topic_ends_the_wait() -> None:
    async def program(bench: Bench) -> None:
        waiting = bench.later(bench.fetch(await bench.connect(), "m1", 0))
        await asyncio.sleep(1)
        bench.cluster.delete_topic("t")
        refused = await waiting
        assert refused is not None
        assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    simulated(program)


def test_each_node_tells_the_waiting_what_changed_and_in_which_order(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    tell = Purgatory.notify

    def note_and_tell(purgatory: Purgatory, key: Hashable) -> None:
        told.append(key)
        tell(purgatory, key)

    monkeypatch.setattr(Purgatory, "notify", note_and_tell)

    def heard() -> list[object]:
        keys = [key for key in told if key not in internal]
        told.clear()
        return keys

    internal: set[object] = set()  # coordinators write to these topics meanwhile

    async def program(bench: Bench) -> None:
        connection = await bench.connect()
        await bench.produce(1)
        await bench.fetch(connection, "m1", 0)
        cluster, key = bench.cluster, SharePartitionKey("g", bench.topic.topic_id_partition(0))
        partitions = [TopicIdPartition(bench.topic.topic_id, index) for index in range(3)]
        for topic in cluster.metadata.topics():
            internal.update(map(topic.topic_id_partition, range(topic.num_partitions if topic.is_internal else 0)))
        heard()
        cluster.metadata.create_partitions("t", 3)
        assert heard() == partitions[1:] * 2  # by each of two nodes
        cluster.alter_group_configs("g", {"share.record.lock.duration.ms": "20000"})
        assert heard() == []
        cluster.move_leader("t", 1, cluster.leader_of("t", 2))
        assert heard() == [partitions[1]] * 2
        cluster.delete_topic("t")
        assert heard() == [*partitions, key, *partitions]  # the first node has the share-partition, too
        connection.close()

    simulated(program)
