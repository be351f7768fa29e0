"""An outage of all brokers, as librdkafka's clients tell it."""

from functools import partial

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.librdkafka.deliveries import OutgoingRecord
from kafka_groups.librdkafka.partition_reader import PartitionReader
from kafka_groups.librdkafka.record_writer import RecordWriter
from kafka_groups.net.clock import SystemClock
from kafka_groups.testing import FAST_SETTINGS
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until

PLACE = TopicPartition("t", 0)
SECONDS = 8


@pytest.mark.slow
def test_an_outage_of_some_seconds_makes_a_handful_of_lines(caplog: pytest.LogCaptureFixture) -> None:
    """A client that has lost all brokers tries ten times a second, and used to log an error each time."""
    clock = SystemClock()
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        cluster.create_topic("t", 1)
        config = {"bootstrap.servers": cluster.bootstrap_servers}
        readers = [PartitionReader(config, "g") for _ in range(3)]
        writer = RecordWriter(config)
        for reader in readers:
            reader.assign({PLACE: 0})

        def turn() -> bool:
            writer.write(OutgoingRecord("t", b"k", b"v"))
            for reader in readers:
                reader.read(100, 0.02)
            return bool(caplog.records)

        writer.write(OutgoingRecord("t", b"k", b"v"))
        writer.flush(10)
        for reader in readers:
            wait_until(partial(has_read, reader))
        cluster.kill_broker(1)
        wait_until(turn, 60)
        end_ms = clock.now_ms() + SECONDS * 1_000
        wait_until(lambda: turn() and clock.now_ms() >= end_ms, 60)
        writer.purge()
        for reader in readers:
            reader.close()
    said = [(record.name, record.levelname) for record in caplog.records]
    assert set(said) == {("kafka_groups.librdkafka", "WARNING")}
    assert 2 <= len(said) <= 6


def has_read(reader: PartitionReader) -> bool:
    return bool(reader.read(100, 0.1))
