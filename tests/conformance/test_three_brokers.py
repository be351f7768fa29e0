"""Scenarios 34, 35, 38, 39: leaders and coordinators that move, and brokers that die, in clusters of three brokers."""

import logging
from typing import Any

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.memory import Link, MemoryNetwork, Passage
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import decode_request_header
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.types import AcknowledgeType
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.consuming import PATIENCE_S, Countdown, consume, values, values_of
from tests.support.targets import EXPLICIT, GROUP_DEFAULTS
from tests.support.three_brokers import TRIO_SETTINGS, EmbeddedTrio, Trio


async def new_group(trio: Trio) -> str:
    group_id = unique("group")
    client = trio.client()
    await client.coordinator_of(group_id)
    await client.set_group_config(group_id, GROUP_DEFAULTS)
    return group_id


async def produced(trio: Trio, count: int, prefix: str = "value", topic: Topic | None = None) -> Topic:
    """A topic of one partition on all brokers, with records that are a batch each."""
    topic = topic or await trio.client().create_topic(replicas=3)
    await trio.client().produce_each(topic, values(count, prefix))
    return topic


async def settle(consumer: AsyncKafkaShareConsumer[Any, Any], records: Any, kind: AcknowledgeType) -> list[Any]:
    """Acknowledge records and return the results."""
    for record in records:
        consumer.acknowledge(record, kind)
    return list((await consumer.commit_sync()).values())


async def accept_all(consumer: AsyncKafkaShareConsumer[Any, Any], wanted: set[bytes]) -> dict[bytes, int]:
    """Accept records until all of these values have come; return the last delivery count of each."""
    counts: dict[bytes, int] = {}
    time = Countdown(3 * PATIENCE_S)
    while wanted - counts.keys() and time.left_s:
        for record in await consumer.poll(timeout=1):
            assert record.value is not None
            counts[record.value] = record.delivery_count
            consumer.acknowledge(record)
        await consumer.commit_sync()
    assert not wanted - counts.keys()
    return counts


async def later_values(consumer: AsyncKafkaShareConsumer[Any, Any], count: int, time: Countdown) -> list[bytes]:
    """The records with the prefix "later", sorted, once there are so many. Others may come again."""
    seen: set[bytes] = set()
    while len(seen) < count and time.left_s:
        seen |= {each for each in values_of(await consumer.poll(timeout=1)) if each.startswith(b"later")}
    return sorted(seen)


class MetadataRequests:
    """Counts the metadata requests of clients in memory."""

    def __init__(self) -> None:
        self.count = 0

    def on_connect(self, _address: str) -> Passage:
        """Let everyone connect."""
        return Passage()

    def on_frame(self, link: Link, payload: bytes) -> Passage:
        """Look at requests."""
        if link.to_server and decode_request_header(payload).api_key == ApiKey.METADATA:
            self.count += 1
        return Passage()


async def test_34_a_moved_leader_is_followed(trio: Trio) -> None:
    topic = await produced(trio, 3)
    await trio.unsettle(topic, 0)
    async with trio.consumer(await new_group(trio)) as consumer:
        await consumer.subscribe([topic.name])
        first = await consume(consumer, 3)
        before = await trio.client().leader_id_of(topic.name, 0)
        await trio.brokers.move_leader(topic, 0)
        client = trio.client()
        await until(lambda: client.leader_id_of(topic.name, 0), lambda leader: leader != before)
        await produced(trio, 3, "later", topic)
        seen = await later_values(consumer, 3, Countdown())
    assert values_of(first) == values(3)
    assert seen == values(3, "later")


