"""A record is read without the group, with all its columns."""

from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import OffsetOutOfRangeError, OperationTimeoutError
from kafka_groups.spark.records.schema import RECORD_SCHEMA
from kafka_groups.spark.source.peeking import peek
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
    piece = peek(keys(cluster), PLACE, 1, 20.0)
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
    assert admin.delete_records([upto])[upto].result(20.0).low_watermark == 1
    assert peek(keys(cluster), PLACE, 0, 20.0).table["value"].to_pylist() == [b"b"]


def test_no_record_and_an_offset_behind_the_log_are_errors(cluster: EmbeddedCluster) -> None:
    with pytest.raises(OperationTimeoutError, match="no record of t-0 from offset 2 on"):
        peek(keys(cluster), PLACE, 2, 0.4)
    with pytest.raises(OffsetOutOfRangeError, match="t-0"):
        peek(keys(cluster), PLACE, 7, 20.0)


@pytest.mark.parametrize(("skipped", "value"), [(0, b"b"), (1, b"a"), (2, b"b"), (3, b"a")])
def test_records_are_skipped_in_turn(cluster: EmbeddedCluster, skipped: int, value: bytes) -> None:
    assert peek(keys(cluster), PLACE, 1, 20.0, skipped=skipped).table["value"].to_pylist() == [value]
