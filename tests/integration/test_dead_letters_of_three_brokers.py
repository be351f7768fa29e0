"""Dead letters whose queue another broker leads: brokers need no rights, and state 3 outlives the leader."""

from collections.abc import AsyncIterator

import pytest

from kafka_groups import AcknowledgeType, AsyncKafkaShareConsumer
from kafka_groups.acls import AclBinding
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.share.parts import Environment
from kafka_groups.testing import EmbeddedCluster, RecordState
from kafka_groups.testing.simulation import Simulation, run_simulated
from tests.support.members.consuming import consume

QUEUE = {"errors.deadletterqueue.topic.name": "dlq.g", "share.auto.offset.reset": "earliest"}
ENABLED = {"errors.deadletterqueue.group.enable": "true"}


def prepare(cluster: EmbeddedCluster) -> None:
    """The broker 1 leads the topic, the broker 2 the queue, and the broker 3 may do the rest."""
    for topic, node_id, configs in (("orders", 1, {}), ("dlq.g", 2, ENABLED)):
        cluster.create_topic(topic, configs=configs)
        cluster.move_leader(topic, 0, node_id)
    cluster.alter_group_configs("g", QUEUE)
    cluster.produce("orders", ["a", "b"])


async def reject_all(cluster: EmbeddedCluster, environment: Environment, count: int) -> None:
    async with AsyncKafkaShareConsumer(
        environment=environment,
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="g",
        acknowledgement_mode="explicit",
    ) as consumer:
        await consumer.subscribe(["orders"])
        for record in await consume(consumer, count):
            consumer.acknowledge(record, AcknowledgeType.REJECT)
        await consumer.commit_sync()


@pytest.fixture
async def guarded() -> AsyncIterator[tuple[EmbeddedCluster, MemoryNetwork]]:
    """A cluster in which clients may read and nothing else."""
    acls = [
        AclBinding(kind, name, "literal", "User:ANONYMOUS", "*", "read", "allow")
        for kind, name in (("topic", "orders"), ("group", "g"))
    ]
    network = MemoryNetwork()
    async with EmbeddedCluster(3, network=network, acls=acls) as cluster:
        yield cluster, network


@pytest.mark.slow
async def test_brokers_need_no_right_to_write_to_each_others_queues(
    guarded: tuple[EmbeddedCluster, MemoryNetwork],
) -> None:
    cluster, network = guarded
    prepare(cluster)
    await reject_all(cluster, Environment(network=network), 2)
    await cluster.group("g").wait_until_dead_lettered_async(["a", "b"])
    assert [letter.offset for letter in cluster.group("g").dead_letters] == [0, 1]
    await cluster.group("g").wait_until_lag_async(0)


def test_records_in_state_3_outlive_their_leader() -> None:
    async def program(simulation: Simulation) -> None:
        network = MemoryNetwork()
        environment = Environment(network, simulation.clock, simulation.rng)
        async with EmbeddedCluster(3, network=network, clock=simulation.clock) as cluster:
            prepare(cluster)
            group = cluster.group("g")
            await cluster.kill_broker_async(2, noticed_after_ms=60_000)  # letters are tried again meanwhile
            await reject_all(cluster, environment, 2)
            assert group.lag == 2
            await cluster.stop_broker_async(1)
            await cluster.start_broker_async(1)
            assert group.dead_letters == []
            await cluster.start_broker_async(2)
            cluster.produce("orders", ["c"])
            await reject_all(cluster, environment, 1)
            await group.wait_until_dead_lettered_async(["a", "b", "c"], within=120)
            assert sorted({letter.offset for letter in group.dead_letters}) == [0, 1, 2]
            await group.wait_until_lag_async(0, within=60)
            assert not [run for run in group.in_flight if run.state is RecordState.ARCHIVING]

    run_simulated(program, 1)
