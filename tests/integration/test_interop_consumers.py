"""Ordinary consumers against the embedded broker over TCP: they share partitions, commit, restart and are fenced."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from kafka_groups.broker.cluster import EmbeddedCluster
from tests.integration.test_interop_confluent import PATIENCE_S, produce
from tests.support.members.confluent_reader import PARTITIONS, TOPIC, Reader, poll_until, share_all
from tests.support.members.consuming import values


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings={"group.initial.rebalance.delay.ms": 100}) as cluster:
        cluster.create_topic(TOPIC, PARTITIONS)
        yield cluster


@pytest.fixture
def admin(cluster: EmbeddedCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers})


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_consumers_share_the_partitions_and_go_on_where_the_group_was(cluster: EmbeddedCluster, strategy: str) -> None:
    for partition in range(PARTITIONS):
        produce(cluster.bootstrap_servers, values(10, f"p{partition}-"), partition)
    first = Reader(cluster.bootstrap_servers, partition_assignment_strategy=strategy)
    poll_until(lambda: len(first.values) == 40, first)
    first.consumer.commit(asynchronous=False)
    second = Reader(cluster.bootstrap_servers, partition_assignment_strategy=strategy)
    poll_until(lambda: share_all(first, second), first, second)
    first.consumer.close()
    poll_until(lambda: second.partitions == frozenset(range(PARTITIONS)), second)
    second.consumer.close()
    produce(cluster.bootstrap_servers, [b"new"], 1)
    third = Reader(cluster.bootstrap_servers, partition_assignment_strategy=strategy)
    poll_until(lambda: b"new" in third.values, third)
    third.consumer.close()
    assert (len(first.values), second.values, third.values) == (40, [], [b"new"])


def test_a_group_is_described_and_its_offsets_altered(cluster: EmbeddedCluster, admin: AdminClient) -> None:
    produce(cluster.bootstrap_servers, values(10))
    reader = Reader(cluster.bootstrap_servers)
    poll_until(lambda: len(reader.values) == 10, reader)
    reader.consumer.commit(asynchronous=False)
    group = admin.describe_consumer_groups(["g"])["g"].result(PATIENCE_S)
    assert (group.state.name, len(group.members), group.partition_assignor) == ("STABLE", 1, "range")
    assert {each.partition for each in group.members[0].assignment.topic_partitions} == set(range(PARTITIONS))
    reader.consumer.close()

    found = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("g")])["g"].result(PATIENCE_S)
    assert {each.partition: each.offset for each in found.topic_partitions}[0] == 10
    back = ConsumerGroupTopicPartitions("g", [TopicPartition("t", 0, 4)])
    admin.alter_consumer_group_offsets([back])["g"].result(PATIENCE_S)
    again = Reader(cluster.bootstrap_servers)
    poll_until(lambda: len(again.values) == 6, again)
    with pytest.raises(KafkaException, match="The group is not empty"):
        admin.delete_consumer_groups(["g"])["g"].result(PATIENCE_S)
    again.consumer.close()
    admin.delete_consumer_groups(["g"])["g"].result(PATIENCE_S)
    listed = admin.list_consumer_groups().result(PATIENCE_S)
    assert [each.group_id for each in listed.valid] == []


def test_the_coordinator_moves_and_the_group_goes_on() -> None:
    with EmbeddedCluster(
        2, settings={"group.initial.rebalance.delay.ms": 100, "offsets.topic.num.partitions": 1}
    ) as two:
        two.create_topic(TOPIC, PARTITIONS)
        reader = Reader(two.bootstrap_servers)
        poll_until(lambda: len(reader.partitions) == PARTITIONS, reader)
        produce(two.bootstrap_servers, [b"a"])
        poll_until(lambda: reader.values == [b"a"], reader)
        reader.consumer.commit(asynchronous=False)
        told = len(reader.assignments)
        leader = two.metadata.topic("__consumer_offsets").partitions[0].leader_id  # type: ignore[union-attr]
        two.move_leader("__consumer_offsets", 0, 3 - leader)
        produce(two.bootstrap_servers, [b"b"])
        poll_until(lambda: reader.values == [b"a", b"b"], reader)
        reader.consumer.commit(asynchronous=False)
        assert len(reader.assignments) == told
        [committed] = reader.consumer.committed([TopicPartition("t", 0)])
        assert committed.offset == 2
        reader.consumer.close()


async def test_an_aiokafka_consumer_joins_commits_and_goes_on(cluster: EmbeddedCluster) -> None:
    async def consume(count: int) -> list[bytes | None]:
        consumer: Any = AIOKafkaConsumer(  # type: ignore[no-untyped-call]
            "t", bootstrap_servers=cluster.bootstrap_servers, group_id="aio", auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            found = [(await asyncio.wait_for(consumer.getone(), PATIENCE_S)).value for _ in range(count)]
            await consumer.commit()
        finally:
            await consumer.stop()
        return found

    await asyncio.to_thread(produce, cluster.bootstrap_servers, [b"a", b"b"])
    assert await consume(2) == [b"a", b"b"]
    await asyncio.to_thread(produce, cluster.bootstrap_servers, [b"c"])
    assert await consume(1) == [b"c"]
