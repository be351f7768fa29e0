"""What a test sees of the records that a program has produced."""

import pytest
from confluent_kafka import Producer

from kafka_groups.errors import UnknownTopicOrPartitionError
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.testing import EmbeddedCluster, ProducedRecord


async def test_records_come_by_partition_and_offset() -> None:
    async with EmbeddedCluster(network=MemoryNetwork()) as cluster:
        cluster.create_topic("t", 2)
        cluster.produce("t", ["b", None], partition=1, keys=["k", None], headers=[("h", b"1"), ("h", None)])
        cluster.produce("t", ["a"], partition=0)
        found = cluster.records("t")
        assert [(each.partition, each.offset, each.key, each.value) for each in found] == [
            (0, 0, None, b"a"), (1, 0, b"k", b"b"), (1, 1, None, None)
        ]  # fmt: skip
        assert found[1].headers == (("h", b"1"), ("h", None))
        assert all(isinstance(each.timestamp_ms, int) for each in found)
        assert isinstance(found[0], ProducedRecord)


async def test_deleted_records_are_gone_also_within_a_batch() -> None:
    async with EmbeddedCluster(network=MemoryNetwork()) as cluster:
        topic = cluster.create_topic("t")
        assert cluster.records("t") == []
        cluster.produce("t", ["0", "1", "2"])
        cluster.logs.get(topic.topic_id, 0).delete_records(1)
        assert [each.value for each in cluster.records("t")] == [b"1", b"2"]


async def test_a_topic_that_does_not_exist() -> None:
    async with EmbeddedCluster(network=MemoryNetwork()) as cluster:
        with pytest.raises(UnknownTopicOrPartitionError, match="there is no topic 't'"):
            cluster.records("t")


@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
def test_what_a_program_has_produced(compression: str) -> None:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("t")
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "compression.type": compression})
        for number in range(2_000):
            producer.produce("t", key="k", value=str(number), timestamp=number + 1)
        assert producer.flush(20) == 0
        found = cluster.records("t")
        assert [(each.value, each.timestamp_ms) for each in found] == [(b"%d" % n, n + 1) for n in range(2_000)]
