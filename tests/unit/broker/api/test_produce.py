import asyncio
from uuid import UUID

import pytest

from kafka_groups.broker.requests.context import UnansweredError
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CooperativeYield
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from kafka_groups.types import TopicIdPartition, TopicPartition
from tests.support.broker.broker_services import HandlerBroker, all_versions

BATCH = build_batch([NewRecord(b"a"), NewRecord(b"b")])


def produce(
    *, name: str = "", topic_id: UUID | None = None, index: int = 0, records: bytes | None = BATCH, acks: int = -1
) -> ProduceRequest:
    data = TopicProduceData(
        name=name, topic_id=topic_id, partition_data=(PartitionProduceData(index=index, records=records),)
    )
    return ProduceRequest(acks=acks, timeout_ms=1_000, topic_data=(data,))


def only(response: ProduceResponse) -> PartitionProduceResponse:
    (topic,) = response.responses
    (partition,) = topic.partition_responses
    return partition


async def test_every_version_appends() -> None:
    broker = HandlerBroker()
    topic = broker.metadata.create_topic("t", 1)
    for number, version in enumerate(all_versions(ProduceRequest)):
        request = produce(topic_id=topic.topic_id) if version >= 13 else produce(name="t")
        response = await broker.ask(request, version)
        assert response.responses[0].name == ("t" if version < 13 else "")
        assert response.responses[0].topic_id == (topic.topic_id if version >= 13 else None)
        assert only(response).error_code is ErrorCode.NONE
        assert only(response).base_offset == 2 * number
        assert only(response).log_start_offset == (0 if version >= 5 else -1)
    assert broker.log("t").end_offset == 2 * len(all_versions(ProduceRequest))


async def test_acks_0_appends_without_a_response() -> None:
    broker = HandlerBroker()
    broker.metadata.create_topic("t")
    assert await broker.ask(produce(name="t", acks=0), 9) is None
    assert broker.log("t").end_offset == 2


async def test_what_is_refused_with_acks_0_ends_the_connection() -> None:
    broker = HandlerBroker()
    with pytest.raises(UnansweredError, match="acks=0 were refused: UNKNOWN_TOPIC_OR_PARTITION"):
        await broker.ask(produce(name="nope", acks=0), 9)


async def test_other_acks_are_refused() -> None:
    broker = HandlerBroker()
    broker.metadata.create_topic("t")
    assert only(await broker.ask(produce(name="t", acks=2), 9)).error_code is ErrorCode.INVALID_REQUIRED_ACKS
    assert broker.log("t").end_offset == 0


async def test_unknown_topics_and_partitions() -> None:
    broker = HandlerBroker()
    topic = broker.metadata.create_topic("t")
    by_name = await broker.ask(produce(name="nope"), 12)
    assert only(by_name).error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    by_id = await broker.ask(produce(topic_id=UUID(int=5)), 13)
    assert only(by_id).error_code is ErrorCode.UNKNOWN_TOPIC_ID
    for index in (1, -1):
        response = await broker.ask(produce(topic_id=topic.topic_id, index=index), 13)
        assert only(response).error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert only(response).base_offset == -1
    assert len(broker.metadata.topics()) == 1


async def test_another_leader_is_told_with_its_address() -> None:
    broker = HandlerBroker(brokers=2)
    broker.metadata.create_topic("t")
    broker.metadata.move_leader(TopicPartition("t", 0), 1)
    response = await broker.ask(produce(topic_id=broker.topic_id("t")))
    assert only(response).error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert only(response).current_leader == LeaderIdAndEpoch(leader_id=1, leader_epoch=1)
    assert response.node_endpoints == (NodeEndpoint(node_id=1, host="host1", port=9093),)
    older = await broker.ask(produce(name="t"), 9)
    assert only(older).error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert older.node_endpoints == ()


