"""Dead letters of errors whose texts are missing or huge, and of large records, on both brokers."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from kafka_groups.librdkafka.deliveries import OutgoingRecord
from kafka_groups.librdkafka.partition_reader import PartitionReader, ReadRecord
from kafka_groups.librdkafka.record_writer import RecordWriter
from kafka_groups.librdkafka.topics import create_topics
from kafka_groups.streams import ErrorResponse, KafkaStreams, StreamsBuilder, StreamsState, Topology, serdes
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique

IS_REAL = [pytest.mark.real_kafka, pytest.mark.slow]
LARGE = 999_500
"""The size of a value that leaves no room for a traceback in a record of 1,000,000 bytes."""


@pytest.fixture(params=["embedded", pytest.param("real", marks=IS_REAL)])
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    with ExitStack() as stack:
        if request.param == "real":
            kafka: KafkaProcess = request.getfixturevalue("real_kafka")
            yield kafka.bootstrap_servers
        else:
            yield stack.enter_context(EmbeddedCluster(settings=FAST_SETTINGS)).bootstrap_servers


class WithoutTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def check(value: bytes) -> bytes:
    if value == b"without":
        raise WithoutTextError
    if value == b"long" or len(value) == LARGE:
        raise ValueError("x" * 2_000_000)
    return value


def checking(source: str, results: str) -> Topology:
    builder = StreamsBuilder()
    builder.stream(source, key=serdes.string, value=serdes.bytes_).map_values(check, value=serdes.bytes_).to(results)
    return builder.build()


def read_from(servers: str, topic: str, count: int) -> list[ReadRecord]:
    found: list[ReadRecord] = []
    with PartitionReader({"bootstrap.servers": servers}, "reader") as reader:
        reader.assign({TopicPartition(topic, 0): 0})

        def is_read() -> bool:
            found.extend(reader.read(100, 1.0))
            return len(found) >= count

        wait_until(is_read, 60)
    return found


@pytest.mark.parametrize("guarantee", ["at_least_once", pytest.param("exactly_once_v2", marks=pytest.mark.slow)])
def test_each_bad_record_gets_a_dead_letter(servers: str, guarantee: Any) -> None:
    source, results, dead = unique("in"), unique("out"), unique("dead")
    create_topics({"bootstrap.servers": servers}, dict.fromkeys((source, results, dead), 1))
    writer = RecordWriter({"bootstrap.servers": servers})
    values = [b"without", b"long", b"x" * LARGE, b"good"]
    for value in values:
        writer.write(OutgoingRecord(source, b"k", value))
    writer.flush(30)
    with KafkaStreams(
        checking(source, results),
        {"producer.message.max.bytes": 1_000_000},
        application_id=f"{source}-app",
        bootstrap_servers=servers,
        commit_interval_ms=100,
        processing_guarantee=guarantee,
        processing_exception_handler=lambda *_: ErrorResponse.DEAD_LETTER,
        errors_dead_letter_queue_topic_name=dead,
    ) as app:
        letters = read_from(servers, dead, 3)
        assert [each.value for each in letters] == values[:3]
        wait_until(lambda: dropped(app) == 3)
        assert app.state is StreamsState.RUNNING
    headers = [dict(each.headers) for each in letters]
    assert [("__streams.errors.stacktrace" in each) for each in headers] == [True, True, False]
    assert [len(each["__streams.errors.message"] or b"") < 2_010 for each in headers] == 3 * [True]


def dropped(app: KafkaStreams) -> float:
    return sum(float(each.value) for each in app.metrics() if each.name == "dropped-records-total")
