"""What an ordered writer writes is read with the same key, value, headers and time."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from kafka_groups.errors import OperationTimeoutError
from kafka_groups.librdkafka.ordered_writer import OrderedWriter
from kafka_groups.librdkafka.partition_poller import PartitionPoller
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.librdkafka.transactional_writer import TransactionalWriter
from kafka_groups.records.interface import ListedRecords
from kafka_groups.testing import EmbeddedCluster, KafkaProcess
from kafka_groups.types import FetchedRecord, TopicPartition
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real_kafka)])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "real":
        kafka: KafkaProcess = request.getfixturevalue("real_kafka")
        yield kafka.bootstrap_servers
    else:
        with EmbeddedCluster() as cluster:
            yield cluster.bootstrap_servers


def written(servers: str, *times_ms: int) -> list[FetchedRecord]:
    """Write a record for each time, and read them all."""
    place = TopicPartition(unique("times"), 0)
    create_topics({"bootstrap.servers": servers}, {place.topic: 1})
    writer = OrderedWriter({"bootstrap.servers": servers})
    for time_ms in times_ms:
        writer.write_tracked(place.topic, b"k", b"v", time_ms, (("h", b"1"),), 0)
    writer.flush(30)
    writer.close()
    assert writer.written == {place: len(times_ms)}
    return read(servers, place, len(times_ms))


def read(servers: str, place: TopicPartition, count: int) -> list[FetchedRecord]:
    poller, found = PartitionPoller({"bootstrap.servers": servers}, "g"), list[FetchedRecord]()
    poller.assign({place: 0})

    def has_all() -> bool:
        found.extend(poller.poll(count).batches.get(place, ListedRecords()).records())
        return len(found) == count

    wait_until(has_all)
    poller.close()
    return found


def test_records_keep_their_parts_and_times_and_the_time_0_becomes_1(servers: str) -> None:
    times_ms = (0, 1, 5, 1_700_000_000_000, 0)
    records = written(servers, *times_ms)
    assert [record.timestamp_ms for record in records] == [1, 1, 5, 1_700_000_000_000, 1]
    assert {(record.key, record.value, tuple(record.headers)) for record in records} == {(b"k", b"v", (("h", b"1"),))}


@pytest.mark.parametrize("is_transactional", [False, True])
def test_a_partition_that_is_newer_than_the_producers_metadata_is_written_to(
    servers: str, *, is_transactional: bool
) -> None:
    config: dict[str, str | int | float | bool] = {"bootstrap.servers": servers}
    topic = unique("grown")
    create_topics(config, {topic: 1})
    writer = TransactionalWriter(config, topic, 30_000) if is_transactional else OrderedWriter(config)
    if isinstance(writer, TransactionalWriter):
        wait_until(lambda: is_prepared(writer))
    writer.write(topic, b"k", b"0", 1, (), 0)
    writer.flush(30)
    admin = AdminClient(config)
    admin.create_partitions([NewPartitions(topic, 2)])[topic].result(30)
    wait_until(lambda: len(admin.list_topics(timeout=10).topics[topic].partitions) == 2)
    writer.write(topic, b"k", b"1", 1, (), 1)
    writer.flush(30)
    if isinstance(writer, TransactionalWriter):
        writer.close()
    else:
        assert [each.value for each in read(servers, TopicPartition(topic, 1), 1)] == [b"1"]
        writer.close()


def is_prepared(writer: TransactionalWriter) -> bool:
    try:
        writer.prepare(1.0)
    except OperationTimeoutError:
        return False
    return True
