"""A record is read without the group, with all its columns."""

from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import delay
from kafka_groups.errors import (
    NetworkError,
    OffsetOutOfRangeError,
    OperationTimeoutError,
    TopicAuthorizationFailedError,
)
from kafka_groups.librdkafka.partition_reader import PartitionReader, ReadRecord
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.spark.records.schema import RECORD_SCHEMA
from kafka_groups.spark.source.peek import peek
from kafka_groups.types import TopicPartition

PLACE = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("t")
        cluster.produce("t", [b"a", b"b"], keys=[b"k", b"l"], headers=[("h", b"x")])
        yield cluster


def keys(cluster: EmbeddedCluster) -> dict[str, object]:
    return {"bootstrap_servers": cluster.bootstrap_servers, "group_id": "g", "max_poll_records": 5}


def test_the_record_at_an_offset_has_all_columns(cluster: EmbeddedCluster) -> None:
    piece = peek(keys(cluster), PLACE, 1, 60.0)
    assert piece.table.schema == RECORD_SCHEMA
    (row,) = piece.table.to_pylist()
    assert row.pop("timestamp") is not None
    assert row == {
        "topic": "t",
        "partition": 0,
        "offset": 1,
        "timestampType": 0,
        "key": b"l",
        "value": b"b",
        "headers": [{"key": "h", "value": b"x"}],
        "delivery_count": 1,
    }


def test_a_record_that_was_deleted_is_replaced_by_the_next(cluster: EmbeddedCluster) -> None:
    admin, upto = AdminClient({"bootstrap.servers": cluster.bootstrap_servers}), Position("t", 0, 1)
    assert admin.delete_records([upto])[upto].result(60).low_watermark == 1
    assert peek(keys(cluster), PLACE, 0, 60.0).table["value"].to_pylist() == [b"b"]


def test_the_wait_for_a_record_begins_when_the_log_s_end_is_known(cluster: EmbeddedCluster) -> None:
    slow = cluster.faults.on(ApiKey.LIST_OFFSETS, delay(500), times=1)
    with pytest.raises(OperationTimeoutError, match="no record of t-0 from offset 2 on"):
        peek(keys(cluster), PLACE, 2, 0.2)
    assert slow.hits == 1


def test_an_offset_behind_the_log_is_an_error(cluster: EmbeddedCluster) -> None:
    with pytest.raises(OffsetOutOfRangeError, match="t-0"):
        peek(keys(cluster), PLACE, 7, 60.0)


@pytest.mark.parametrize(("skipped", "value"), [(0, b"b"), (1, b"a"), (2, b"b"), (3, b"a")])
def test_records_are_skipped_in_turn(cluster: EmbeddedCluster, skipped: int, value: bytes) -> None:
    assert peek(keys(cluster), PLACE, 1, 60.0, skipped=skipped).table["value"].to_pylist() == [value]


def test_errors_that_pass_are_tried_again_until_the_time_is_up(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, failures = PartitionReader.read, [NetworkError("cut"), NetworkError("cut again")]

    def failing(reader: PartitionReader, most: int, timeout_s: float) -> list[ReadRecord]:
        if failures:
            raise failures.pop()
        return read(reader, most, timeout_s)

    monkeypatch.setattr(PartitionReader, "read", failing)
    assert peek(keys(cluster), PLACE, 1, 60.0).table["value"].to_pylist() == [b"b"]
    failures[:] = [NetworkError("cut")] * 9
    with pytest.raises(NetworkError, match="cut"):
        peek(keys(cluster), PLACE, 1, 0.5)


def test_a_final_error_ends_the_attempt(cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def failing(_reader: PartitionReader, _most: int, _timeout_s: float) -> list[ReadRecord]:
        calls.append(1)
        raise TopicAuthorizationFailedError("no")

    monkeypatch.setattr(PartitionReader, "read", failing)
    with pytest.raises(TopicAuthorizationFailedError):
        peek(keys(cluster), PLACE, 1, 60.0)
    assert len(calls) == 1
