import asyncio
from collections.abc import AsyncIterator

import pytest
from confluent_kafka import Producer

from kafka_groups import AsyncKafkaShareConsumer
from kafka_groups.cli.demo.probe import GroupProbe, GroupSnapshot
from kafka_groups.config.readers import read_host_ports
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.testing import EmbeddedCluster

PROMPT = {"group.share.min.heartbeat.interval.ms": 500, "group.share.heartbeat.interval.ms": 500}
RECORDS = 10


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(brokers=2, settings=PROMPT) as running:
        running.create_topic("orders", 2)
        running.alter_group_configs("invoices", {"share.auto.offset.reset": "earliest"})
        yield running


def probe_of(cluster: EmbeddedCluster) -> GroupProbe:
    return GroupProbe(TcpNetwork(), read_host_ports(cluster.bootstrap_servers)[0], "invoices")


def publish(bootstrap_servers: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for number in range(RECORDS):
        # To both: a share-partition has no lag before something in it was acknowledged.
        producer.produce("orders", value=str(number), partition=number % 2)
    assert producer.flush(20) == 0


async def test_group_that_does_not_exist_says_nothing(cluster: EmbeddedCluster) -> None:
    probe = probe_of(cluster)
    assert await probe.look() == GroupSnapshot()
    await probe.close()


async def test_members_and_lag_of_a_group(cluster: EmbeddedCluster) -> None:
    probe = probe_of(cluster)
    async with AsyncKafkaShareConsumer(
        bootstrap_servers=cluster.bootstrap_servers, group_id="invoices", acknowledgement_mode="explicit"
    ) as consumer:
        await consumer.subscribe(["orders"])
        await asyncio.to_thread(publish, cluster.bootstrap_servers)
        taken = 0
        while taken < RECORDS:
            batch = await consumer.poll(timeout=20)
            taken += consumer.acknowledge_all(batch)
            view = await probe.look()
            assert view.members == 1
            assert view.lag is None or view.lag > 0
        await consumer.commit_sync()
        assert await probe.look() == GroupSnapshot(members=1, lag=0)
    await probe.close()


async def test_broker_that_is_gone_says_nothing(cluster: EmbeddedCluster) -> None:
    probe = probe_of(cluster)
    await probe.look()
    for node in (1, 2):
        await cluster.stop_broker_async(node)
    assert await probe.look() == GroupSnapshot()
    for node in (1, 2):
        await cluster.start_broker_async(node)
    assert await probe.look() is not None
    await probe.close()
