"""Dead letters of a running application, on the embedded broker."""

from typing import Any

import pytest

from kafka_groups.errors import DeliveryFailedError
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
from tests.support.conditions import wait_until


def numbers() -> Topology:
    """Writes numbers as int64."""
    builder = StreamsBuilder()
    read = builder.stream("in", key=serdes.string, value=serdes.string)
    read.map_values(int).to("out", key=serdes.string, value=serdes.int64)
    return builder.build()


def bury(_context: ErrorContext, _record: Record[Any, Any], _error: Exception) -> ErrorResponse:
    return ErrorResponse.DEAD_LETTER


@pytest.mark.parametrize(
    ("handler", "bad"),
    [
        ("deserialization_exception_handler", b"\xff"),
        ("processing_exception_handler", b"x"),
        ("production_exception_handler", str(2**63).encode()),
    ],
)
def test_a_bad_record_is_written_to_the_dead_letter_topic(handler: str, bad: bytes) -> None:
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        for topic in ("in", "out", "dead"):
            cluster.create_topic(topic)
        cluster.produce("in", [b"1", bad, b"3"], keys=[b"k"] * 3)
        config: dict[str, Any] = {handler: bury}
        with KafkaStreams(
            numbers(),
            application_id="app",
            bootstrap_servers=cluster.bootstrap_servers,
            commit_interval_ms=100,
            errors_dead_letter_queue_topic_name="dead",
            **config,
        ) as app:
            wait_until(lambda: len(cluster.records("out")) == 2 and cluster.records("dead") != [])
            assert app.state is StreamsState.RUNNING
        (letter,) = cluster.records("dead")
        assert (letter.key, letter.value) == (b"k", bad)
        assert dict(letter.headers)["__streams.errors.offset"] == b"1"


def growing(factor: int) -> Topology:
    builder = StreamsBuilder()
    read = builder.stream("in", key=serdes.string, value=serdes.string)
    read.map_values(lambda value: value * factor).to("out", key=serdes.string, value=serdes.string)
    return builder.build()


def resume(_context: ErrorContext, _record: Record[Any, Any], _error: Exception) -> ErrorResponse:
    return ErrorResponse.RESUME


def application(cluster: EmbeddedCluster, topology: Topology) -> KafkaStreams:
    """An application whose handlers skip what they can."""
    return KafkaStreams(
        topology,
        {"producer.message.max.bytes": 2_000},
        application_id="app",
        bootstrap_servers=cluster.bootstrap_servers,
        commit_interval_ms=100,
        processing_exception_handler=resume,
        production_exception_handler=resume,
    )


def test_a_record_that_brokers_refuse_ends_the_application_and_is_processed_again() -> None:
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        cluster.create_topic("in")
        cluster.create_topic("out", configs={"max.message.bytes": "500"})
        cluster.produce("in", [b"x"], keys=[b"k"])
        app = application(cluster, growing(1_000))
        app.start()
        wait_until(lambda: app.state is StreamsState.ERROR, 60)
        assert isinstance(app.error, DeliveryFailedError)
        assert "A record for out-0 was not written: Broker: Message size too large" in str(app.error)
        app.close()
        assert cluster.records("out") == []
        with application(cluster, growing(10)):
            wait_until(lambda: [record.value for record in cluster.records("out")] == [b"x" * 10], 60)


def test_a_record_that_is_too_large_for_the_producer_is_skipped_if_the_handler_says_so() -> None:
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        for topic in ("in", "out"):
            cluster.create_topic(topic)
        cluster.produce("in", [b"small", b"x" * 1_500, b"last"], keys=[b"k"] * 3)
        with application(cluster, growing(2)) as app:
            wait_until(lambda: len(cluster.records("out")) == 2, 60)
            assert app.state is StreamsState.RUNNING
        assert [record.value for record in cluster.records("out")] == [b"smallsmall", b"lastlast"]
