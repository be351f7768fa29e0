"""Scenarios 36, 37, 40, 41: connections and brokers that fail."""

import asyncio
from typing import Any

import attrs
import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.metadata.placement import SHARE_STATE_TOPIC
from kafka_groups.errors import BrokerError
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_fetch import ShareFetchResponse
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.parts import Environment
from tests.support.cluster_client import ClusterClient, Topic
from tests.support.members.consuming import Countdown, consume, values, values_of
from tests.support.requests.rewriting_network import RewritingNetwork
from tests.support.targets import EMBEDDED_PROPERTIES, GROUP_DEFAULTS, Target, everywhere

QUICK_RETRIES: dict[str, Any] = {"reconnect_backoff_ms": 10, "reconnect_backoff_max_ms": 50, "retry_backoff_ms": 10}


@everywhere
@pytest.mark.parametrize(("every", "partitions", "prefetch_batches"), [(2, 1, 0), (3, 2, 1)])
async def test_36_all_records_are_consumed_though_connections_are_cut_on_fetches(
    target: Target, every: int, partitions: int, prefetch_batches: int
) -> None:
    # A cut session loses what it holds, and each lost delivery counts. When every second fetch is cut, the fetch of a
    # session that comes through must be the one whose records are acknowledged by the next: so there is no fetching
    # ahead then, and one partition, as the second fetch of a session begins with the second partition.
    topic = await target.cluster.create_topic(partitions)
    group_id = await target.group_of(topic, range(partitions), {"share.delivery.count.limit": "10"})
    produced = [values(80 // partitions, f"p{partition}") for partition in range(partitions)]
    for partition, of_partition in enumerate(produced):
        await target.cluster.produce_each(topic, of_partition, partition)

    cut = target.cutting(every)
    try:
        seen: set[bytes] = set()
        async with target.consumer(
            group_id, bootstrap_servers=cut.bootstrap_servers, max_poll_records=10, fetch_max_records=10,
            fetch_max_wait_ms=100, prefetch_batches=prefetch_batches, **QUICK_RETRIES,
        ) as consumer:  # fmt: skip
            await consumer.subscribe([topic.name])
            time = Countdown()
            while len(seen) < 80 and time.left_s:
                seen |= set(values_of(await consumer.poll(timeout=1)))
            struck = cut.struck()
            await drained(consumer, target, group_id, topic)
    finally:
        cut.close()

    assert sorted(seen) == [value for of_partition in produced for value in of_partition]
    assert struck >= 3


async def drained(consumer: AsyncKafkaShareConsumer[Any, Any], target: Target, group_id: str, topic: Topic) -> None:
    """Poll on until every record is accepted; acknowledgements may have been lost with their connection."""
    time = Countdown()
    while time.left_s:
        await consumer.poll(timeout=0.1)
        progress = await target.cluster.progress(group_id, topic)
        if all(part.lag == 0 for part in progress.values()):
            return
    raise AssertionError(f"not drained: {progress}")


@everywhere
@pytest.mark.parametrize(
    "code", [ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.SHARE_SESSION_LIMIT_REACHED, ErrorCode.UNKNOWN_SERVER_ERROR]
)
async def test_37_a_persistent_error_gives_a_bounded_request_rate(target: Target, code: ErrorCode) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(3))
    asked = 0
    errors: list[BrokerError] = []

    def refuse(response: ShareFetchResponse) -> ShareFetchResponse:
        nonlocal asked
        asked += 1
        return attrs.evolve(response, error_code=code, responses=())

    network = RewritingNetwork(target.network, {ApiKey.SHARE_FETCH: refuse})
    async with target.consumer(group_id, network=network, fetch_max_wait_ms=0) as consumer:
        await consumer.subscribe([topic.name])
        time = Countdown(1.5)
        while time.left_s:
            try:
                assert not await consumer.poll(timeout=time.left_s)
            except BrokerError as error:
                errors.append(error)

    assert {error.code for error in errors} <= {code}
    assert 2 <= asked <= 10  # a back-off from 100 ms to 1 s allows about five


@everywhere
async def test_40_closing_with_a_fetch_in_flight_loses_no_acknowledgement(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(5))
    loop = asyncio.get_running_loop()

    consumer = target.consumer(group_id, acknowledgement_mode="explicit", fetch_max_wait_ms=1_000)
    await consumer.subscribe([topic.name])
    for record in await consume(consumer, 5):
        consumer.acknowledge(record)
        if record.offset == 2:
            consumer.commit_async()  # goes with a fetch or alone; what follows waits behind it
    closing_at = loop.time()
    await consumer.close(timeout=10)

    assert loop.time() - closing_at < 4
    assert (await target.cluster.progress(group_id, topic))[0].lag == 0


@everywhere
async def test_40_closing_while_a_poll_waits_for_records(target: Target) -> None:
    topic = await target.cluster.create_topic()
    group_id = await target.group_of(topic)
    await target.cluster.produce(topic, values(5))
    loop = asyncio.get_running_loop()

    consumer = target.consumer(group_id, fetch_max_wait_ms=1_000)
    await consumer.subscribe([topic.name])
    await consume(consumer, 5)
    assert not await consumer.poll(timeout=0.05)  # accepts; its fetch is still held by the broker
    closing_at = loop.time()
    await consumer.close(timeout=10)

    assert loop.time() - closing_at < 4
    assert (await target.cluster.progress(group_id, topic))[0].lag == 0


async def test_41_one_slow_broker_does_not_delay_the_others() -> None:
    # Embedded only: it takes three brokers, one of which can be slowed down from outside.
    network = MemoryNetwork()
    async with EmbeddedCluster(3, network=network, settings=EMBEDDED_PROPERTIES) as brokers:
        host, _, port = brokers.bootstrap_servers.partition(",")[0].rpartition(":")
        cluster = ClusterClient(network, host, int(port))
        topic = await cluster.create_topic(6)
        leaders = {partition: brokers.leader_of(topic.name, partition) for partition in range(6)}
        group_id = "group"
        await cluster.set_group_config(group_id, GROUP_DEFAULTS)
        coordinator = brokers.metadata.coordinator_of(group_id)
        slow = next(node_id for node_id in (2, 3) if node_id != coordinator)  # broker 1 answers the test's questions
        async with AsyncKafkaShareConsumer(
            environment=Environment(network=network), bootstrap_servers=brokers.bootstrap_servers, group_id=group_id
        ) as consumer:
            await consumer.subscribe([topic.name])
            for partition in range(6):
                await cluster.produce(topic, [b"first"], partition)
            await consume(consumer, 6)
            # As in Kafka, acknowledgements wait for the coordinator of their state.
            states = brokers.metadata.topic(SHARE_STATE_TOPIC)
            assert states is not None
            for state in states.partitions:
                brokers.move_leader(SHARE_STATE_TOPIC, state.partition, 1)
            brokers.faults.slow_down(slow, 3_000)
            loop = asyncio.get_running_loop()
            begin = loop.time()
            for _ in range(10):
                for partition in (partition for partition, leader in leaders.items() if leader != slow):
                    await cluster.produce(topic, [b"quick"], partition)
                await consume(consumer, sum(leader != slow for leader in leaders.values()))
            took_s = loop.time() - begin
            brokers.faults.clear()
        await cluster.close()

    assert set(leaders.values()) == {1, 2, 3}
    assert took_s < 3  # not even one answer of the slow broker
