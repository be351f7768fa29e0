import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.types import TopicPartition
from tests.support.broker.broker_services import HandlerBroker, all_versions

BATCH = build_batch([NewRecord(b"v" * 50), NewRecord(b"w" * 50)])
LARGE = 1_000_000


def broker_with(batches: Mapping[int, int], *, brokers: int = 1, clock: Any = None) -> HandlerBroker:
    broker = HandlerBroker(brokers, clock=clock)
    topic = broker.metadata.create_topic("t", len(batches))
    for partition in topic.partitions:
        if partition.leader_id != 0:
            broker.metadata.move_leader(TopicPartition("t", partition.partition), 0)
    for index, count in batches.items():
        for _ in range(count):
            broker.log("t", index).append(BATCH, 0, 0)
    return broker


def fetch(
    partitions: Mapping[int, int], *, topic_id: UUID | None = None, partition_max_bytes: int = LARGE, **fields: Any
) -> FetchRequest:
    parts = tuple(
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=partition_max_bytes)
        for index, offset in partitions.items()
    )
    topic = FetchTopic(topic_id=topic_id, topic="" if topic_id else "t", partitions=parts)
    return FetchRequest(**{"max_wait_ms": 0, "min_bytes": 1, "topics": (topic,), **fields})


async def answers(broker: HandlerBroker, request: FetchRequest, version: int = 12) -> dict[int, PartitionData]:
    response = await broker.ask(request, version)
    assert response.error_code is ErrorCode.NONE
    return {data.partition_index: data for topic in response.responses for data in topic.partitions}


def offsets(data: PartitionData) -> list[int]:
    return [batch.header.base_offset for batch in iter_batches(data.records)]


@pytest.mark.parametrize("version", all_versions(FetchRequest))
async def test_every_version_reads(version: int) -> None:
    broker = broker_with({0: 3})
    topic_id = broker.topic_id("t") if version >= 13 else None
    response = await broker.ask(fetch({0: 2}, topic_id=topic_id), version)
    (topic,) = response.responses
    assert (topic.topic_id, topic.topic) == (topic_id, "" if topic_id else "t")
    (data,) = topic.partitions
    assert data.error_code is ErrorCode.NONE
    assert (data.high_watermark, data.last_stable_offset) == (6, 6)
    assert data.log_start_offset == (0 if version >= 5 else -1)
    assert data.aborted_transactions is None
    assert offsets(data) == [2, 4]


async def test_an_offset_within_a_batch_gives_the_batch() -> None:
    assert offsets((await answers(broker_with({0: 2}), fetch({0: 3})))[0]) == [2]


async def test_read_committed_has_no_aborted_transactions() -> None:
    data = (await answers(broker_with({0: 1}), fetch({0: 0}, isolation_level=1)))[0]
    assert data.aborted_transactions == ()
    assert offsets(data) == [0]


async def test_limits_of_the_partition_and_of_the_response() -> None:
    broker = broker_with({0: 5, 1: 5, 2: 5})
    size = len(BATCH)
    everything = fetch({0: 0, 1: 0, 2: 0}, partition_max_bytes=2 * size)
    assert [len(offsets(d)) for d in (await answers(broker, everything)).values()] == [2, 2, 2]
    capped = fetch({0: 0, 1: 0, 2: 0}, partition_max_bytes=2 * size, max_bytes=3 * size)
    assert [len(offsets(d)) for d in (await answers(broker, capped)).values()] == [2, 1, 0]


async def test_the_first_partition_with_data_gives_at_least_one_batch() -> None:
    broker = broker_with({0: 0, 1: 2, 2: 2})
    tiny = fetch({0: 0, 1: 0, 2: 0}, partition_max_bytes=1)
    assert [len(offsets(d)) for d in (await answers(broker, tiny)).values()] == [0, 1, 0]
    tiny_response = fetch({0: 0, 1: 0, 2: 0}, max_bytes=1)
    assert [len(offsets(d)) for d in (await answers(broker, tiny_response)).values()] == [0, 1, 0]


async def test_the_brokers_own_limit() -> None:
    broker = HandlerBroker(settings={"fetch.max.bytes": 1_024})
    broker.metadata.create_topic("t")
    for _ in range(20):
        broker.log("t").append(BATCH, 0, 0)
    records = (await answers(broker, fetch({0: 0})))[0].records
    assert records is not None
    assert 1_024 - len(BATCH) < len(records) <= 1_024


async def test_errors_of_partitions() -> None:
    broker = broker_with({0: 1})
    data = await answers(broker, fetch({0: 3, 5: 0}))
    assert data[0].error_code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert (data[0].high_watermark, data[0].records) == (-1, b"")
    assert data[5].error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (data[0].aborted_transactions, data[5].aborted_transactions) == (None, ())
    broker.log("t").delete_records(1)
    assert (await answers(broker, fetch({0: 0})))[0].error_code is ErrorCode.OFFSET_OUT_OF_RANGE


async def test_unknown_topics() -> None:
    broker = HandlerBroker()
    assert (await answers(broker, fetch({0: 0})))[0].error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    by_id = await answers(broker, fetch({0: 0}, topic_id=UUID(int=9)), 13)
    assert by_id[0].error_code is ErrorCode.UNKNOWN_TOPIC_ID


async def test_another_leader_is_told_with_its_address() -> None:
    broker = broker_with({0: 1}, brokers=2)
    broker.metadata.move_leader(TopicPartition("t", 0), 1)
    response = await broker.ask(fetch({0: 0}, topic_id=broker.topic_id("t")))
    (data,) = response.responses[0].partitions
    assert data.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert data.current_leader == LeaderIdAndEpoch(leader_id=1, leader_epoch=1)
    assert response.node_endpoints == (NodeEndpoint(node_id=1, host="host1", port=9093),)


