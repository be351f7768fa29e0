"""Java writes and reads the batches of our producer."""

import random
from collections.abc import Iterator

import pytest

from kafka_groups.protocol.compression import Compression
from kafka_groups.records.batches.building import BatchSettings, ProducerBatch
from kafka_groups.records.producing.producer_ids import ProducerIdAndEpoch
from kafka_groups.types import TopicPartition
from tests.recording.java_producer_batches import DRIVER, java_reading, recorded, some_records
from tests.support.kafka.java_program import JavaProgram
from tests.support.kafka.kafka_classpath import kafka_classpath, libs_or_skip

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]

PRODUCER = ProducerIdAndEpoch(5, 1)


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProgram]:
    directory = tmp_path_factory.mktemp("batches")
    with JavaProgram(DRIVER, directory, kafka_classpath(libs_or_skip())) as driver:
        yield driver


def test_java_reads_what_was_recorded(java: JavaProgram) -> None:
    for batch in recorded():
        assert java_reading(java, batch.data) == (
            batch.producer, batch.sequence, batch.is_transactional, batch.records,
        )  # fmt: skip


@pytest.mark.parametrize("compression", Compression)
@pytest.mark.parametrize("count", [1, 3, 2_000])
def test_java_reads_our_batches(java: JavaProgram, compression: Compression, count: int) -> None:
    records = some_records(random.Random(count), count)
    batch = ProducerBatch(TopicPartition("t", 0), 1 << 30, BatchSettings(compression))
    for record in records:
        batch.add(batch.count, record.timestamp_ms, record.key, record.value, [*record.headers])
        batch.count += 1
    batch.encode(1, 1, 1)
    assert java_reading(java, batch.encode(PRODUCER.producer_id, PRODUCER.epoch, 77)) == (PRODUCER, 77, False, records)
