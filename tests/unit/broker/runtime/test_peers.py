"""Brokers as clients of brokers: the share coordinator of another broker, lost answers, and what ends with a broker."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from attrs import evolve

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.coordinators.share_state.share_partition_state import StateKey
from kafka_groups.broker.faults import LOSE_RESPONSE
from kafka_groups.broker.metadata.placement import SHARE_STATE_TOPIC, coordinator_of, share_state_key
from kafka_groups.broker.runtime.coordinators import Coordinators
from kafka_groups.broker.runtime.outcome import PendingOutcome, outcome_of
from kafka_groups.broker.share_partitions.persisted_state import PersistedState
from kafka_groups.broker.share_partitions.record_state import RecordState
from kafka_groups.errors import (
    CoordinatorNotAvailableError,
    FencedLeaderEpochError,
    InvalidRequestError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.write_share_group_state import WriteShareGroupStateRequest, WriteShareStatePartition
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.support.broker.share_state import batch_of, change_of

ACCEPTED = change_of(2, 4, 0, 10, (batch_of(0, 9, RecordState.ACKNOWLEDGED, 1),))


class Bench:
    """Three brokers, and a share-partition whose state broker 2 coordinates, seen from broker 1."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        topic = cluster.create_topic("t", 100)
        self.coordinators(1).share.topic.ensured()
        image = cluster.metadata.image
        self.keys: list[StateKey] = [
            ("g", topic.topic_id, number)
            for number in range(100)
            if coordinator_of(image, share_state_key("g", topic.topic_id, number), SHARE_STATE_TOPIC) == 2
        ]
        self.key = self.keys[0]
        self.persister = self.coordinators(1).persister

    def coordinators(self, node_id: int) -> Coordinators:
        return self.cluster._core.nodes[node_id]._coordinators

    def peer_connections(self) -> list[int]:
        return [node.peer_connections for node in self.cluster._core.nodes.values()]

    async def create(self, offset: int = 0) -> None:
        outcome: PendingOutcome[None] = PendingOutcome()
        self.persister.create(self.key, 2, offset, outcome)
        await outcome.wait()

    async def read(self, epoch: int) -> PersistedState:
        outcome: PendingOutcome[PersistedState] = PendingOutcome()
        self.persister.read(self.key, epoch, outcome)
        return await outcome.wait()

    async def write(self, change: WriteShareStatePartition = ACCEPTED) -> None:
        outcome: PendingOutcome[None] = PendingOutcome()
        self.persister.write(self.key, evolve(change, partition=self.key[2]), outcome)
        await outcome.wait()

    async def delete(self) -> None:
        outcome: PendingOutcome[None] = PendingOutcome()
        self.persister.delete(self.key, outcome)
        await outcome.wait()

    async def summary(self) -> PersistedState | None:
        return await self.persister.summarize(self.key)


def run(program: Callable[[Bench], Awaitable[None]]) -> None:
    async def whole(sim: Simulation) -> None:
        async with EmbeddedCluster(3, network=MemoryNetwork(), clock=sim.clock) as cluster:
            await program(Bench(cluster))

    run_simulated(whole, 1)


def test_each_operation_reaches_the_other_broker() -> None:
    async def program(bench: Bench) -> None:
        assert await bench.summary() is None
        await bench.create(0)
        await bench.create(7)
        assert (await bench.read(4)).batches == ()
        await bench.write()
        state = await bench.read(4)
        assert (state.state_epoch, state.leader_epoch, state.batches) == (2, 4, ACCEPTED.state_batches)
        assert await bench.summary() == PersistedState(2, 4, 0, 10)
        assert bench.coordinators(2).share.state_now(bench.key) is not None
        assert bench.coordinators(1).share.state_now(bench.key) is None
        await bench.delete()
        await bench.delete()
        assert await bench.summary() is None

    run(program)


def test_errors_are_those_of_the_coordinator() -> None:
    async def program(bench: Bench) -> None:
        with pytest.raises(InvalidRequestError, match="no state"):
            await bench.read(0)
        await bench.create()
        await bench.read(5)
        with pytest.raises(FencedLeaderEpochError):
            await bench.write()
        bench.cluster.delete_topic("t")
        with pytest.raises(UnknownTopicOrPartitionError):
            await bench.summary()
        await bench.delete()

    run(program)