async def test_34_the_response_that_names_the_new_leader_saves_a_metadata_request() -> None:
    network = MemoryNetwork()
    asked = MetadataRequests()
    network.plan = asked
    async with EmbeddedCluster(3, network=network, settings=TRIO_SETTINGS) as cluster:
        trio = Trio(EmbeddedTrio(cluster), is_real=False)
        topic = await produced(trio, 1)
        async with trio.consumer(await new_group(trio), metadata_max_age_ms=300_000) as consumer:
            await consumer.subscribe([topic.name])
            await consume(consumer, 1)
            await consumer.commit_sync()
            before = asked.count
            await trio.brokers.move_leader(topic, 0)
            cluster.produce(topic.name, [b"later"])
            assert values_of(await consume(consumer, 1)) == [b"later"]
            assert asked.count == before
        await trio.close()


async def test_35_acknowledgements_of_a_moved_partition_are_reported(trio: Trio) -> None:
    topic = await produced(trio, 4)
    await trio.unsettle(topic, 0)
    group_id = await new_group(trio)
    async with trio.consumer(group_id, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        records = await consume(consumer, 4)
        before = await trio.client().leader_id_of(topic.name, 0)
        await trio.brokers.move_leader(topic, 0)
        client = trio.client()
        await until(lambda: client.leader_id_of(topic.name, 0), lambda leader: leader != before)
        [error] = await settle(consumer, records, AcknowledgeType.ACCEPT)
        assert error is not None
        assert (await accept_all(consumer, set(values(4)))).keys() == set(values(4))


async def test_38_membership_survives_a_coordinator_that_moves(trio: Trio, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka_groups.group")
    topic = await produced(trio, 2)
    group_id = await new_group(trio)
    async with trio.consumer(group_id) as consumer:
        await consumer.subscribe([topic.name])
        await consume(consumer, 2)
        before = await trio.client().describe_group(group_id)
        coordinator = await trio.coordinator_of(group_id)
        await trio.stop(coordinator)
        client = trio.client()
        await until(lambda: trio.coordinator_of(group_id), lambda node_id: node_id != coordinator)
        after = await until(lambda: client.describe_group(group_id), lambda group: group.group_state == "Stable")
        if not trio.is_real:  # Kafka describes an older epoch for a while
            assert (after.group_epoch, after.assignment_epoch) == (before.group_epoch, before.assignment_epoch)
        assert [member.member_id for member in after.members] == [member.member_id for member in before.members]
        await produced(trio, 2, "later", topic)
        assert await later_values(consumer, 2, Countdown(2 * PATIENCE_S)) == values(2, "later")
    assert sum("joined the share group" in record.message for record in caplog.records) == 1
    assert not [record.message for record in caplog.records if "rejoins" in record.message]


async def test_39_what_was_settled_survives_a_broker_that_dies(trio: Trio) -> None:
    topic = await produced(trio, 8)
    group_id = await new_group(trio)
    async with trio.consumer(group_id, **EXPLICIT) as consumer:
        await consumer.subscribe([topic.name])
        records = await consume(consumer, 8)
        assert await settle(consumer, records[:3], AcknowledgeType.ACCEPT) == [None]
        assert await settle(consumer, records[3:4], AcknowledgeType.REJECT) == [None]
        assert await settle(consumer, records[4:6], AcknowledgeType.RELEASE) == [None]
        leader = await trio.client().leader_id_of(topic.name, 0)
        await trio.kill(leader)
        client = trio.client()
        await until(lambda: client.leader_id_of(topic.name, 0), lambda node_id: node_id != leader)
        for record in records[6:]:
            consumer.acknowledge(record, AcknowledgeType.RELEASE)
        await consumer.commit_sync()  # the leader that knew of these two is dead
        counts = await accept_all(consumer, set(values(8)[4:]))
        await trio.restart(leader)
        await produced(trio, 1, "later", topic)
        counts |= await accept_all(consumer, {b"later-0000"})
    assert counts.keys() == {*values(8)[4:], b"later-0000"}
    assert [counts[value] for value in values(8)[4:6]] == [2, 2]
    progress = await trio.client().progress(group_id, topic)
    assert progress[0].lag == 0
