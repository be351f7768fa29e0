"""What applications on our own engine say of input that they cannot use, of limits and of logs that are damaged."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_groups.broker.faults import answer
from kafka_groups.errors import CorruptRecordError
from kafka_groups.librdkafka.partition_reader import PartitionReader, ReadRecord
from kafka_groups.librdkafka.topics import create_topics, delete_topics
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.streams import (
    ErrorContext,
    ErrorResponse,
    KafkaStreams,
    Record,
    StreamsBuilder,
    StreamsState,
    Topology,
    serdes,
)
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique

pytestmark = pytest.mark.slow


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real_kafka)], scope="module")
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    with ExitStack() as stack:
        if request.param == "real":
            kafka: KafkaProcess = request.getfixturevalue("real_kafka")
            yield kafka.bootstrap_servers
        else:
            yield stack.enter_context(EmbeddedCluster(settings=FAST_SETTINGS)).bootstrap_servers


def growing(source: str, sink: str) -> Topology:
    builder = StreamsBuilder()
    read = builder.stream(source, key=serdes.string, value=serdes.string)
    read.map_values(lambda value: value * 1_000).to(sink, key=serdes.string, value=serdes.string)
    return builder.build()


def application(servers: str, topology: Topology, application_id: str = "app", **keys: Any) -> KafkaStreams:
    given = {"producer.max.request.size": 5_000, "commit.interval.ms": 100}
    return KafkaStreams(topology, given, application_id=application_id, bootstrap_servers=servers, **keys)


def write(servers: str, topic: str, *values: str) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce(topic, value, "k")
    assert producer.flush(30) == 0


def values(servers: str, topic: str, count: int) -> list[bytes | None]:
    """The values of the first committed records."""
    found: list[ReadRecord] = []
    with PartitionReader({"bootstrap.servers": servers}, "reader") as reader:
        reader.assign({TopicPartition(topic, 0): 0})

        def is_read() -> bool:
            found.extend(reader.read(100, 1.0))
            return len(found) >= count

        wait_until(is_read, 60)
    return [each.value for each in found]


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_the_handler_hears_topic_size_and_key_of_records_that_are_too_large(servers: str, guarantee: str) -> None:
    source, sink = unique("in"), unique("out")
    create_topics({"bootstrap.servers": servers}, {source: 1, sink: 1}, {"max.message.bytes": "3000"})
    asked: list[tuple[str | None, str]] = []

    def skip(context: ErrorContext, _record: Record[Any, Any], error: Exception) -> ErrorResponse:
        asked.append((context.output_topic, str(error)))
        return ErrorResponse.RESUME

    write(servers, source, "abcdefgh", "a", "abcd", "b")
    keys: dict[str, Any] = {"processing_guarantee": guarantee, "production_exception_handler": skip}
    with application(servers, growing(source, sink), f"{source}-app", **keys) as app:
        assert values(servers, sink, 2) == [b"a" * 1_000, b"b" * 1_000]
        assert app.state is StreamsState.RUNNING
    remedy = "Make records smaller, or allow larger ones: max.message.bytes of the topic, and max.request.size of the"
    of_the_producer, of_the_topic = sorted(text for _, text in asked)  # each once, also in transactions
    assert {topic for topic, _ in asked} == {sink}
    assert of_the_producer.startswith(f"A record for {sink} has 8,")
    assert of_the_producer.endswith(f" bytes, and a request at most 5,000. {remedy} producer.")
    assert of_the_topic.startswith(f"{sink}-0 takes no record of 4,")
    assert of_the_topic.endswith(f" bytes. {remedy} producer.")


def test_a_sink_that_vanishes_is_waited_for_with_a_warning(servers: str, caplog: pytest.LogCaptureFixture) -> None:
    source, sink = unique("in"), unique("out")
    connection = {"bootstrap.servers": servers}
    create_topics(connection, {source: 1, sink: 1})
    with application(servers, growing(source, sink), f"{source}-app") as app:
        app.wait_until_running(60)
        write(servers, source, "a")
        assert values(servers, sink, 1) == [b"a" * 1_000]  # otherwise the new topic gets it, too
        with caplog.at_level(logging.WARNING):
            delete_topics(connection, [sink])
            write(servers, source, "b")
            text = f"{sink}-0 does not exist, so its records wait. Create the topic."
            wait_until(lambda: text in caplog.text, 60, lambda: (app.state, app.error))
            create_topics(connection, {sink: 1})
            wait_until(lambda: "made again" in caplog.text or "created again" in caplog.text, 60)
        assert app.error is None
    assert values(servers, sink, 1)[-1] == b"b" * 1_000


def damaged(request: FetchRequest) -> FetchResponse:
    """An intact batch, and one whose checksum is wrong."""
    batches = [build_batch([NewRecord(b"x", key=b"k")], base_offset=at) for at in range(2)]
    corrupt = bytearray(batches[1])
    corrupt[-2] ^= 1
    return FetchResponse(
        responses=tuple(
            FetchableTopicResponse(
                topic_id=topic.topic_id,
                partitions=tuple(
                    PartitionData(
                        partition_index=each.partition,
                        high_watermark=2,
                        last_stable_offset=2,
                        log_start_offset=0,
                        records=batches[0] + bytes(corrupt) if each.fetch_offset == 0 else bytes(corrupt),
                    )
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def test_a_corrupt_batch_ends_the_application_and_is_never_skipped() -> None:
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        cluster.create_topic("in")
        cluster.create_topic("out")
        cluster.faults.on(ApiKey.FETCH, answer(damaged))
        with application(cluster.bootstrap_servers, growing("in", "out")) as app:
            wait_until(lambda: app.state is StreamsState.ERROR, 60)
        assert isinstance(app.error, CorruptRecordError)
        assert str(app.error).startswith("in-0 cannot be read from offset 1 on: ")
        assert "Nothing behind it is read, so that no record is skipped in silence." in str(app.error)
        assert "delete the records before offset 2 (kafka-groups topics delete-records)" in str(app.error)
        assert len(cluster.records("out")) <= 1


def test_a_truncated_source_is_a_warning_with_both_offsets_and_read_on(caplog: pytest.LogCaptureFixture) -> None:
    with EmbeddedCluster(3, settings=FAST_SETTINGS) as cluster:
        for topic in ("in", "out"):
            cluster.create_topic(topic)
        for at in range(10):
            cluster.produce("in", [b"%d" % at], keys=[b"k"])
        with (
            caplog.at_level(logging.WARNING),
            application(cluster.bootstrap_servers, growing("in", "out")) as app,
        ):
            wait_until(lambda: len(cluster.records("out")) == 10, 60)
            assert cluster.elect_unclean_leader("in", 0, 2, end_offset=4) == 4
            cluster.produce("in", [b"n"], keys=[b"k"])
            wait_until(lambda: len(cluster.records("out")) == 11, 60, lambda: (app.state, app.error))
            assert app.error is None
        (told,) = [each for each in caplog.messages if "was truncated" in each]
        assert "Task 0_0 had read it up to offset 10, and continues at offset 4" in told