async def test_each_partition_has_its_own_answer() -> None:
    broker = HandlerBroker()
    broker.metadata.create_topic("t", 2)
    partitions = tuple(PartitionProduceData(index=i, records=r) for i, r in ((1, BATCH), (7, BATCH), (0, b"")))
    request = ProduceRequest(acks=1, timeout_ms=0, topic_data=(TopicProduceData(name="t", partition_data=partitions),))
    (topic,) = (await broker.ask(request, 12)).responses
    assert [(p.index, p.error_code) for p in topic.partition_responses] == [
        (1, ErrorCode.NONE),
        (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (0, ErrorCode.INVALID_RECORD),
    ]
    assert "exactly one record batch" in topic.partition_responses[2].error_message


REFUSED = {
    "two batches": (BATCH + BATCH, ErrorCode.INVALID_RECORD),
    "no records": (None, ErrorCode.INVALID_RECORD),
    "a wrong checksum": (BATCH[:-1] + b"\x01", ErrorCode.CORRUPT_MESSAGE),
    "too large": (build_batch([NewRecord(bytes(2_000))]), ErrorCode.MESSAGE_TOO_LARGE),
    "transactional": (
        build_batch([NewRecord(b"")], 0, BatchOptions(is_transactional=True)),
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
}


@pytest.mark.parametrize(("records", "code"), REFUSED.values(), ids=REFUSED.keys())
async def test_refused_batches(records: bytes | None, code: ErrorCode) -> None:
    broker = HandlerBroker()
    topic = broker.metadata.create_topic("t", 1, 1, {"max.message.bytes": "1000"})
    assert only(await broker.ask(produce(topic_id=topic.topic_id, records=records))).error_code is code
    assert broker.log("t").end_offset == 0


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
async def test_records_because_of_which_a_batch_is_refused_are_named(codec: Compression) -> None:
    broker = HandlerBroker()
    compacted = broker.metadata.create_topic("c", 1, 1, {"cleanup.policy": "compact"})
    plain = broker.metadata.create_topic("p")
    late_ms, options = broker.clock.wall_ms() + 3_600_001, BatchOptions(compression=codec)
    good, late = NewRecord(b"v", b"k"), NewRecord(b"v", b"k", late_ms)
    keyless, both = NewRecord(b"v"), NewRecord(b"v", None, late_ms)

    async def refused(topic_id: UUID, *records: NewRecord, version: int = 13) -> tuple[ErrorCode, list[int]]:
        batch = build_batch(records, 0, options)
        name = "p" if version < 13 else ""
        request = produce(topic_id=None if name else topic_id, name=name, records=batch)
        found = only(await broker.ask(request, version))
        assert all(each.batch_index_error_message for each in found.record_errors)
        return found.error_code, [each.batch_index for each in found.record_errors]

    assert await refused(compacted.topic_id, good, keyless, good, keyless) == (ErrorCode.INVALID_RECORD, [1, 3])
    assert await refused(compacted.topic_id, keyless, good, late) == (ErrorCode.INVALID_TIMESTAMP, [0, 2])
    assert await refused(compacted.topic_id, good, both) == (ErrorCode.INVALID_RECORD, [1])
    assert await refused(plain.topic_id, good, both, late) == (ErrorCode.INVALID_TIMESTAMP, [1, 2])
    assert await refused(plain.topic_id, late, version=7) == (ErrorCode.INVALID_TIMESTAMP, [])
    assert await refused(plain.topic_id, good, keyless) == (ErrorCode.NONE, [])


async def test_zstd_needs_version_7() -> None:
    broker = HandlerBroker()
    broker.metadata.create_topic("t")
    records = build_batch([NewRecord(b"v" * 50)], 0, BatchOptions(compression=Compression.ZSTD))
    old = only(await broker.ask(produce(name="t", records=records), 6))
    assert old.error_code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert only(await broker.ask(produce(name="t", records=records), 7)).error_code is ErrorCode.NONE


async def test_log_append_time_is_told() -> None:
    broker = HandlerBroker()
    topic = broker.metadata.create_topic("t", 1, 1, {"message.timestamp.type": "LogAppendTime"})
    response = only(await broker.ask(produce(topic_id=topic.topic_id)))
    assert response.log_append_time_ms == broker.clock.wall_ms()
    (batch,) = iter_batches(broker.log("t").read(0, 1_000).records)
    assert batch.header.max_timestamp_ms == broker.clock.wall_ms()


async def test_the_leader_epoch_is_written_into_the_batch() -> None:
    broker = HandlerBroker(brokers=2)
    topic = broker.metadata.create_topic("t")
    broker.metadata.move_leader(TopicPartition("t", 0), 1)
    broker.metadata.move_leader(TopicPartition("t", 0), 0)
    await broker.ask(produce(topic_id=topic.topic_id))
    (batch,) = iter_batches(broker.log("t").read(0, 1_000).records)
    assert batch.header.leader_epoch == 2


async def test_an_append_wakes_those_who_wait_for_the_partition() -> None:
    broker = HandlerBroker()
    topic = broker.metadata.create_topic("t")
    log = broker.log("t")

    async def has_records() -> bool:
        return log.end_offset > 0

    partition, deadline_ms = TopicIdPartition(topic.topic_id, 0), broker.clock.now_ms() + 60_000
    waiting = asyncio.ensure_future(
        broker.services.purgatory.wait([partition], has_records, deadline_ms, CooperativeYield())
    )
    await asyncio.sleep(0)
    await broker.ask(produce(topic_id=topic.topic_id))
    assert await waiting


async def test_sequence_errors_reach_the_producer() -> None:
    broker = HandlerBroker()
    broker.metadata.create_topic("t")
    producer = await broker.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0))

    def batch(sequence: int, epoch: int = 1) -> bytes:
        options = BatchOptions(producer_id=producer.producer_id, producer_epoch=epoch, base_sequence=sequence)
        return build_batch([NewRecord(b"v")], 0, options)

    answers = [only(await broker.ask(produce(name="t", records=batch(n)), 9)) for n in (0, 1, 0, 5)]
    assert [(answer.error_code, answer.base_offset) for answer in answers] == [
        (ErrorCode.NONE, 0),
        (ErrorCode.NONE, 1),
        (ErrorCode.NONE, 0),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1),
    ]
    fenced = only(await broker.ask(produce(name="t", records=batch(0, epoch=0)), 9))
    assert fenced.error_code is ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("version", all_versions(InitProducerIdRequest))
async def test_producer_ids_are_new_each_time(version: int) -> None:
    broker = HandlerBroker()
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
    first, second = await broker.ask(request, version), await broker.ask(request, version)
    assert (first.error_code, first.producer_epoch) == (ErrorCode.NONE, 0)
    assert first.producer_id != second.producer_id


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (InitProducerIdRequest(transactional_id="", transaction_timeout_ms=60_000), ErrorCode.INVALID_REQUEST),
        (
            InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000, producer_id=1),
            ErrorCode.INVALID_REQUEST,
        ),
    ],
    ids=["an empty id", "a producer id without an epoch"],
)
async def test_refused_questions_for_a_producer_id(request_: InitProducerIdRequest, code: ErrorCode) -> None:
    response = await HandlerBroker().ask(request_)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (code, -1, -1)
