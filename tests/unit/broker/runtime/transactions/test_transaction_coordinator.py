"""Markers of a coordinator whose log refused a record: it is loaded again, and begins with them anew."""

from collections.abc import Callable, Collection

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.coordinators.transactions.effects import WriteMarkers
from kafka_groups.broker.log.entries import Producer
from kafka_groups.broker.runtime.transactions.marker_writer import MarkerWriter
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.types import TopicPartition
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.members.raw_producer import OLD, RawProducer, TransactionReader
from tests.support.requests.raw_client import RawClient

Written = Callable[[Collection[TopicPartition]], bool]


async def test_markers_that_were_begun_before_the_shard_was_loaded_again_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[tuple[WriteMarkers, Written]] = []
    monkeypatch.setattr(MarkerWriter, "write", lambda _self, effect, _epoch, written: begun.append((effect, written)))
    network = MemoryNetwork()
    async with EmbeddedCluster(network=network) as cluster:
        created = cluster.create_topic("t")
        host, _, port = cluster.bootstrap_servers.rpartition(":")
        async with RawClient(network, host, int(port)) as client:
            producer = RawProducer(client, "id", OLD)
            await producer.find()
            await producer.init()
            await producer.add(Topic("t", created.topic_id), 0)
            assert await producer.end(committed=True) == "NONE"

            [node] = cluster._core.nodes.values()
            runtime = node._services.coordinators.transactions.runtime
            runtime._reload(runtime._led[runtime.index_of("id")])
            await until(producer.described, lambda it: it.error_code is ErrorCode.NONE)

            [(_, older), (effect, newer)] = begun
            assert (older(effect.partitions), newer(())) == (False, True)
            assert (await producer.described()).transaction_state == "PrepareCommit"
            assert newer(effect.partitions)
            assert (await producer.described()).transaction_state == "CompleteCommit"


async def test_a_partition_that_refuses_its_marker_does_not_hide_the_others() -> None:
    network = MemoryNetwork()
    async with EmbeddedCluster(network=network) as cluster:
        created = cluster.create_topic("t", partitions=2)
        topic = Topic("t", created.topic_id)
        host, _, port = cluster.bootstrap_servers.rpartition(":")
        async with RawClient(network, host, int(port)) as client:
            producer = RawProducer(client, "id", OLD)
            await producer.find()
            await producer.init()
            await producer.add(topic, 0, 1)
            by_an_administrator = Producer(producer.producer.producer_id, producer.producer.epoch + 1)
            await TransactionReader(client).write_marker(topic, by_an_administrator, committed=False)
            assert await producer.end(committed=True) == "NONE"

            found = await until(producer.described, lambda it: [each.partitions for each in it.topics] == [(0,)])
            assert found.transaction_state == "PrepareCommit"