@pytest.mark.parametrize(
    ("epoch", "code"), [(0, ErrorCode.FENCED_LEADER_EPOCH), (1, ErrorCode.NONE), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
async def test_leader_epochs(epoch: int, code: ErrorCode) -> None:
    broker = broker_with({0: 1})
    broker.metadata.move_leader(TopicPartition("t", 0), 0)
    part = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=LARGE, current_leader_epoch=epoch)
    request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=(FetchTopic(topic="t", partitions=(part,)),))
    data = (await answers(broker, request))[0]
    assert data.error_code is code
    assert data.current_leader.leader_id == (0 if code is ErrorCode.FENCED_LEADER_EPOCH else -1)


async def test_a_session_tells_only_news() -> None:
    broker = broker_with({0: 1, 1: 1})
    first = await broker.ask(fetch({0: 0, 1: 0}, session_id=0, session_epoch=0), 12)
    session = first.session_id
    second = await broker.ask(fetch({0: 2, 1: 2}, session_id=session, session_epoch=1), 12)
    assert (second.session_id, second.responses) == (session, ())
    broker.log("t", 1).append(BATCH, 0, 0)
    third = await broker.ask(FetchRequest(max_wait_ms=0, min_bytes=1, session_id=session, session_epoch=2), 12)
    assert [[offsets(d) for d in topic.partitions] for topic in third.responses] == [[[2]]]


@pytest.mark.parametrize(
    ("session_id", "epoch", "code"),
    [(99, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND), (1, 7, ErrorCode.INVALID_FETCH_SESSION_EPOCH)],
)
async def test_errors_of_sessions(session_id: int, epoch: int, code: ErrorCode) -> None:
    broker = broker_with({0: 1})
    assert (await broker.ask(fetch({0: 0}, session_epoch=0), 12)).session_id == 1
    response = await broker.ask(fetch({}, session_id=session_id, session_epoch=epoch), 12)
    assert (response.error_code, response.session_id, response.responses) == (code, 0, ())


# ------------------------------------------------------------------------------------------- waiting


async def waited_ms(broker: HandlerBroker, request: FetchRequest, after_100_ms: Any = None) -> tuple[int, list[int]]:
    start_ms = broker.clock.now_ms()
    response = asyncio.ensure_future(broker.ask(request, 12))
    if after_100_ms is not None:
        asyncio.get_running_loop().call_later(0.1, lambda: asyncio.ensure_future(after_100_ms()))
    data = [d for topic in (await response).responses for d in topic.partitions]
    return broker.clock.now_ms() - start_ms, [offset for d in data for offset in offsets(d)]


def produce(partition: int = 0) -> ProduceRequest:
    data = TopicProduceData(name="t", partition_data=(PartitionProduceData(index=partition, records=BATCH),))
    return ProduceRequest(acks=1, timeout_ms=0, topic_data=(data,))


def test_a_fetch_waits_for_records_until_its_time_is_up() -> None:
    async def main(simulation: Simulation) -> tuple[int, list[int]]:
        broker = broker_with({0: 1}, clock=simulation.clock)
        return await waited_ms(broker, fetch({0: 2}, max_wait_ms=500))

    assert run_simulated(main, seed=1) == (500, [])


def test_a_fetch_ends_when_records_come() -> None:
    async def main(simulation: Simulation) -> tuple[int, list[int]]:
        broker = broker_with({0: 1, 1: 1}, clock=simulation.clock)
        return await waited_ms(broker, fetch({0: 2, 1: 2}, max_wait_ms=500), lambda: broker.ask(produce(1), 9))

    assert run_simulated(main, seed=1) == (100, [2])


def test_a_fetch_waits_for_min_bytes() -> None:
    async def main(simulation: Simulation) -> tuple[int, list[int]]:
        broker = broker_with({0: 1}, clock=simulation.clock)
        request = fetch({0: 0}, max_wait_ms=500, min_bytes=2 * len(BATCH) + 1)
        return await waited_ms(broker, request, lambda: broker.ask(produce(), 9))

    assert run_simulated(main, seed=1) == (500, [0, 2])


def test_enough_bytes_are_given_at_once() -> None:
    async def main(simulation: Simulation) -> tuple[int, list[int]]:
        broker = broker_with({0: 2}, clock=simulation.clock)
        return await waited_ms(broker, fetch({0: 0}, max_wait_ms=500, min_bytes=2 * len(BATCH)))

    assert run_simulated(main, seed=1) == (0, [0, 2])


@pytest.mark.parametrize("partition", [0, 3])
def test_an_error_is_told_at_once(partition: int) -> None:
    async def main(simulation: Simulation) -> tuple[int, list[int]]:
        broker = broker_with({0: 1}, clock=simulation.clock)
        return await waited_ms(broker, fetch({partition: 9}, max_wait_ms=500))

    assert run_simulated(main, seed=1) == (0, [])


def test_a_fetch_does_not_wait_for_a_deleted_topic() -> None:
    async def main(simulation: Simulation) -> int:
        broker = broker_with({0: 1}, clock=simulation.clock)
        topic_id = broker.topic_id("t")

        def wake(_image: MetadataImage, delta: MetadataDelta) -> None:
            for partition in delta.lost_partitions():
                broker.services.purgatory.notify(partition)

        broker.metadata.on_change(wake)
        delete = DeleteTopicsRequest(topics=(DeleteTopicState(topic_id=topic_id),), timeout_ms=0)
        waited, _ = await waited_ms(broker, fetch({0: 2}, max_wait_ms=500), lambda: broker.ask(delete))
        return waited

    assert run_simulated(main, seed=1) == 100
