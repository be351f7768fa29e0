import pytest

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_groups.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.types import TopicPartition
from tests.support.broker.broker_services import HandlerBroker, all_versions


def broker_with(*batches: list[int], brokers: int = 1) -> HandlerBroker:
    broker = HandlerBroker(brokers)
    broker.metadata.create_topic("t")
    for times in batches:
        broker.log("t").append(build_batch([NewRecord(b"v", timestamp_ms=ms) for ms in times]), 0, 0)
    return broker


async def find(
    broker: HandlerBroker, timestamp: int, version: int = 11, *, partition: int = 0, topic: str = "t", epoch: int = -1
) -> ListOffsetsPartitionResponse:
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch)
    request = ListOffsetsRequest(topics=(ListOffsetsTopic(name=topic, partitions=(wanted,)),))
    response = await broker.ask(request, version)
    found: ListOffsetsPartitionResponse = response.topics[0].partitions[0]
    return found


def triple(found: ListOffsetsPartitionResponse) -> tuple[ErrorCode, int, int]:
    return found.error_code, found.offset, found.timestamp


@pytest.mark.parametrize("version", all_versions(ListOffsetsRequest))
async def test_start_end_and_time_in_every_version(version: int) -> None:
    broker = broker_with([10, 30], [20, 40])
    broker.log("t").delete_records(1)
    assert triple(await find(broker, -2, version)) == (ErrorCode.NONE, 1, -1)
    assert triple(await find(broker, -1, version)) == (ErrorCode.NONE, 4, -1)
    assert triple(await find(broker, 31, version)) == (ErrorCode.NONE, 3, 40)
    assert triple(await find(broker, 41, version)) == (ErrorCode.NONE, -1, -1)


@pytest.mark.parametrize(
    ("timestamp", "first_version", "expected"),
    [
        (-3, 7, (ErrorCode.NONE, 1, 50)),
        (-4, 8, (ErrorCode.NONE, 0, -1)),
        (-5, 9, (ErrorCode.NONE, -1, -1)),
        (-6, 11, (ErrorCode.NONE, -1, -1)),
        (-7, 12, None),
    ],
)
async def test_special_timestamps_need_a_version(
    timestamp: int, first_version: int, expected: tuple[ErrorCode, int, int] | None
) -> None:
    broker = broker_with([10, 50], [20])
    for version in all_versions(ListOffsetsRequest):
        found = await find(broker, timestamp, version)
        if version < first_version:
            assert triple(found) == (ErrorCode.UNSUPPORTED_VERSION, -1, -1)
        else:
            assert triple(found) == expected


async def test_leader_epochs_of_what_was_found() -> None:
    broker = broker_with([10])
    broker.metadata.move_leader(TopicPartition("t", 0), 0)
    broker.log("t").append(build_batch([NewRecord(b"v", timestamp_ms=20)]), 1, 0)
    broker.metadata.move_leader(TopicPartition("t", 0), 0)
    assert [(await find(broker, timestamp)).leader_epoch for timestamp in (-2, 15, -3, -1)] == [0, 1, 1, 2]


async def test_an_empty_log() -> None:
    broker = broker_with()
    assert triple(await find(broker, -2)) == triple(await find(broker, -1)) == (ErrorCode.NONE, 0, -1)
    assert triple(await find(broker, -3)) == triple(await find(broker, 0)) == (ErrorCode.NONE, -1, -1)


async def test_errors() -> None:
    broker = broker_with([10], brokers=2)
    assert (await find(broker, -1, topic="nope")).error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await find(broker, -1, partition=1)).error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await find(broker, -1, epoch=1)).error_code is ErrorCode.UNKNOWN_LEADER_EPOCH
    broker.metadata.move_leader(TopicPartition("t", 0), 1)
    assert (await find(broker, -1, epoch=0)).error_code is ErrorCode.FENCED_LEADER_EPOCH
    assert (await find(broker, -1)).error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER


# --------------------------------------------------------------------------------------- delete records


async def delete(
    broker: HandlerBroker, offset: int, version: int = 2, *, topic: str = "t", partition: int = 0
) -> DeleteRecordsPartitionResult:
    wanted = DeleteRecordsPartition(partition_index=partition, offset=offset)
    request = DeleteRecordsRequest(topics=(DeleteRecordsTopic(name=topic, partitions=(wanted,)),), timeout_ms=1_000)
    result: DeleteRecordsPartitionResult = (await broker.ask(request, version)).topics[0].partitions[0]
    return result


@pytest.mark.parametrize("version", all_versions(DeleteRecordsRequest))
async def test_records_are_deleted_in_every_version(version: int) -> None:
    broker = broker_with([10, 20, 30])
    result = await delete(broker, 2, version)
    assert (result.error_code, result.low_watermark) == (ErrorCode.NONE, 2)
    assert broker.log("t").log_start_offset == 2
    assert (await delete(broker, -1, version)).low_watermark == 3


async def test_what_cannot_be_deleted() -> None:
    broker = broker_with([10, 20, 30], brokers=2)
    for offset in (4, -2):
        result = await delete(broker, offset)
        assert (result.error_code, result.low_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert (await delete(broker, 1, topic="nope")).error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await delete(broker, 1, partition=4)).error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.metadata.move_leader(TopicPartition("t", 0), 1)
    assert (await delete(broker, 1)).error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert broker.log("t").log_start_offset == 0


async def test_compacted_topics_delete_nothing() -> None:
    broker = HandlerBroker()
    broker.metadata.create_topic("t", 1, 1, {"cleanup.policy": "compact"})
    assert (await delete(broker, 0)).error_code is ErrorCode.POLICY_VIOLATION
    broker.metadata.create_topic("both", 1, 1, {"cleanup.policy": "compact,delete"})
    assert (await delete(broker, 0, topic="both")).error_code is ErrorCode.NONE
