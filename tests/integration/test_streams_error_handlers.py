"""Dead letters of a running application, on the embedded broker."""

from typing import Any

import pytest

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
