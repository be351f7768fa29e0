"""Reading assigned partitions, from an embedded broker and, with transactions, from a real Kafka."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import NetworkError, OffsetOutOfRangeError, OperationTimeoutError
from kafka_groups.librdkafka.partition_reader import BEGINNING, PartitionReader, log_ends
from kafka_groups.net.clock import SystemClock
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TopicPartition
from tests.support.kafka.real_kafka import unique

PATIENCE_S = 60.0
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("t", 2)
        cluster.produce("t", [b"%d" % number for number in range(10)], partition=0, headers=[("h", b"1"), ("h", b"2")])
        yield cluster


@pytest.fixture
def reader(cluster: EmbeddedCluster) -> Iterator[PartitionReader]:
    with PartitionReader({"bootstrap.servers": cluster.bootstrap_servers}, "g") as reader:
        yield reader


def delete_before(cluster: EmbeddedCluster, offset: int) -> None:
    admin, upto = AdminClient({"bootstrap.servers": cluster.bootstrap_servers}), Position("t", 0, offset)
    assert admin.delete_records([upto])[upto].result(PATIENCE_S).low_watermark == offset


def offsets(reader: PartitionReader, count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        found += [record.offset for record in reader.read(1_000, PATIENCE_S)]
    return found


def test_records_have_all_their_parts_and_come_without_waiting_for_more(reader: PartitionReader) -> None:
    clock = SystemClock()
    reader.assign({T0: 3})
    started_ms = clock.now_ms()
    first, *_ = reader.read(1_000, PATIENCE_S)
    assert clock.now_ms() - started_ms < PATIENCE_S * 1000 / 2
    assert (first.topic, first.partition, first.offset, first.key, first.value) == ("t", 0, 3, None, b"3")
    assert first.headers == [("h", b"1"), ("h", b"2")]
    assert first.timestamp_ms is not None
    assert not first.is_append_time


def test_positions_follow_what_was_read(reader: PartitionReader) -> None:
    reader.assign({T0: BEGINNING, T1: BEGINNING})
    assert reader.position(T1) == 0
    assert offsets(reader, 10) == list(range(10))
    assert (reader.position(T0), reader.position(T1)) == (10, 0)
    assert reader.read(1_000, 0) == []


def test_an_assigned_partition_is_read_again_from_another_offset(reader: PartitionReader) -> None:
    reader.assign({T0: 9})
    reader.assign({T0: 8})
    assert reader.position(T0) == 8
    assert offsets(reader, 2) == [8, 9]
    reader.assign({T0: 2})
    assert reader.position(T0) == 2
    assert offsets(reader, 8) == list(range(2, 10))


def test_an_unassigned_partition_is_not_read(cluster: EmbeddedCluster, reader: PartitionReader) -> None:
    reader.assign({T0: 0, T1: 0})
    assert reader.read(1, PATIENCE_S)
    reader.unassign([T0])
    cluster.produce("t", [b"other"], partition=1)
    assert [record.partition for record in reader.read(1_000, PATIENCE_S)] == [1]


def test_an_offset_that_is_gone_is_an_error_and_other_partitions_are_read_on(
    cluster: EmbeddedCluster, reader: PartitionReader
) -> None:
    delete_before(cluster, 4)
    reader.assign({T0: 2})
    with pytest.raises(OffsetOutOfRangeError, match="t-0 cannot be read"):
        reader.read(1_000, PATIENCE_S)
    assert not reader.assigned
    cluster.produce("t", [b"other"], partition=1)
    reader.assign({T1: 0})
    assert [record.value for record in reader.read(1_000, PATIENCE_S)] == [b"other"]
    reader.assign({T0: BEGINNING})
    assert offsets(reader, 6) == list(range(4, 10))


def test_an_empty_log_is_read_to_its_end(cluster: EmbeddedCluster, reader: PartitionReader) -> None:
    delete_before(cluster, 10)
    reader.assign({T0: BEGINNING})
    assert reader.bounds(T0, PATIENCE_S) == (10, 10)
    assert reader.position(T0) == 10


def test_a_topic_is_known_or_not(reader: PartitionReader) -> None:
    assert reader.has_topic("t")
    assert not reader.has_topic("u")


def test_a_broker_that_does_not_answer_is_an_error() -> None:
    with (
        PartitionReader({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, "g") as reader,
        pytest.raises((OperationTimeoutError, NetworkError), match="t-0"),
    ):
        reader.bounds(T0, 0.2)


@pytest.mark.slow
@pytest.mark.real_kafka
def test_a_log_that_ends_with_an_aborted_transaction_is_read_to_its_end(real_kafka: KafkaProcess) -> None:
    topic = unique("log")
    config: dict[str, object] = {"bootstrap.servers": real_kafka.bootstrap_servers}
    producer = Producer({**config, "transactional.id": unique("writer")})
    producer.init_transactions(PATIENCE_S)
    for value in (b"kept", b"aborted"):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush(PATIENCE_S)
        if value == b"kept":
            producer.commit_transaction(PATIENCE_S)
    place = TopicPartition(topic, 0)
    with PartitionReader(config, "g") as reader:
        reader.assign({place: BEGINNING})
        (end,) = log_ends(config, "g", [place], PATIENCE_S).values()
        assert reader.bounds(place, PATIENCE_S) == (0, 2)
        assert end == 3
        values = [record.value for record in reader.read(10, PATIENCE_S)]
        producer.abort_transaction(PATIENCE_S)
        while reader.position(place) < end:
            values += [record.value for record in reader.read(10, 1.0)]
    assert values == [b"kept"]
