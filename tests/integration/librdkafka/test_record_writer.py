"""A writer of one's own: it knows where its records are, and its transactions succeed as a whole or not at all."""

from collections.abc import Iterator

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.errors import ConfigurationError, DeliveryFailedError, TransactionFailedError
from kafka_groups.librdkafka.deliveries import OutgoingRecord
from kafka_groups.librdkafka.durable_producer import DurableProducer
from kafka_groups.librdkafka.partition_reader import BEGINNING, PartitionReader
from kafka_groups.librdkafka.record_writer import RecordWriter
from kafka_groups.net.clock import SystemClock
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TopicPartition
from tests.support.kafka.real_kafka import unique

PATIENCE_S = 60.0


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        cluster.create_topic("t", 2)
        yield cluster


def record(topic: str, value: bytes, partition: int = 0) -> OutgoingRecord:
    return OutgoingRecord(topic, b"k", value, partition=partition)


def test_a_writer_knows_where_its_records_are(cluster: EmbeddedCluster) -> None:
    places: list[tuple[str, int]] = []
    writer = RecordWriter(
        {"bootstrap.servers": cluster.bootstrap_servers}, lambda at, offset: places.append((str(at), offset))
    )
    for partition, value in ((0, b"a"), (1, b"b"), (0, b"c")):
        writer.write(record("t", value, partition))
    writer.flush(PATIENCE_S)
    assert sorted(places) == [("t-0", 0), ("t-0", 1), ("t-1", 0)]
    assert (writer.written, writer.failed) == (3, 0)
    assert [each.value for each in cluster.records("t")] == [b"a", b"c", b"b"]


def test_the_time_0_is_written_as_1_and_a_record_without_time_as_now(cluster: EmbeddedCluster) -> None:
    config = {"bootstrap.servers": cluster.bootstrap_servers}
    writer, producer = RecordWriter(config), DurableProducer(config)
    for time_ms in (0, 1, None):
        writer.write(OutgoingRecord("t", b"k", b"v", partition=0, timestamp_ms=time_ms))
        producer.produce("t", key=b"k", value=b"v", partition=1, timestamp_ms=time_ms)
    begun_ms = SystemClock().wall_ms() - 3_600_000
    writer.flush(PATIENCE_S)
    producer.flush(PATIENCE_S)
    for partition in (0, 1):
        times = [each.timestamp_ms for each in cluster.records("t") if each.partition == partition]
        assert times[:2] == [1, 1]
        assert (times[2] or 0) > begun_ms


def test_a_record_that_is_refused_is_reported_once(cluster: EmbeddedCluster) -> None:
    writer = RecordWriter({"bootstrap.servers": cluster.bootstrap_servers})
    writer.write(record("t", b"v", 7))
    with pytest.raises(DeliveryFailedError, match=r"1 record; the first: t-7"):
        writer.flush(PATIENCE_S)
    writer.write(record("t", b"fine"))
    writer.flush(PATIENCE_S)
    assert writer.written == 1


def test_purged_records_are_not_waited_for() -> None:
    writer = RecordWriter({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    writer.write(record("t", b"v"))
    writer.purge()
    with pytest.raises(DeliveryFailedError) as raised:
        writer.flush(PATIENCE_S)
    assert (raised.value.failed, raised.value.unanswered) == (1, 0)


def test_writing_less_durably_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="acks"):
        RecordWriter({"bootstrap.servers": "127.0.0.1:1", "acks": 1})


# ------------------------------------------------------------------------------------------- transactions


def transactional(kafka: KafkaProcess, transactional_id: str) -> RecordWriter:
    writer = RecordWriter({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": transactional_id})
    writer.init_transactions(PATIENCE_S)
    return writer


@pytest.mark.slow
@pytest.mark.real_kafka
def test_a_writer_that_was_replaced_fails_and_leaves_nothing(real_kafka: KafkaProcess) -> None:
    topic, transactional_id = unique("out"), unique("writer")
    first = transactional(real_kafka, transactional_id)
    for value in (b"kept", b"aborted"):
        first.begin_transaction()
        first.write(record(topic, value))
        first.flush(PATIENCE_S)
        if value == b"kept":
            first.commit_transaction({}, None, PATIENCE_S)
    second = transactional(real_kafka, transactional_id)
    with pytest.raises(TransactionFailedError, match="the transaction failed"):
        first.commit_transaction({}, None, PATIENCE_S)
    second.begin_transaction()
    second.write(record(topic, b"next"))
    second.flush(PATIENCE_S)
    second.commit_transaction({}, None, PATIENCE_S)
    with PartitionReader({"bootstrap.servers": real_kafka.bootstrap_servers}, "g") as reader:
        reader.assign({TopicPartition(topic, 0): BEGINNING})
        values: list[bytes | None] = []
        while len(values) < 2:
            values += [each.value for each in reader.read(10, PATIENCE_S)]
    assert values == [b"kept", b"next"]


@pytest.mark.slow
@pytest.mark.real_kafka
def test_a_record_that_is_refused_fails_its_transaction(real_kafka: KafkaProcess) -> None:
    topic = unique("out")
    writer = transactional(real_kafka, unique("writer"))
    writer.begin_transaction()
    writer.write(record(topic, b"fine"))
    writer.write(record(topic, b"x" * 2_000_000))
    with pytest.raises(TransactionFailedError, match="No broker has confirmed 1 record;"):
        writer.flush(PATIENCE_S)