def test_a_write_whose_answer_is_lost_is_repeated() -> None:
    async def program(bench: Bench) -> None:
        await bench.create()
        await bench.read(4)
        rule = bench.cluster.faults.on(ApiKey.WRITE_SHARE_GROUP_STATE, LOSE_RESPONSE, times=1)
        await bench.write()
        assert rule.hits == 1
        assert (await bench.read(4)).batches == ACCEPTED.state_batches

    run(program)


def test_writes_that_gather_are_one_request_and_all_are_repeated_if_its_answer_is_lost() -> None:
    async def program(bench: Bench) -> None:
        keys = bench.keys[:8]
        for key in keys:
            await outcome_of(partial(bench.persister.create, key, 2, 0))
        sizes: list[int] = []

        def is_large(request: WriteShareGroupStateRequest) -> bool:
            sizes.append(sum(len(topic.partitions) for topic in request.topics))
            return sizes[-1] > 1

        rule = bench.cluster.faults.on(ApiKey.WRITE_SHARE_GROUP_STATE, LOSE_RESPONSE, times=1, when=is_large)
        writes = [partial(bench.persister.write, key, evolve(ACCEPTED, partition=key[2])) for key in keys]
        await asyncio.gather(*(outcome_of(write) for write in writes))
        assert sizes == [1, 7]
        assert rule.hits == 1
        states = [bench.coordinators(2).share.state_now(key) for key in keys]
        assert [state is not None and state.delivery_complete_count for state in states] == [10] * 8

    run(program)


def test_brokers_do_not_count_as_clients() -> None:
    async def program(bench: Bench) -> None:
        await bench.create()
        assert bench.cluster.open_connections == 0
        assert bench.peer_connections() == [1, 1, 0]

    run(program)


def test_a_coordinator_that_moves_is_found_again() -> None:
    async def program(bench: Bench) -> None:
        await bench.create()
        await bench.cluster.stop_broker_async(2)
        await bench.write(change_of(2, 0, 0, 10, ACCEPTED.state_batches))
        assert (await bench.read(0)).batches == ACCEPTED.state_batches

    run(program)


def test_nothing_of_a_killed_broker_goes_on() -> None:
    async def program(bench: Bench) -> None:
        await bench.create()
        before = len(asyncio.all_tasks())
        await bench.cluster.kill_broker_async(1)
        assert bench.cluster.metadata.brokers.keys() == {2, 3}
        await asyncio.sleep(0.1)
        assert bench.peer_connections() == [0, 0]
        names = sorted(task.get_name() for task in asyncio.all_tasks())
        assert not any("broker 1" in name or "broker-1" in name for name in names), names
        assert len(asyncio.all_tasks()) < before
        await bench.cluster.start_broker_async(1)
        assert bench.coordinators(1).share.runtime.num_partitions == 50

    run(program)


def test_until_others_notice_nobody_leads_what_a_killed_broker_led() -> None:
    async def program(bench: Bench) -> None:
        await bench.create()
        await bench.cluster.kill_broker_async(2, noticed_after_ms=60_000)
        assert 2 in bench.cluster.metadata.brokers
        with pytest.raises(CoordinatorNotAvailableError):
            await bench.read(0)
        await asyncio.sleep(60)
        assert 2 not in bench.cluster.metadata.brokers
        assert (await bench.read(0)).batches == ()

    run(program)


@pytest.mark.parametrize(("node_id", "noticed_after_ms"), [(9, 0), (1, -1)])
def test_what_cannot_be_killed(node_id: int, noticed_after_ms: int) -> None:
    async def program(bench: Bench) -> None:
        with pytest.raises(ValueError, match=r"not running|Invalid noticed_after_ms"):
            await bench.cluster.kill_broker_async(node_id, noticed_after_ms)
        assert len(bench.cluster.metadata.brokers) == 3

    run(program)
