"""What users' tests ask of an embedded cluster: records without a producer, and what a group did with them."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager

import pytest

from kafka_groups import AcknowledgeType, AsyncKafkaShareConsumer, KafkaShareConsumer
from kafka_groups.errors import (
    IllegalStateError,
    KafkaGroupsError,
    OperationTimeoutError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.share.parts import Environment
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster, RecordState
from kafka_groups.testing.simulation import Simulation, run_simulated


@pytest.fixture
def cluster(embedded_cluster: EmbeddedCluster) -> EmbeddedCluster:
    embedded_cluster.create_topic("orders", partitions=3)
    embedded_cluster.alter_group_configs(
        "g", {"share.auto.offset.reset": "earliest", "share.delivery.count.limit": "2"}
    )
    return embedded_cluster


@pytest.fixture
def consumer(cluster: EmbeddedCluster) -> Iterator[KafkaShareConsumer]:
    with KafkaShareConsumer(
        bootstrap_servers=cluster.bootstrap_servers, group_id="g", acknowledgement_mode="explicit"
    ) as consumer:
        consumer.subscribe(["orders"])
        yield consumer


def decide(consumer: KafkaShareConsumer, kinds: Mapping[bytes | None, AcknowledgeType]) -> None:
    """Acknowledge every value of the dictionary once, as it says."""
    left = dict(kinds)
    while left:
        for record in consumer.poll(timeout=10):
            consumer.acknowledge(record, left.pop(record.value, AcknowledgeType.RELEASE))
        consumer.commit_sync()


def test_records_of_a_test_reach_a_consumer_with_keys_and_headers(
    cluster: EmbeddedCluster, consumer: KafkaShareConsumer
) -> None:
    placed = cluster.produce("orders", ["a", b"b", None], keys=["k", "k", None], headers=[("h", "x")], partition=1)
    assert placed == [("orders", 1, 0), ("orders", 1, 1), ("orders", 1, 2)]
    records = list(consumer.poll(timeout=10))
    assert [(record.key, record.value, record.headers) for record in records] == [
        (b"k", b"a", [("h", b"x")]),
        (b"k", b"b", [("h", b"x")]),
        (None, None, [("h", b"x")]),
    ]
    assert all(record.timestamp is not None and record.timestamp > 0 for record in records)


def test_records_without_a_partition_go_by_key_or_in_turn(cluster: EmbeddedCluster) -> None:
    assert [place.partition for place in cluster.produce("orders", ["a", "b", "c", "d"])] == [0, 1, 2, 0]
    same = cluster.produce("orders", [str(number) for number in range(20)], keys=["k"] * 20)
    assert len({place.partition for place in same}) == 1
    assert [place.offset for place in same] == list(range(same[0].offset, same[0].offset + 20))
    assert len({place.partition for place in cluster.produce("orders", ["v"] * 50, keys=map(str, range(50)))}) == 3


def test_many_and_large_records_go_into_several_batches(cluster: EmbeddedCluster) -> None:
    places = cluster.produce("orders", [b"x" * 100_000] * 25 + [b"y"] * 2_500, partition=0)
    assert [place.offset for place in places] == list(range(2_525))


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"values": "abc"}, TypeError, r"values='abc': use a list, such as \['abc'\]"),
        ({"values": [1]}, TypeError, "values contains 1: use bytes, text or None"),
        ({"values": ["a"], "keys": ["k", "l"]}, ValueError, "2 keys for 1 values"),
        ({"values": ["a"], "keys": "k"}, TypeError, "keys='k': use a list"),
        ({"values": ["a"], "partition": 3}, ValueError, "partition=3: the topic has partitions 0 to 2"),
        ({"topic": "nothing", "values": ["a"]}, UnknownTopicOrPartitionError, "create it with create_topic"),
    ],
)
def test_what_cannot_be_produced_says_why(
    cluster: EmbeddedCluster, given: dict[str, object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        cluster.produce(**({"topic": "orders"} | given))  # type: ignore[arg-type]


def test_what_a_group_did_with_each_record(cluster: EmbeddedCluster, consumer: KafkaShareConsumer) -> None:
    cluster.produce("orders", ["good", "bad", "slow"], partition=0)
    decide(
        consumer,
        {b"good": AcknowledgeType.ACCEPT, b"bad": AcknowledgeType.REJECT, b"slow": AcknowledgeType.RELEASE},
    )
    group = cluster.group("g")
    assert [each.value for each in group.wait_until_accepted(1)] == [b"good"]
    assert [(each.topic, each.partition, each.offset) for each in group.rejected] == [("orders", 0, 1)]
    assert [(each.value, each.delivery_count) for each in group.released] == [(b"slow", 1)]
    assert (group.lag, group.archived) == (1, [])
    decide(consumer, {b"slow": AcknowledgeType.RELEASE})
    assert [(each.value, each.delivery_count) for each in group.wait_until_archived(["slow"])] == [(b"slow", 2)]
    group.wait_until_lag(0)
    assert len(group.wait_until_members(1)) == 1


def test_waits_end_when_a_consumer_in_another_thread_is_done(
    cluster: EmbeddedCluster, consumer: KafkaShareConsumer
) -> None:
    group = cluster.group("g")
    cluster.produce("orders", ["a", "b"])
    decide(consumer, {b"a": AcknowledgeType.ACCEPT, b"b": AcknowledgeType.ACCEPT})
    assert sorted(each.value or b"" for each in group.wait_until_accepted(["a", "b"])) == [b"a", b"b"]
    assert group.wait_until_rejected(0) == group.wait_until_released(0) == []


def test_a_wait_that_times_out_says_what_the_group_did_instead(
    cluster: EmbeddedCluster, consumer: KafkaShareConsumer
) -> None:
    cluster.produce("orders", ["a", "b"], partition=2)
    decide(consumer, {b"a": AcknowledgeType.ACCEPT, b"b": AcknowledgeType.REJECT})
    with pytest.raises(OperationTimeoutError) as caught:
        cluster.group("g").wait_until_accepted(["a", "b"], timeout=0.01)
    lines = str(caught.value).splitlines()
    waited = "Group 'g': timed out after 0.01 s waiting for the records [b'a', b'b'] to be accepted."
    assert lines[0] == f"{waited} Missing: [b'b']."
    assert lines[1:6] == [
        "  accepted: 1 (orders-2: 0)",
        "  released: none",
        "  rejected: 1 (orders-2: 1)",
        "  archived: none",
        "  lag: 0",
    ]


def test_a_group_that_does_not_exist_has_no_position_and_did_nothing(cluster: EmbeddedCluster) -> None:
    group = cluster.group("nobody")
    assert (group.accepted, group.lag, group.members) == ([], None, [])
    with pytest.raises(OperationTimeoutError, match="The lag is unknown, because the group has no position yet"):
        group.wait_until_lag(0, timeout=0.0)
    with pytest.raises(TypeError, match=r"wanted='a': use a number, or a list of values such as \['a'\]"):
        group.wait_until_accepted("a")


def test_locks_that_expire_and_records_of_a_closed_consumer_are_released_deliveries() -> None:
    async def program(simulation: Simulation) -> None:
        async with simulated_cluster(simulation) as cluster, simulated_consumer(simulation, cluster) as consumer:
            group = cluster.group("g")
            cluster.alter_group_configs("g", {"share.record.lock.duration.ms": "1000"})
            cluster.produce("orders", ["a"])
            assert await consumer.poll(timeout=10)
            assert [each.value for each in await group.wait_until_released_async(1, within=2)] == [b"a"]
            assert await consumer.poll(timeout=10, hold=True)
            await consumer.close()
            assert [each.delivery_count for each in await group.wait_until_released_async(2)] == [1, 2]
            await group.wait_until_members_async(0)
            with pytest.raises(
                OperationTimeoutError, match=r"after 3 s waiting for 1 record to be accepted\. So far: 0\."
            ):
                await group.wait_until_accepted_async(1, within=3)
            with pytest.raises(IllegalStateError, match="Use the method that ends in _async"):
                group.wait_until_accepted(1)

    run_simulated(program, seed=1)


@pytest.mark.parametrize(("settings", "at_least_ms", "at_most_ms"), [(FAST_SETTINGS, 0, 300), ({}, 1_000, 2_000)])
def test_the_first_record_comes_at_once(settings: Mapping[str, object], at_least_ms: int, at_most_ms: int) -> None:
    async def program(simulation: Simulation) -> int:
        async with (
            simulated_cluster(simulation, settings) as cluster,
            simulated_consumer(simulation, cluster) as consumer,
        ):
            cluster.produce("orders", ["a"])
            begun_ms = simulation.clock.now_ms()
            assert await consumer.poll(timeout=10)
            return simulation.clock.now_ms() - begun_ms

    assert at_least_ms <= run_simulated(program, seed=1) <= at_most_ms


def test_a_cluster_that_does_not_run_takes_no_records() -> None:
    with pytest.raises(KafkaGroupsError, match="is not running"):
        EmbeddedCluster().produce("orders", ["a"])


@asynccontextmanager
async def simulated_cluster(
    simulation: Simulation, settings: Mapping[str, object] = FAST_SETTINGS
) -> AsyncIterator[EmbeddedCluster]:
    """A cluster with the topic `orders` in virtual time."""
    async with EmbeddedCluster(network=MemoryNetwork(), clock=simulation.clock, settings=settings) as cluster:
        cluster.create_topic("orders")
        cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
        yield cluster


@asynccontextmanager
async def simulated_consumer(
    simulation: Simulation, cluster: EmbeddedCluster
) -> AsyncIterator[AsyncKafkaShareConsumer]:
    """A subscribed consumer in virtual time."""
    environment = Environment(network=cluster.network, clock=simulation.clock, rng=simulation.rng)
    async with AsyncKafkaShareConsumer(
        environment=environment,
        bootstrap_servers=cluster.bootstrap_servers,
        group_id="g",
        acknowledgement_mode="explicit",
    ) as consumer:
        await consumer.subscribe(["orders"])
        yield consumer


def test_records_in_flight_are_shown_by_state_member_and_lock(
    cluster: EmbeddedCluster, consumer: KafkaShareConsumer
) -> None:
    group = cluster.group("g")
    assert group.in_flight == []
    cluster.produce("orders", ["a", "b", "c", "d"], partition=1)
    records = consumer.poll(timeout=10)
    (run,) = group.in_flight
    assert (run.topic, run.partition, run.first_offset, run.last_offset, len(run)) == ("orders", 1, 0, 3, 4)
    assert (run.state, run.member_id, run.delivery_count) == (RecordState.ACQUIRED, consumer.member_id, 1)
    assert run.lock_remaining_ms is not None
    assert 0 < run.lock_remaining_ms <= 30_000
    kinds = [AcknowledgeType.RELEASE, AcknowledgeType.RENEW, AcknowledgeType.ACCEPT, AcknowledgeType.REJECT]
    for record, kind in zip(records, kinds, strict=True):
        consumer.acknowledge(record, kind)
    consumer.commit_sync()
    shown = [(run.first_offset, run.state, run.member_id is None, run.delivery_count) for run in group.in_flight]
    assert shown[1:] == [
        (1, RecordState.ACQUIRED, False, 1),
        (2, RecordState.ACKNOWLEDGED, True, 1),
        (3, RecordState.ARCHIVED, True, 1),
    ]
    assert shown[0] in [
        (0, RecordState.AVAILABLE, True, 1),
        (0, RecordState.ACQUIRED, False, 2),
    ]  # it may be prefetched
    assert cluster.group("other").in_flight == []


async def test_records_in_flight_are_forgotten_with_their_leader_until_they_are_fetched_again() -> None:
    async with EmbeddedCluster(2, network=MemoryNetwork(), settings=FAST_SETTINGS) as cluster:
        cluster.create_topic("orders", replication_factor=2)
        cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
        cluster.produce("orders", ["a"])
        async with AsyncKafkaShareConsumer(
            bootstrap_servers=cluster.bootstrap_servers, group_id="g", environment=Environment(cluster.network)
        ) as consumer:
            await consumer.subscribe(["orders"])
            assert await consumer.poll(timeout=10)
            group, leader = cluster.group("g"), cluster.leader_of("orders", 0)
            assert [run.delivery_count for run in group.in_flight] == [1]
            await cluster.stop_broker_async(leader)
            assert group.in_flight == []
            assert await consumer.poll(timeout=20)
            assert [(run.state, run.first_offset) for run in group.in_flight] == [(RecordState.ACQUIRED, 0)]


async def test_records_in_flight_die_with_their_leader_before_anybody_notices() -> None:
    async with EmbeddedCluster(2, network=MemoryNetwork(), settings=FAST_SETTINGS) as cluster:
        cluster.create_topic("orders", replication_factor=2)
        cluster.alter_group_configs("g", {"share.auto.offset.reset": "earliest"})
        cluster.produce("orders", ["a"])
        async with AsyncKafkaShareConsumer(
            bootstrap_servers=cluster.bootstrap_servers, group_id="g", environment=Environment(cluster.network)
        ) as consumer:
            await consumer.subscribe(["orders"])
            assert await consumer.poll(timeout=10)
            leader = cluster.leader_of("orders", 0)
            await cluster.kill_broker_async(leader, noticed_after_ms=500)
            assert cluster.leader_of("orders", 0) == leader
            assert cluster.group("g").in_flight == []
            assert await consumer.poll(timeout=20)


def test_what_the_brokers_wrote_to_the_groups_dead_letter_queue(
    cluster: EmbeddedCluster, consumer: KafkaShareConsumer
) -> None:
    assert cluster.group("g").dead_letters == []
    cluster.create_topic("dlq.g", configs={"errors.deadletterqueue.group.enable": "true"})
    queue = {"errors.deadletterqueue.topic.name": "dlq.g", "errors.deadletterqueue.copy.record.enable": "true"}
    cluster.alter_group_configs("g", queue)
    cluster.produce("dlq.g", ["not a letter"])
    cluster.produce("orders", ["a", "b"], keys=["k", None], partition=2)
    decide(consumer, {b"a": AcknowledgeType.REJECT, b"b": AcknowledgeType.ACCEPT})
    group = cluster.group("g")
    [ended] = group.wait_until_dead_lettered(["a"])
    assert (ended.topic, ended.partition, ended.offset, ended.delivery_count) == ("orders", 2, 0, 1)
    assert group.dead_lettered == group.rejected == [ended]
    [letter] = group.dead_letters
    assert (letter.topic, letter.partition, letter.offset, letter.delivery_count) == ("orders", 2, 0, 1)
    assert (letter.reason, letter.key, letter.value) == ("Offset rejected by client.", b"k", b"a")
    assert (letter.written.topic, letter.written.offset) == ("dlq.g", 1)
    assert cluster.group("other").dead_letters == []
    with pytest.raises(
        OperationTimeoutError, match=r"2 records to be dead-lettered\.[^$]*dead-lettered: 1 \(orders-2: 0\)"
    ):
        group.wait_until_dead_lettered(2, timeout=0.01)
