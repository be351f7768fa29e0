"""What `cluster.metrics()` shows: groups by state, offsets, sessions and acknowledgements, by broker and in sum."""

import re

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.metrics import METRICS
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.parts import Environment
from tests.support.members.streams_member import StreamsMember
from tests.support.members.streams_topologies import sent, subtopology
from tests.support.requests.raw_client import RawClient

GROUPS = "kafka.server:type=group-coordinator-metrics"
ACKNOWLEDGED = "kafka.server:type=ShareGroupMetrics,name=RecordAcknowledgementsPerSec"
ONE_PARTITION = {"offsets.topic.num.partitions": 1, "share.coordinator.state.topic.num.partitions": 1}


def test_names_are_mbeans_with_an_attribute() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"kafka\.[\w.]+:type=[\w-]+(,[\w-]+=\w+)*:[\w-]+", name) for name in names)
    assert all(metric.doc.endswith(".") for metric in METRICS)


async def test_a_new_cluster_has_counted_nothing() -> None:
    async with EmbeddedCluster(network=MemoryNetwork()) as cluster:
        assert set(cluster.metrics().values()) == {0}


async def test_a_share_group_in_its_states() -> None:
    network = MemoryNetwork()
    async with EmbeddedCluster(brokers=2, network=network, settings=ONE_PARTITION) as cluster:
        cluster.create_topic("orders")
        cluster.alter_group_configs("sharing", {"share.auto.offset.reset": "earliest"})
        cluster.produce("orders", [b"1", b"2"])
        environment = Environment(network=network)
        async with AsyncKafkaShareConsumer(
            environment=environment, bootstrap_servers=cluster.bootstrap_servers, group_id="sharing"
        ) as consumer:
            await consumer.subscribe(["orders"])
            assert len(await consumer.poll(timeout=30)) == 2
            await consumer.commit_sync()
            stable = dict(cluster.metrics())
            by_broker = [cluster.metrics(node_id) for node_id in (1, 2)]
        empty = cluster.metrics()

    assert stable[f"{GROUPS},protocol=share:group-count"] == 1
    assert stable[f"{GROUPS},state=Stable:share-group-count"] == 1
    assert stable[f"{GROUPS},state=active:num-partitions"] == 1
    assert stable["kafka.server:type=ShareSessionCache,name=ShareSessionsCount:Value"] == 1
    assert stable["kafka.server:type=ShareSessionCache,name=SharePartitionsCount:Value"] == 1
    assert stable[f"{ACKNOWLEDGED},ackType=Accept:Count"] == 2
    assert stable[f"{GROUPS}:share-group-rebalance-count"] == 2
    assert empty[f"{GROUPS}:share-group-rebalance-count"] == 2
    assert {name: sum(each[name] for each in by_broker) for name in stable} == stable
    assert empty[f"{GROUPS},state=Empty:share-group-count"] == 1
    assert empty["kafka.server:type=ShareSessionCache,name=ShareSessionsCount:Value"] == 0


async def test_a_streams_group_in_its_states() -> None:
    network = MemoryNetwork()
    at_once = {"group.streams.initial.rebalance.delay.ms": 0, "group.streams.assignment.interval.ms": 0}
    settings = {**ONE_PARTITION, **at_once}
    async with EmbeddedCluster(network=network, settings=settings) as cluster:
        host, _, port = cluster.bootstrap_servers.partition(":")
        async with RawClient(network, host, int(port)) as client:
            await client.ask(FindCoordinatorRequest(coordinator_keys=("counting",)))
            member = StreamsMember(client, "counting", "m")
            await member.join(sent(subtopology("0", sources=("orders",))))
            not_ready = cluster.metrics()
            cluster.create_topic("orders")
            told = await member.beat()
            assert told.active
            await member.beat(owned=told.active)
            stable = cluster.metrics()
            await member.leave()
            empty = cluster.metrics()

    for state, seen in (("NotReady", not_ready), ("Stable", stable), ("Empty", empty)):
        assert seen[f"{GROUPS},protocol=streams:group-count"] == 1
        of_states = {name: value for name, value in seen.items() if name.endswith(":streams-group-count") and value}
        assert of_states == {f"{GROUPS},state={state}:streams-group-count": 1}
    counts = [seen[f"{GROUPS}:streams-group-rebalance-count"] for seen in (not_ready, stable, empty)]
    assert counts == [1, 2, 2], "as in Kafka, a member that leaves does not count"


async def test_the_metrics_of_a_broker_that_is_not_running() -> None:
    async with EmbeddedCluster(network=MemoryNetwork()) as cluster:
        with pytest.raises(ValueError, match=r"Broker 2 is not running. Running brokers: \[1\]"):
            cluster.metrics(2)
