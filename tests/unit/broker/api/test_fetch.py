import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_groups.protocol.messages.fetch import (
    NO_DIVERGENCE,
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
)
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
    for version in (12, 16):
        topic: dict[str, Any] = {"topic": "t"} if version == 12 else {"topic_id": broker.topic_id("t")}
        request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=(FetchTopic(partitions=(part,), **topic),))
        data = (await answers(broker, request, version))[0]
        assert data.error_code is code
        is_hinted = version == 16 and code is ErrorCode.FENCED_LEADER_EPOCH
        assert data.current_leader.leader_id == (0 if is_hinted else -1)


async def diverging(
    broker: HandlerBroker, offset: int, epoch: int, *, version: int = 12, **fields: Any
) -> PartitionData:
    part = FetchPartition(
        partition=0, fetch_offset=offset, last_fetched_epoch=epoch, partition_max_bytes=LARGE, **fields
    )
    topic = FetchTopic(topic="t", partitions=(part,))
    return (await answers(broker, FetchRequest(max_wait_ms=0, min_bytes=1, topics=(topic,)), version))[0]


def truncated_broker(*, brokers: int = 1) -> HandlerBroker:
    """A broker whose log has offsets 0 to 3 of epoch 0, and 4 and 5 of epoch 2."""
    broker = broker_with({0: 2}, brokers=brokers)
    for _ in range(2):
        broker.metadata.move_leader(TopicPartition("t", 0), 0)
    broker.log("t").append(BATCH, 2, 0)
    return broker


@pytest.mark.parametrize(
    ("offset", "epoch", "end"),
    [
        (50, 0, (0, 4)),
        (5, 0, (0, 4)),
        (6, 1, (0, 4)),
        (7, 2, (2, 6)),
        (4, 1, (0, 4)),
        (4, 0, None),
        (6, 2, None),
        (2, 0, None),
        (50, -1, ErrorCode.OFFSET_OUT_OF_RANGE),
        (0, 3, ErrorCode.OFFSET_OUT_OF_RANGE),
        (3, 0, None),
    ],
)
async def test_a_consumer_learns_where_the_log_diverges(
    offset: int, epoch: int, end: tuple[int, int] | ErrorCode | None
) -> None:
    data = await diverging(truncated_broker(), offset, epoch)
    error = end if isinstance(end, ErrorCode) else ErrorCode.NONE
    assert data.error_code is error
    expected = EpochEndOffset(epoch=end[0], end_offset=end[1]) if isinstance(end, tuple) else NO_DIVERGENCE
    assert data.diverging_epoch == expected
    if isinstance(end, tuple):
        assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (6, 6, 0)
        assert (data.records, data.aborted_transactions) == (b"", None)


async def test_what_is_before_the_start_of_the_log_is_out_of_range_even_if_it_diverges() -> None:
    broker = truncated_broker()
    broker.log("t").delete_records(2)
    assert (await diverging(broker, 1, 1)).error_code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert (await diverging(broker, 4, 1)).diverging_epoch == EpochEndOffset(epoch=0, end_offset=4)


async def test_the_leader_epoch_is_checked_before_the_log() -> None:
    broker = truncated_broker()
    data = await diverging(broker, 50, 0, current_leader_epoch=1)
    assert (data.error_code, data.diverging_epoch) == (ErrorCode.FENCED_LEADER_EPOCH, NO_DIVERGENCE)


async def test_a_session_tells_a_divergence_each_time() -> None:
    broker = truncated_broker()
    part = FetchPartition(partition=0, fetch_offset=5, last_fetched_epoch=0, partition_max_bytes=LARGE)
    opening = FetchRequest(
        max_wait_ms=0, min_bytes=1, session_epoch=0, topics=(FetchTopic(topic="t", partitions=(part,)),)
    )
    session = (await broker.ask(opening, 12)).session_id
    for epoch in (1, 2):
        request = FetchRequest(max_wait_ms=0, min_bytes=1, session_id=session, session_epoch=epoch)
        assert [data.diverging_epoch.end_offset for data in (await answers(broker, request)).values()] == [4]


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


def test_a_fetch_whose_log_diverges_does_not_wait() -> None:
    async def main(simulation: Simulation) -> tuple[int, ErrorCode]:
        broker = broker_with({0: 1}, clock=simulation.clock)
        start_ms = broker.clock.now_ms()
        part = FetchPartition(partition=0, fetch_offset=9, last_fetched_epoch=0, partition_max_bytes=LARGE)
        request = FetchRequest(max_wait_ms=500, min_bytes=1, topics=(FetchTopic(topic="t", partitions=(part,)),))
        data = (await answers(broker, request))[0]
        assert data.diverging_epoch == EpochEndOffset(epoch=0, end_offset=2)
        return broker.clock.now_ms() - start_ms, data.error_code

    assert run_simulated(main, seed=1) == (0, ErrorCode.NONE)


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
